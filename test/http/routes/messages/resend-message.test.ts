import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { readFamilies } from '../../../../src/lib/event-log/event-log.ts';
import { bounce } from '../../support/bounced.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let place: readonly [organizationId: string, domainId: string];
const keys: Record<string, string> = {};

beforeAll(async () => {
  service = await startService();
  const own = await service.makeOrganization();
  const domain = await service.makeDomain(own, 'example.test');
  place = [own, domain];
  const second = await service.makeDomain(own, 'second.test');
  const foreign = await service.makeOrganization();
  const make = async (name: string, ...args: Parameters<Service['makeKey']>): Promise<void> => {
    keys[name] = (await service.makeKey(...args)).value;
  };
  await make('admin', own, domain, { permissions: ['admin'] });
  await make('sender', own, domain, { permissions: ['send'] });
  await make('reader', own, domain, { permissions: ['read', 'manage'] });
  await make('elsewhere', own, second, { permissions: ['send'] });
  await make('elsewhereAdmin', own, second, { permissions: ['admin'] });
  await make('test', own, domain, { environment: 'test' });
  await make('foreign', foreign, await service.makeDomain(foreign, 'foreign.test'), { permissions: ['admin'] });
});
afterAll(() => service.close());

const post = async (url: string, payload: object, by = 'admin', headers = {}) => {
  const answer = await service.request({ method: 'POST', url, key: keys[by] ?? by, payload, headers });
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
};
const get = async (url: string) => (await service.request({ url, key: keys.admin ?? '' })).json();
const person = (): string => `${randomUUID()}@example.org`;

const MAIL = {
  from: 'Shop <shop@example.test>',
  subject: 'Your invoice',
  html: '<p>Your <a href="https://shop.test">invoice</a></p>',
  text: 'Your invoice',
  reply_to: 'help@example.test',
  headers: { 'X-Order': '1234' },
  tags: [{ name: 'kind', value: 'invoice' }],
  metadata: { order: '1234' },
  attachments: [{ filename: 'a.txt', content: 'YQ==', content_type: 'text/plain' }],
  tracking: { opens: true },
  ttl_seconds: 7200,
};

/** Sends a message whose recipients bounce, but for these. */
const bounced = async (to: readonly string[] = [person()], delivered: readonly number[] = [], more = {}) => {
  const { body } = await post('/v1/messages/send', { ...MAIL, to, ...more });
  return { id: body.id as string, recipients: await bounce(service, body.id, delivered) };
};
const resend = (id: string, payload: object = {}, by?: string, headers = {}) =>
  post(`/v1/messages/${id}/resend`, payload, by, headers);
const store = () => service.deps.context.store;
const countAccepted = async (): Promise<number> => {
  let count = 0;
  for await (const { events } of readFamilies(store(), { categories: ['message'], to: await store().head() })) {
    count += events.filter(({ type }) => type === 'MessageAccepted').length;
  }
  return count;
};

