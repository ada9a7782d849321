import { setTimeout as sleep } from 'node:timers/promises';
import PostalMime from 'postal-mime';
import { beforeAll, describe, expect, test } from 'vitest';
import { type AnyBody, eventually } from '../../support/api-client.ts';
import { readInbox } from '../../support/captured-mail.ts';
import { conforming } from './service.ts';

/**
 * The section Tracking of the API's design, sentence by sentence. Two statements are tested elsewhere: links use a
 * domain's tracking host once its CNAME has been found (`test/workers/delivery/load-mails.test.ts`), and links keep working while
 * PostgreSQL is down (`clicks-without-postgres`).
 */

const { service } = conforming();

const TARGET = 'https://shop.test/a?b=c&d=%41#e';
const OTHER = 'https://shop.test/other';
const LEFT_ALONE = [
  'mailto:x@example.test',
  'tel:+491234',
  'https://shop.test/unsubscribe?me=1',
  'https://shop.test/off',
];
const HTML = `<p>Sale <a href="${TARGET.replace('&', '&amp;')}">one</a> <a href="${OTHER}">two</a>
${LEFT_ALONE.slice(0, 3)
  .map((href) => `<a href="${href}">x</a>`)
  .join('\n')}
<a href="${LEFT_ALONE[3]}" data-outbox-track="off">off</a></p>`;
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
/**
 * An earlier request after delivery is classified as a security filter. Recording requests that come together takes
 * five more seconds.
 */
const AFTER_DELIVERY_MS = 3_200;
const RECORDED_MS = 15_000;

let people = 0;
const newPerson = (): string => {
  people += 1;
  return `person${people}@example.net`;
};

interface Copy {
  readonly id: string;
  readonly recipientId: string;
  readonly html: string;
  readonly hrefs: readonly string[];
  readonly pixel: string | undefined;
}

