import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { organizationSecret, resumeOrganization, suspendOrganization } from '../../src/commands/organization.ts';
import { messageStream } from '../../src/domain/kernel/streams.ts';
import { unsubscribeToken, viewToken } from '../../src/domain/message/tokens.ts';
import { clickUrl, openUrl } from '../../src/domain/tracking/tracking.ts';
import { StoreUnavailable } from '../../src/lib/async/async.ts';
import { earlierClickToken, earlierOpenToken } from '../support/earlier-tracking-tokens.ts';
import { createInMemoryContents } from '../support/in-memory/contents.ts';
import { TRACKING_KEYS } from '../support/tracking-keys.ts';
import { createMemoryStore, operator, type Service, startService } from './support/service.ts';

const REASON = 'It sent mail to people who had not asked for it.';
const SEND = '/v1/messages/send';
const BATCH = '/v1/messages/batch';
const TARGET = 'https://shop.test/a?b=c';
const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>x</p>' };

let service: Service;
let organizationId: string;
let key: string;
let testKey: string;
let other: { readonly organizationId: string; readonly key: string };
let isAway = false;
/** Reads of streams wait for this promise. */
let slow: Promise<void> = Promise.resolve();
let reads = 0;

beforeAll(async () => {
  const contents = createInMemoryContents();
  const memory = createMemoryStore(contents);
  const orAway = <Result>(read: () => Promise<Result>): Promise<Result> =>
    isAway ? Promise.reject(new StoreUnavailable('away')) : read();
  const store = {
    ...memory,
    readStream: async (...asked: Parameters<typeof memory.readStream>) => {
      reads += 1;
      await slow;
      return orAway(() => memory.readStream(...asked));
    },
    readAll: (...asked: Parameters<typeof memory.readAll>) => orAway(() => memory.readAll(...asked)),
    head: () => orAway(() => memory.head()),
  };
  service = await startService({ context: { contents, store } });
  organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  testKey = (await service.makeKey(organizationId, domainId, { environment: 'test' })).value;
  const theirs = await service.makeOrganization();
  other = {
    organizationId: theirs,
    key: (await service.makeKey(theirs, await service.makeDomain(theirs, 'other.test'))).value,
  };
});
afterAll(() => service.close());
beforeEach(() => resume());

const known = () => service.server.shared.auth.keyCache.catchUp();
const suspend = async (id = organizationId): Promise<void> => {
  await suspendOrganization(service.deps.context, operator(id), REASON);
  await known();
};
const resume = async (): Promise<void> => {
  await resumeOrganization(service.deps.context, operator(organizationId), 'Solved.');
  await known();
};

const post = (url: string, payload: object, more: InjectOptions & { readonly key?: string } = {}) =>
  service.request({ method: 'POST', url, key, payload, ...more });
const once = (name: string) => ({ headers: { 'idempotency-key': name } });

interface SentMail {
  readonly id: string;
  readonly recipients: readonly { readonly id: string }[];
}

const send = async (more: object = {}): Promise<SentMail> => (await post(SEND, { ...MESSAGE, ...more })).json();

const accepted = async (): Promise<number> =>
  (await service.deps.context.store.readAll({ filter: { categories: ['message'] }, limit: 10_000 })).events.filter(
    ({ type }) => type === 'MessageAccepted',
  ).length;