describe('POST /v1/messages/{id}/resend', () => {
  test('sends the same content to the recipients that were not reached, and links both messages', async () => {
    const to = [person(), person(), person()];
    const { id, recipients } = await bounced(to, [1]);
    const { status, body } = await resend(id);
    expect([status, body]).toMatchObject([
      202,
      { object: 'message', status: 'accepted', resend_of: id, replayed: false, environment: 'live' },
    ]);
    expect(body.recipients.map(({ address }: { address: string }) => address)).toEqual([to[0], to[2]]);
    const [first, again] = await Promise.all([get(`/v1/messages/${id}`), get(`/v1/messages/${body.id}`)]);
    expect(first.recipients.map((one: { resent_as: unknown }) => one.resent_as)).toEqual([body.id, null, body.id]);
    expect([first.resend_of, again.resend_of]).toEqual([null, id]);
    for (const field of ['subject', 'from', 'tags', 'metadata', 'stream', 'tracking', 'size_bytes', 'domain_id'])
      expect([field, again[field]]).toEqual([field, first[field]]);
    expect(Date.parse(again.expires_at) - Date.parse(again.created_at)).toBe(7_200_000);
    const { id: _, ...content } = await get(`/v1/messages/${id}/content`);
    expect(await get(`/v1/messages/${body.id}/content`)).toMatchObject(content);
    expect(recipients).toHaveLength(3);
  });

  test('sends nothing when it is repeated, and answers with the first new message', async () => {
    const { id } = await bounced();
    const first = await resend(id);
    const before = await countAccepted();
    const repeated = await resend(id);
    expect(repeated.body).toEqual({ ...first.body, replayed: true });
    expect(await countAccepted()).toBe(before);
  });

  test('sends once when two requests race', async () => {
    const { id, recipients } = await bounced([person(), person()]);
    const before = await countAccepted();
    const answers = await Promise.all([
      resend(id),
      resend(id, {}, 'sender'),
      resend(id, { recipient_ids: recipients }),
      resend(id, { skip_suppressed: true }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ body }) => !body.replayed)).toHaveLength(1);
    expect((await countAccepted()) - before).toBe(1);
  });

  test('sends to the named recipients alone, and later to the others', async () => {
    const to = [person(), person()];
    const { id, recipients } = await bounced(to);
    const one = await resend(id, { recipient_ids: [recipients[1]] });
    expect(one.body.recipients.map(({ address }: { address: string }) => address)).toEqual([to[1]]);
    const rest = await resend(id);
    expect(rest.body.recipients.map(({ address }: { address: string }) => address)).toEqual([to[0]]);
    expect(rest.body.id).not.toBe(one.body.id);
  });

  test('accepts the message of a reservation that was left behind when a process ended', async () => {
    const { id } = await bounced();
    const append = store().append.bind(store());
    const spy = vi
      .spyOn(store(), 'append')
      .mockImplementation((asked) =>
        asked.events[0]?.type === 'MessageAccepted' ? Promise.reject(new Error('the process ends')) : append(asked),
      );
    expect((await resend(id)).status).toBe(500);
    spy.mockRestore();
    const [{ resent_as: named }] = (await get(`/v1/messages/${id}`)).recipients;
    const { status, body } = await resend(id);
    expect([status, body.id, body.replayed]).toEqual([202, named, false]);
    expect((await resend(id)).body).toMatchObject({ id: named, replayed: true });
  });

  test('can send the new message again when that one bounces too', async () => {
    const { id } = await bounced();
    const { body } = await resend(id);
    await bounce(service, body.id);
    expect((await resend(body.id)).body).toMatchObject({ resend_of: body.id, replayed: false });
  });

  test('refuses suppressed addresses with the remedy, and sends to the others on request', async () => {
    const to = [person(), person()];
    const { id, recipients } = await bounced(to);
    await post('/v1/suppressions', { address: to[0] ?? '' });
    const refused = await resend(id);
    expect([refused.status, refused.body.error]).toMatchObject([
      409,
      {
        code: 'recipient_suppressed',
        message: '1 of 2 recipients to send to again is suppressed',
        details: { recipient_ids: [`${recipients[0]}: the address is suppressed: it was added to the list`] },
      },
    ]);
    const { body } = await resend(id, { skip_suppressed: true });
    expect(body.recipients.map(({ address }: { address: string }) => address)).toEqual([to[1]]);
    expect((await resend(id, { skip_suppressed: true })).body).toMatchObject({ id: body.id, replayed: true });
    const only = await resend(id, { skip_suppressed: true, recipient_ids: [recipients[0]] });
    expect(only.body.error).toMatchObject({
      ...{ code: 'recipient_suppressed', message: 'the only recipient left is suppressed' },
    });
  });

  test.each([
    ['expired', 'was removed when its retention ended'],
    ['erased', 'was erased'],
  ] as const)('refuses a message whose content is %s', async (kind, words) => {
    const { id } = await bounced();
    const gone = { kind, at: '2026-01-01T00:00:00.000Z', erasureId: 'era_1' } as never;
    vi.spyOn(service.deps.context.contents, 'get').mockImplementationOnce(
      async (ids) => new Map(ids.map((one) => [one, gone])),
    );
    const { status, body } = await resend(id);
    expect([status, body.error.code]).toEqual([409, 'content_removed']);
    expect(body.error.message).toContain(words);
    expect((await get(`/v1/messages/${id}`)).recipients[0].resent_as).toBeNull();
  });

  test('needs the permission send, and the domain of the message', async () => {
    const { id } = await bounced();
    const codes = async (by: string) => {
      const { status, body } = await resend(id, {}, by);
      return [status, body.error?.code];
    };
    expect(await codes('reader')).toEqual([403, 'permission_missing']);
    expect(await codes('foreign')).toEqual([403, 'other_organization']);
    expect(await codes('elsewhere')).toEqual([404, 'not_found']);
    expect(await codes('elsewhereAdmin')).toEqual([403, 'from_domain_mismatch']);
    expect(await codes('test')).toEqual([404, 'not_found']);
    expect((await get(`/v1/messages/${id}`)).recipients[0].resent_as).toBeNull();
    expect((await resend(id, {}, 'sender')).status).toBe(202);
  });

  test.each([
    ['a wrong type', { recipient_ids: 'rcp_1' }],
    ['a number for an id', { recipient_ids: [7] }],
    ['too many ids', { recipient_ids: Array.from({ length: 101 }, (_, index) => `rcp_${index}`) }],
    ['an unknown field', { to: 'other@example.org' }],
    ['a text for a flag', { skip_suppressed: 'yes' }],
  ])('refuses %s', async (_, payload) => {
    const { id } = await bounced();
    expect(await resend(id, payload)).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
  });

  test.each(['rcp_x', 'a\r\nb', 'a\0b', 'x'.repeat(10_000)])(
    'refuses the recipient id %j of no recipient',
    async (one) => {
      const { id } = await bounced();
      const { status } = await resend(id, { recipient_ids: [one] });
      expect([400, 409]).toContain(status);
      expect((await get(`/v1/messages/${id}`)).recipients[0].resent_as).toBeNull();
    },
  );

  test('does not accept the recipient of another message', async () => {
    const [mine, other] = [await bounced(), await bounced()];
    const { status, body } = await resend(mine.id, { recipient_ids: other.recipients });
    expect([status, body.error.code]).toEqual([409, 'nothing_to_resend']);
  });

  test('refuses a message that has not ended, a stale If-Match and an Idempotency-Key', async () => {
    const { body } = await post('/v1/messages/send', { ...MAIL, to: person() });
    expect((await resend(body.id)).body.error.code).toBe('nothing_to_resend');
    const { id } = await bounced();
    expect((await resend(id, {}, 'admin', { 'if-match': '"0"' })).status).toBe(412);
    expect((await resend(id, {}, 'admin', { 'idempotency-key': 'x' })).body.error.code).toBe('header_not_allowed');
  });
});

