import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { clickUrl, openUrl } from '../../../src/domain/tracking/tracking.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { TRACKING_KEYS } from '../../support/tracking-keys.ts';
import { createMemoryStore, type Service, startService } from '../support/service.ts';

const TARGET = 'https://shop.test/a?b=c&d=%41#e';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

let service: Service;
let key: string;
let domainId: string;
let organizationId: string;
let isAway = false;
const contents = createInMemoryContents();
const memory = createMemoryStore(contents);

beforeAll(async () => {
  const away = new StoreUnavailable('away');
  const store = {
    ...memory,
    readStream: (...asked: Parameters<typeof memory.readStream>) =>
      isAway ? Promise.reject(away) : memory.readStream(...asked),
    readAll: (...asked: Parameters<typeof memory.readAll>) =>
      isAway ? Promise.reject(away) : memory.readAll(...asked),
    head: () => (isAway ? Promise.reject(away) : memory.head()),
  };
  service = await startService({ context: { contents, store } });
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
});
afterAll(() => service.close());

interface SentMail {
  readonly id: string;
  readonly recipients: readonly { readonly id: string }[];
}

const send = async (more: object = {}): Promise<SentMail> => {
  const payload = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>x</p>', ...more };
  return (await service.request({ method: 'POST', url: '/v1/messages/send', key, payload })).json();
};

const pathOf = (url: string): string => url.replace('https://t.test', '');

const linksOf = ({ id, recipients: [recipient] }: SentMail, target = TARGET) => {
  const copy = { messageId: id, recipientId: recipient?.id ?? '', organizationId };
  return {
    click: pathOf(clickUrl(TRACKING_KEYS, 'https://t.test', { ...copy, link: 0, links: 3 }, target)),
    open: pathOf(openUrl(TRACKING_KEYS, 'https://t.test', copy)),
  };
};

const get = (url: string, more: InjectOptions = {}) =>
  service.request({ url, headers: { 'user-agent': FIREFOX }, ...more });

describe('what is tracked', () => {
  const trackingOf = async ({ id }: SentMail) =>
    (await service.request({ url: `/v1/messages/${id}`, key })).json().tracking;
  const change = (tracking: object) =>
    service.request({ method: 'PATCH', url: `/v1/domains/${domainId}`, key, payload: { tracking } });

  test('is nothing, unless the domain or the message says so', async () => {
    expect(await trackingOf(await send())).toEqual({ opens: false, clicks: false });
    expect(await trackingOf(await send({ tracking: { clicks: true } }))).toEqual({ opens: false, clicks: true });
    const changed = await change({ opens: true });
    expect(changed.json()).toMatchObject({ object: 'domain', tracking: { opens: true, clicks: false } });
    expect(await trackingOf(await send())).toEqual({ opens: true, clicks: false });
    expect(await trackingOf(await send({ tracking: { opens: false } }))).toEqual({ opens: false, clicks: false });
    expect((await change({ opens: false })).json().tracking).toEqual({ opens: false, clicks: false });
  });

  test.each([{ tracking: { open: true } }, { tracking: 'all' }, { tracking: { opens: 'yes' } }, { name: 'x' }])(
    'is not changed by %j',
    async (payload) => {
      const answer = await service.request({ method: 'PATCH', url: `/v1/domains/${domainId}`, key, payload });
      expect(answer.statusCode).toBe(400);
    },
  );

  test('is changed at the revision that was read, and reported by an event', async () => {
    const [before] = await memory.readStream(`domain-${domainId}` as never);
    expect(before).toBeDefined();
    const stale = await service.request({
      method: 'PATCH',
      url: `/v1/domains/${domainId}`,
      key,
      payload: { tracking: { opens: true } },
      headers: { 'if-match': '"0"' },
    });
    expect(stale.statusCode).toBe(412);
  });
});