/** Sends to `count` recipients and reads each one's copy. */
const send = async (tracking: object | undefined, count = 1, key = service().admin): Promise<readonly Copy[]> => {
  const to = Array.from({ length: count }, newPerson);
  const body = { from: 'shop@example.test', to, subject: 'Sale', html: HTML, ...(tracking && { tracking }) };
  const sent = await service().ask({ method: 'POST', path: '/v1/messages/send', body, key });
  expect([sent.status, sent.body]).toMatchObject([202, { id: expect.any(String) }]);
  const { id } = sent.body;
  await eventually(
    () => service().ask({ path: `/v1/messages/${id}`, key }),
    ({ body: { recipients } }) => recipients.every(({ status }: AnyBody) => status === 'delivered'),
  );
  return Promise.all(
    sent.body.recipients.map(async ({ id: recipientId, address }: AnyBody) => {
      const get = (path: string) => service().ask({ path, key });
      const [mail] = await readInbox({ get }, `?to=${address}`);
      const { html = '' } = await PostalMime.parse(mail.raw);
      const hrefs = [...html.matchAll(/<a href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
      return { id, recipientId, html, hrefs, pixel: /<img src="([^"]+\/o\/[^"]+)"/.exec(html)?.[1] };
    }),
  );
};

const visit = (url: string | undefined, userAgent = FIREFOX, method = 'GET') =>
  fetch(url ?? '', { method, redirect: 'manual', headers: { 'user-agent': userAgent } });

/** Opens and clicks of a recipient that customers can read, once there are `count` of them. */
const engagements = async ({ id, recipientId }: Copy, count = 0, key = service().admin): Promise<readonly AnyBody[]> =>
  eventually(
    async () => {
      const { body } = await service().ask({ path: `/v1/messages/${id}/events`, key });
      return body.data.filter(
        ({ type, data }: AnyBody) =>
          ['message.opened', 'message.clicked'].includes(type) && data.recipient.id === recipientId,
      );
    },
    ({ length }) => length >= count,
    RECORDED_MS,
  );
const totals = async (key = service().admin): Promise<AnyBody> =>
  (await service().ask({ path: '/v1/stats', key })).body.totals;

const BOTH = { opens: true, clicks: true };

describe('tracking is off unless it is enabled (`tracking: {opens, clicks}`)', () => {
  const tracked = async (tracking?: object) => {
    const [{ hrefs = [], pixel } = {}] = await send(tracking);
    return { opens: pixel !== undefined, clicks: hrefs.some((href) => href.includes('/c/')) };
  };
  const ofDomain = (tracking: object) =>
    service().ask({ method: 'PATCH', path: `/v1/domains/${service().domainId}`, body: { tracking } });

  test('for a message', async () => {
    const asked = [undefined, { opens: true }, { clicks: true }, BOTH, { opens: false, clicks: false }];
    expect(await Promise.all(asked.map(tracked))).toEqual([
      { opens: false, clicks: false },
      { opens: true, clicks: false },
      { opens: false, clicks: true },
      BOTH,
      { opens: false, clicks: false },
    ]);
    const [copy] = await send(undefined);
    expect(copy?.html.trim()).toBe(HTML);
  });

  test('for a domain, whose setting a message overrides', async () => {
    await ofDomain(BOTH);
    expect(await Promise.all([tracked(), tracked({ opens: false })])).toEqual([BOTH, { opens: false, clicks: true }]);
    await ofDomain({ opens: false, clicks: false });
    expect(await tracked()).toEqual({ opens: false, clicks: false });
  });
});

describe('a tracked copy', () => {
  let copies: readonly Copy[];
  beforeAll(async () => {
    copies = await send(BOTH, 2);
  });

  test('has links and the pixel on PUBLIC_URL if the domain has no tracking host', () => {
    for (const { hrefs, pixel } of copies) {
      for (const url of [...hrefs.slice(0, 2), pixel])
        expect(url?.startsWith(`${service().program.baseUrl}/`)).toBe(true);
    }
  });

  test('has links https://host/c/<token>?u=<url>, whose token names message, recipient and link', () => {
    const tokens = copies.flatMap(({ hrefs }) => hrefs.slice(0, 2)).map((href) => new URL(href).pathname);
    expect(new Set(tokens).size).toBe(4);
    for (const path of tokens) expect(path).toMatch(/^\/c\/[\w-]{96}$/);
    for (const { hrefs } of copies) {
      expect(hrefs.slice(0, 2).map((href) => new URL(href).searchParams.get('u'))).toEqual([TARGET, OTHER]);
    }
  });

  test('has an HMAC over the URL in each token: nothing can be redirected elsewhere', async () => {
    const [one = '', two = ''] = copies[0]?.hrefs ?? [];
    expect((await visit(one)).headers.get('location')).toBe(TARGET);
    const [token = ''] = one.split('?');
    const [otherToken = ''] = two.split('?');
    const u = encodeURIComponent;
    const altered = [
      `${otherToken}?u=${u(TARGET)}`,
      ...['https://evil.test/', 'javascript:alert(1)', u(TARGET), `${TARGET}\r\nX: y`, `${TARGET}\0`].map(
        (url) => `${token}?u=${u(url)}`,
      ),
    ];
    for (const url of altered) {
      const answer = await visit(url);
      expect([url, answer.status, answer.headers.get('location')]).toEqual([url, 404, null]);
    }
  });

  test('leaves `mailto:`, `tel:`, unsubscribe links and links marked `data-outbox-track="off"` unchanged', () => {
    for (const { hrefs } of copies) expect(hrefs.slice(2)).toEqual(LEFT_ALONE);
  });
});

test('`opened` and `clicked` are events per recipient: the first of each is marked, repeats are coalesced per minute', async () => {
  const [ann, bob] = (await send(BOTH, 2)) as [Copy, Copy];
  await sleep(AFTER_DELIVERY_MS);
  for (const url of [ann.pixel, ann.pixel, ann.pixel, ann.hrefs[0], ann.hrefs[0], bob.pixel]) await visit(url);
  const told = (await engagements(ann, 2)).map(({ type, data: { first, count } }) => [type, first, count]);
  expect(told.toSorted()).toEqual([
    ['message.clicked', true, 2],
    ['message.opened', true, 3],
  ]);
  expect(await engagements(bob, 1)).toMatchObject([{ type: 'message.opened', data: { first: true, count: 1 } }]);
  await visit(ann.pixel);
  await visit(ann.pixel, FIREFOX.replaceAll('140', '1').replace('Firefox', 'Chrome'));
  // Another program is a separate event. A repeat by the same program is held until the minute is over.
  const after = (await engagements(ann, 3)).filter(({ type }) => type === 'message.opened');
  expect(after.map(({ data: { first, client } }) => [first, client]).toSorted()).toEqual([
    [undefined, 'chrome'],
    [true, 'firefox'],
  ]);
});

test('automated opens and clicks are marked with the reason and counted separately: rates are about people', async () => {
  const [apple, proxy, scanner, head, all, early] = (await send(BOTH, 6)) as [Copy, Copy, Copy, Copy, Copy, Copy];
  await visit(early.pixel);
  const before = await totals();
  await sleep(AFTER_DELIVERY_MS);
  await visit(apple.pixel, 'Mozilla/5.0');
  await visit(proxy.pixel, 'Mozilla/5.0 (via ggpht.com GoogleImageProxy)');
  await visit(scanner.hrefs[0], 'curl/8.0');
  await visit(head.hrefs[0], FIREFOX, 'HEAD');
  await Promise.all(all.hrefs.slice(0, 2).map((href) => visit(href)));
  const reasons = [apple, proxy, scanner, head, all, early].map(async (copy) => {
    const events = await engagements(copy, 1);
    return [...new Set(events.map(({ data: { machine, machine_reason: reason } }) => machine && reason))];
  });
  expect(await Promise.all(reasons)).toEqual([
    ['apple_privacy_proxy'],
    ['image_proxy'],
    ['scanner'],
    ['head_request'],
    ['every_link'],
    ['at_delivery'],
  ]);
  const { opened, clicked, machine_opened, machine_clicked } = await totals();
  expect({ opened, clicked }).toEqual({ opened: before.opened, clicked: before.clicked });
  expect([machine_opened, machine_clicked]).toEqual([before.machine_opened + 3, before.machine_clicked + 3]);
});

test('only the kind of network of an IP address and the family of a user agent are stored', async () => {
  const [copy] = (await send(BOTH)) as [Copy];
  await visit(copy.pixel, `${FIREFOX} unmistakable`);
  const [event] = await engagements(copy, 1);
  expect(event?.data).toMatchObject({ client: 'firefox', network: 'private' });
  expect(JSON.stringify(event)).not.toMatch(/127\.0\.0\.1|unmistakable/);
  expect(service().program.output()).not.toContain('unmistakable');
});

test('tracking in test mode leaves no trace in live statistics', async () => {
  const key = service().program.keys.test;
  const before = await totals();
  const [copy] = (await send(BOTH, 1, key)) as [Copy];
  await sleep(AFTER_DELIVERY_MS);
  await visit(copy.pixel);
  await visit(copy.hrefs[0]);
  await engagements(copy, 2, key);
  expect(await totals(key)).toMatchObject({ opened: 1, clicked: 1 });
  expect(await totals()).toEqual(before);
});