describe('POST /v1/messages/resend', () => {
  const many = (payload: object, by?: string) => post('/v1/messages/resend', payload, by);

  test('sends each message on its own: one that cannot be sent again stops no other', async () => {
    const [one, two] = [await bounced(), await bounced([person(), person()])];
    const waiting = (await post('/v1/messages/send', { ...MAIL, to: person() })).body.id;
    const unknown = `msg_${'a'.repeat(26)}`;
    const { status, body } = await many({ ids: [one.id, unknown, waiting, two.id, one.id] });
    expect([status, body]).toMatchObject([200, { object: 'resending', matched: 4, sent: 2 }]);
    expect(body.data).toMatchObject([
      { id: one.id, resent_as: expect.stringMatching(/^msg_/), recipients: 1, replayed: false, error: null },
      { id: unknown, resent_as: null, error: { code: 'not_found' } },
      { id: waiting, resent_as: null, error: { code: 'nothing_to_resend' } },
      { id: two.id, recipients: 2, error: null },
    ]);
    expect((await many({ ids: [one.id, two.id] })).body).toMatchObject({ matched: 2, sent: 0 });
  });

  test('changes nothing that its key may not', async () => {
    const { id } = await bounced();
    for (const by of ['foreign', 'elsewhere', 'elsewhereAdmin', 'test'])
      expect((await many({ ids: [id] }, by)).body).toMatchObject({ sent: 0 });
    expect((await many({ ids: [id] }, 'reader')).status).toBe(403);
    expect((await get(`/v1/messages/${id}`)).recipients[0].resent_as).toBeNull();
  });

  test('costs one of the limit for each message, and accepts at most 100', async () => {
    const { value: key } = await service.makeKey(...place, { permissions: ['send'], rateLimits: { send: 4 } });
    const ids = Array.from({ length: 101 }, (_, index) => `none${index}`);
    expect((await many({ ids })).status).toBe(400);
    expect(await many({ ids: ids.slice(0, 5) }, key)).toMatchObject({
      status: 422,
      body: { error: { code: 'batch_exceeds_limit' } },
    });
    const { status, headers } = await many({ ids: ids.slice(0, 3) }, key);
    expect([status, headers['ratelimit-remaining']]).toEqual([200, '0']);
    expect((await many({ ids: ids.slice(0, 1) }, key)).status).toBe(429);
  });
});