describe('a tracked link', () => {
  test('leads to its original target, and is not cached or passed on', async () => {
    const answer = await get(linksOf(await send()).click);
    expect([answer.statusCode, answer.headers.location, answer.body]).toEqual([302, TARGET, '']);
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
    });
    expect(answer.headers).not.toHaveProperty('set-cookie');
  });

  test('leads there also when something was added to it, and by HEAD', async () => {
    const { click } = linksOf(await send());
    expect((await get(`${click}&utm_source=mail`)).headers.location).toBe(TARGET);
    const head = await get(click, { method: 'HEAD' });
    expect([head.statusCode, head.headers.location, head.body]).toEqual([302, TARGET, '']);
  });

  test('leads there while the log and the database are unavailable', async () => {
    const { click, open } = linksOf(await send());
    isAway = true;
    const answers = [await get(click), await get(open)];
    isAway = false;
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([302, 200]);
  });

  test('leads to no other target', async () => {
    const { click, open } = linksOf(await send());
    const other = linksOf(await send(), 'https://elsewhere.test/');
    const [path = '', query = ''] = click.split('?');
    const u = encodeURIComponent;
    const hostile = [
      path,
      `${path}?u=`,
      `${path}?u=${u('https://evil.test/')}`,
      `${path}?u=${u('https://shop.test.evil.test/a?b=c&d=%41#e')}`,
      `${path}?u=${u('javascript:alert(1)')}`,
      `${path}?u=${u(u(TARGET))}`,
      `${path}?u=${u(`${TARGET}\r\nSet-Cookie: a=b`)}`,
      `${path}?u=${u(`${TARGET}\0`)}`,
      `${path}?u=%00${u(TARGET)}`,
      `${path}?u=%0d%0aLocation:%20https://evil.test/`,
      `${path}?u=${u(`https://shop.test/${'a'.repeat(8192)}`)}`,
      `${path}?u=%zz`,
      `${path}?u=%ff%fe`,
      `${path}?${query}&${query}`,
      `${path}?u=${u('https://evil.test/')}&${query}`,
      `${path}?u[]=${u(TARGET)}`,
      `${other.click.split('?')[0]}?${query}`,
      `${open.replace('/o/', '/c/')}?${query}`,
      `${path.slice(0, -1)}?${query}`,
      `/c/?${query}`,
      `/c/${'a'.repeat(72)}?${query}`,
      `/c/${'a'.repeat(96)}?${query}`,
      `/c/${'a'.repeat(9_000)}?${query}`,
      `/c/%2e%2e%2f?${query}`,
      `/c/${u('\r\nX: y')}?${query}`,
    ];
    for (const url of hostile) {
      const answer = await get(url);
      expect([url, answer.statusCode, answer.headers.location]).toEqual([url, 404, undefined]);
      expect(answer.body).not.toContain('evil');
      expect(answer.headers).not.toHaveProperty('set-cookie');
    }
  });

  test('ignores the host of the request', async () => {
    const { click } = linksOf(await send());
    const answer = await get(click, { headers: { host: 'evil.test', 'x-forwarded-host': 'evil.test' } });
    expect(answer.headers.location).toBe(TARGET);
  });

  test('does not redirect to a signed target that is not a web address', async () => {
    for (const target of ['javascript:alert(1)', 'https://shop.test/\r\nX: y', 'data:text/html,x', 'https://ä.test/']) {
      expect((await get(linksOf(await send(), target).click)).statusCode).toBe(404);
    }
  });

  test('accepts no other method', async () => {
    const { click, open } = linksOf(await send());
    const own = await startService({}, () => undefined);
    for (const url of [click, open]) expect((await own.request({ url, method: 'POST' })).statusCode).toBe(405);
    await own.close();
  });
});

describe('the image', () => {
  test('is a transparent pixel, and not cached', async () => {
    const answer = await get(linksOf(await send()).open);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'image/gif']);
    expect(answer.rawPayload.subarray(0, 6).toString()).toBe('GIF89a');
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test('does not exist for a token that was not made for it', async () => {
    const { click } = linksOf(await send());
    const answer = await get(click.replace('/c/', '/o/'));
    expect(answer.statusCode).toBe(404);
  });
});

describe('a recorded opening or click', () => {
  test('says who did what, with the program and kind of network, in the environment of the message', async () => {
    const own = await startService({ context: { contents, store: memory } });
    const sent = await send({ tracking: { opens: true, clicks: true } });
    const { click, open } = linksOf(sent);
    await own.request({ url: open, headers: { 'user-agent': 'Mozilla/5.0' }, remoteAddress: '17.58.1.1' });
    await own.request({ url: click, headers: { 'user-agent': FIREFOX }, remoteAddress: '203.0.113.77' });
    await own.request({ url: click, method: 'HEAD', remoteAddress: '203.0.113.77' });
    await own.close();
    const events = (await memory.readStream(messageStream(sent.id))).slice(1);
    const recipientId = sent.recipients[0]?.id;
    expect(events).toMatchObject([
      { type: 'RecipientOpened', data: { machine: 'apple_privacy_proxy', client: 'apple_mail', network: 'apple' } },
      { type: 'RecipientClicked', data: { first: true, client: 'firefox', network: 'other', link: 0 } },
      { type: 'RecipientClicked', data: { machine: 'head_request' } },
    ]);
    for (const { metadata } of events) {
      expect(metadata).toMatchObject({ actor: `recipient:${recipientId}`, environment: 'live' });
    }
    const stored = JSON.stringify([
      events,
      await contents.get(events.map(({ data }) => (data as { linkId?: string }).linkId ?? '')),
    ]);
    expect(stored).not.toMatch(/203\.0\.113|17\.58\./);
    const explained = await service.request({ url: `/v1/messages/${sent.id}/explain`, key });
    if (explained.statusCode === 200) expect(explained.body).toContain(TARGET);
    const { recipients } = (await service.request({ url: `/v1/messages/${sent.id}`, key })).json();
    expect(recipients).toMatchObject([{ opened: false, clicked: true }]);
  });
});