describe('a suspended organization', () => {
  test('sends nothing, by any way, and gets the reason and who can help', async () => {
    const { id: template } = (
      await post('/v1/templates', { alias: 'hello', name: 'Hello', subject: 'Hello', html: '<p>Hello</p>' })
    ).json();
    await suspend();
    const before = await accepted();
    const messages = [MESSAGE, MESSAGE];
    const ways = [
      post(SEND, MESSAGE),
      post(SEND, MESSAGE, { key: testKey }),
      post(SEND, MESSAGE, once('new')),
      post(SEND, { ...MESSAGE, scheduled_at: '2126-01-01T00:00:00Z' }),
      post(BATCH, { messages }),
      post(BATCH, { messages, mode: 'partial' }),
      post(BATCH, { messages: [{}, MESSAGE], mode: 'partial' }),
      post(`/v1/templates/${template}/test-send`, { to: 'b@example.org' }),
    ];
    for (const [index, answer] of (await Promise.all(ways)).entries()) {
      expect([index, answer.statusCode]).toEqual([index, 403]);
      expect(answer.body).toContain(
        `the operator of this service has suspended your organization, and only they can resume it: ${REASON}`,
      );
    }
    expect((await post(SEND, MESSAGE)).json().error.code).toBe('organization_suspended');
    expect(await accepted()).toBe(before);
  });

  test('sends nothing through the clients of other services, which get an error that they know', async () => {
    await suspend();
    const own = await startService({ context: service.deps.context }, () => undefined);
    const viaCompat = (url: string, payload: object, headers: Record<string, string> = {}) =>
      own.request({ method: 'POST', url, payload, headers: { authorization: `Bearer ${key}`, ...headers } });
    const before = await accepted();
    const ways = [
      viaCompat('/compat/resend/emails', MESSAGE),
      viaCompat('/compat/resend/emails/batch', [MESSAGE, MESSAGE]),
      viaCompat(
        '/compat/postmark/email',
        { From: MESSAGE.from, To: MESSAGE.to, Subject: 'Hello', HtmlBody: MESSAGE.html },
        { 'x-postmark-server-token': key },
      ),
      viaCompat('/compat/sendgrid/v3/mail/send', {
        personalizations: [{ to: [{ email: MESSAGE.to }] }],
        from: { email: MESSAGE.from },
        subject: 'Hello',
        content: [{ type: 'text/html', value: MESSAGE.html }],
      }),
    ];
    for (const answer of await Promise.all(ways)) {
      expect(answer.statusCode).toBe(403);
      expect(answer.body).toContain(`only they can resume it: ${REASON}`);
    }
    expect(await accepted()).toBe(before);
    await own.close();
  });

  test('gets this error before any other about a valid request', async () => {
    const unverified = await service.makeKey(organizationId, await service.makeDomain(organizationId, 'new.test'));
    await suspend();
    const sent = [
      post(SEND, { ...MESSAGE, from: 'a@new.test' }, { key: unverified.value }),
      post(SEND, { from: MESSAGE.from, to: MESSAGE.to, template: { id: 'absent' } }),
      post(SEND, { ...MESSAGE, scheduled_at: '2020-01-01T00:00:00Z' }),
    ];
    for (const answer of await Promise.all(sent)) expect(answer.json().error.code).toBe('organization_suspended');
  });

  test('can still read, check, cancel and manage', async () => {
    const { id } = await send({ scheduled_at: new Date(Date.now() + 86_400_000).toISOString() });
    await suspend();
    const get = (url: string) => service.request({ url, key });
    const answers = await Promise.all([
      get(`/v1/messages/${id}`),
      get(`/v1/messages/${id}/content`),
      get('/v1/organization'),
      post('/v1/messages/analyze', MESSAGE),
      service.request({
        method: 'PATCH',
        url: `/v1/messages/${id}`,
        key,
        payload: { scheduled_at: new Date(Date.now() + 2 * 86_400_000).toISOString() },
      }),
    ]);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
    const cancelled = await post(`/v1/messages/${id}/cancel`, {});
    expect([cancelled.statusCode, cancelled.json().status]).toEqual([200, 'cancelled']);
    const renamed = await service.request({ method: 'PATCH', url: '/v1/organization', key, payload: { name: 'New' } });
    expect(renamed.json()).toMatchObject({ name: 'New', suspension: { since: expect.any(String), reason: REASON } });
    await resume();
    expect((await get('/v1/organization')).json().suspension).toBeNull();
  });

  test('gets the first response again for what it had sent before', async () => {
    const first = await post(SEND, MESSAGE, once('one'));
    const batch = await post(BATCH, { messages: [MESSAGE, MESSAGE] }, once('batch'));
    await suspend();
    const again = await post(SEND, MESSAGE, once('one'));
    expect([again.statusCode, again.json(), again.headers['idempotent-replayed']]).toEqual([202, first.json(), 'true']);
    const batchAgain = await post(BATCH, { messages: [MESSAGE, MESSAGE] }, once('batch'));
    expect([batchAgain.statusCode, batchAgain.json()]).toEqual([202, batch.json()]);
    const changed = await post(SEND, { ...MESSAGE, subject: 'Other' }, once('one'));
    expect(changed.json().error.code).toBe('idempotency_key_reused');
  });

  test('completes what is left of a batch once it is resumed', async () => {
    const messages = [MESSAGE, { ...MESSAGE, subject: 'Second' }];
    const only = await post(BATCH, { messages: [MESSAGE, { ...MESSAGE, to: 'x' }], mode: 'partial' }, once('partial'));
    expect(only.statusCode).toBe(202);
    await suspend();
    expect((await post(BATCH, { messages }, once('whole'))).statusCode).toBe(403);
    await resume();
    expect((await post(BATCH, { messages }, once('whole'))).statusCode).toBe(202);
  });

  test('sends again once it is resumed', async () => {
    await suspend();
    expect((await post(SEND, MESSAGE)).statusCode).toBe(403);
    await resume();
    expect((await post(SEND, MESSAGE)).statusCode).toBe(202);
  });

  test('stops no other organization', async () => {
    await suspend();
    const answer = await post(SEND, { ...MESSAGE, from: 'a@other.test' }, { key: other.key });
    expect(answer.statusCode).toBe(202);
  });

  test('has the operator, host and reason in its own audit log', async () => {
    await suspend();
    const origin = { ...operator(organizationId), operator: { user: 'ada', host: 'mail-1' } };
    await suspendOrganization(service.deps.context, origin, 'Phishing.');
    const events = await service.deps.context.store.readStream(`organization-${organizationId}`);
    expect(events.at(-1)).toMatchObject({
      type: 'OrganizationSuspended',
      data: { organizationId, reason: 'Phishing.' },
      metadata: { actor: 'operator', operator: { user: 'ada', host: 'mail-1' } },
    });
  });
});

describe('a link in mail of a suspended organization', () => {
  const linksOf = ({ id, recipients: [recipient] }: SentMail, owner = organizationId) => {
    const copy = { messageId: id, recipientId: recipient?.id ?? '', organizationId: owner };
    const link = { ...copy, link: 0, links: 1 };
    return {
      click: clickUrl(TRACKING_KEYS, '', link, TARGET),
      open: openUrl(TRACKING_KEYS, '', copy),
      earlierClick: `/c/${earlierClickToken(TRACKING_KEYS, link, TARGET)}?u=${encodeURIComponent(TARGET)}`,
      earlierOpen: `/o/${earlierOpenToken(TRACKING_KEYS, copy)}`,
    };
  };
  const statuses = (urls: readonly string[], more: InjectOptions = {}) =>
    Promise.all(urls.map(async (url) => (await service.request({ url, ...more })).statusCode));

  test('answers 410 with a page that says so, and is not cached', async () => {
    const { click, open, earlierClick, earlierOpen } = linksOf(await send());
    await suspend();
    expect(await statuses([click, open, earlierClick, earlierOpen])).toEqual([410, 410, 410, 410]);
    expect(await statuses([click, open, earlierClick, earlierOpen], { method: 'HEAD' })).toEqual([410, 410, 410, 410]);
    for (const url of [click, earlierClick]) {
      const answer = await service.request({ url, headers: { 'accept-language': 'de' } });
      expect(answer.body).toContain('Der Absender dieser E-Mail ist gesperrt.');
      expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'content-language': 'de' });
      expect(answer.headers).not.toHaveProperty('location');
      expect(answer.body).not.toContain('shop.test');
    }
    await resume();
    expect(await statuses([click, open, earlierClick, earlierOpen])).toEqual([302, 200, 302, 200]);
  });

  test('counts for no recipient', async () => {
    const own = await startService({ context: service.deps.context });
    const sent = await send({ tracking: { opens: true, clicks: true } });
    const { click, open, earlierClick } = linksOf(sent);
    await suspend();
    await own.server.shared.auth.keyCache.catchUp();
    for (const url of [click, open, earlierClick]) expect((await own.request({ url })).statusCode).toBe(410);
    await own.close();
    const events = await service.deps.context.store.readStream(messageStream(sent.id));
    expect(events.map(({ type }) => type)).toEqual(['MessageAccepted']);
  });

  test('answers 410 while the log and the database are unavailable; links of earlier versions then redirect', async () => {
    const { click, open, earlierClick } = linksOf(await send());
    const free = linksOf(await send(), other.organizationId);
    await suspend();
    isAway = true;
    const answered = await statuses([click, open, earlierClick, free.click]).finally(() => {
      isAway = false;
    });
    expect(answered).toEqual([410, 410, 302, 302]);
  });

  test('is looked up in the log once if it names no organization, and never if none is suspended', async () => {
    const { earlierClick, earlierOpen } = linksOf(await send());
    const before = reads;
    expect(await statuses([earlierClick, earlierOpen])).toEqual([302, 200]);
    expect(reads).toBe(before);
    await suspend();
    const suspended = reads;
    for (let time = 0; time < 3; time += 1) expect(await statuses([earlierClick])).toEqual([410]);
    expect(reads).toBe(suspended + 1);
  });

  test('works even if more are looked up at once than the limit allows', async () => {
    const sent = await Promise.all(Array.from({ length: 40 }, () => send()));
    const urls = sent.map((each) => linksOf(each).earlierClick);
    await suspend();
    const { promise, resolve } = Promise.withResolvers<void>();
    slow = promise;
    const before = reads;
    const answers = Promise.all(urls.map((url) => service.request({ url })));
    await expect.poll(() => reads).toBe(before + 32);
    resolve();
    const codes = (await answers).map(({ statusCode }) => statusCode);
    expect([codes.filter((code) => code === 410).length, codes.filter((code) => code === 302).length]).toEqual([32, 8]);
  });

  test('of another organization works, and cannot be exchanged for it', async () => {
    const sent = await send();
    const [mine, theirs] = [linksOf(sent), linksOf(sent, other.organizationId)];
    await suspend();
    expect(await statuses([mine.click, theirs.click])).toEqual([410, 302]);
    const bytes = (url: string) => Buffer.from(/^\/c\/([\w-]+)/.exec(url)?.[1] ?? '', 'base64url');
    const altered = bytes(mine.click);
    altered.set(bytes(theirs.click).subarray(38, 54), 38);
    const query = mine.click.slice(mine.click.indexOf('?'));
    const hostile = [
      altered,
      Buffer.concat([bytes(mine.click).subarray(0, 38), bytes(mine.click).subarray(54, 70)]),
      Buffer.concat([bytes(mine.earlierClick), Buffer.alloc(18)]),
    ];
    const urls = hostile.map((each) => `/c/${each.toString('base64url')}${query}`);
    expect(await statuses([...urls, `/c/${'A'.repeat(96)}${query}`, `/c/${'A'.repeat(9_000)}${query}`])).toEqual(
      [...hostile, '', ''].map(() => 404),
    );
  });

  test('redirects if the log does not have its message', async () => {
    const nobody = { id: `msg_${'a'.repeat(26)}`, recipients: [{ id: `rcp_${'a'.repeat(26)}` }] };
    await suspend();
    expect(await statuses([linksOf(nobody).earlierClick])).toEqual([302]);
  });

  test('unsubscribes as usual, by a person and by their mail program, and shows no mail', async () => {
    const { id, recipients } = await send({ stream: 'bulk', unsubscribe: 'managed' });
    const secret = await organizationSecret(service.deps.context.secrets, organizationId);
    const recipientId = recipients[0]?.id ?? '';
    const url = `/unsubscribe/${unsubscribeToken(secret, id, recipientId)}`;
    const view = `/view/${viewToken(secret, id, recipientId)}`;
    expect(await statuses([view])).toEqual([200]);
    await suspend();
    expect(await statuses([url, view])).toEqual([200, 410]);
    const posted = await service.request({
      method: 'POST',
      url,
      payload: 'List-Unsubscribe=One-Click',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(posted.statusCode).toBe(200);
    const events = await service.deps.context.store.readStream(messageStream(id));
    expect(events.map(({ type }) => type)).toContain('RecipientUnsubscribed');
  });
});
