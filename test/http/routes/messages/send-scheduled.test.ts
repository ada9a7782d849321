import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { createInMemoryResolver } from '../../../support/in-memory/dns.ts';
import { type Service, startService } from '../../support/service.ts';

const DAY_MS = 86_400_000;

let service: Service;
let key: string;
/** Offset of the clock, in ms. */
let aheadMs = 0;
/** Records in the DNS. */
let published: readonly { readonly name: string; readonly value: string }[] = [];

const txt = (host: string): string[] => published.flatMap(({ name, value }) => (name === host ? [value] : []));

beforeAll(async () => {
  const system = { ...createSystem(), now: () => new Date(Date.now() + aheadMs) };
  service = await startService({
    context: { system, capturing: false, resolver: createInMemoryResolver({ txt }) },
  });
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  const pending = await service.request({ method: 'POST', url: `/v1/domains/${domainId}/verify`, key });
  published = pending.json().records;
  await service.request({ method: 'POST', url: `/v1/domains/${domainId}/verify`, key });
});
afterAll(() => service.close());

const VALID = {
  from: 'a@example.test',
  to: ['b@example.org', 'c@example.org'],
  subject: 'Hello',
  html: '<p>Hello</p>',
};
const inDays = (days: number): string => new Date(Date.now() + aheadMs + days * DAY_MS).toISOString();

const send = (payload: object, name?: string) =>
  service.request({
    method: 'POST',
    url: '/v1/messages/send',
    key,
    payload,
    headers: name === undefined ? {} : { 'idempotency-key': name },
  });
const refusalOf = (answer: Awaited<ReturnType<typeof send>>) => {
  const { code, details } = answer.json().error;
  return { status: answer.statusCode, code, details };
};

describe('a message for later', () => {
  test('is returned with its time, and every recipient waits for it', async () => {
    const scheduled_at = inDays(2);
    const answer = await send({ ...VALID, scheduled_at, ttl_seconds: 60 });
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toMatchObject({ status: 'scheduled', scheduled_at });
    expect(answer.json().recipients.map(({ status }: { status: string }) => status)).toEqual([
      'scheduled',
      'scheduled',
    ]);
    const read = await service.request({ url: `/v1/messages/${answer.json().id}`, key });
    expect(read.json()).toMatchObject({
      status: 'scheduled',
      scheduled_at,
      expires_at: new Date(Date.parse(scheduled_at) + 60_000).toISOString(),
    });
  });

  test('may give its time in any zone, and is returned in UTC', async () => {
    const local = new Date(Date.now() + DAY_MS + 5.75 * 3_600_000).toISOString().replace(/\.\d+Z$/, '+05:45');
    expect((await send({ ...VALID, scheduled_at: local })).json().scheduled_at).toBe(new Date(local).toISOString());
  });

  test.each([
    ['an hour ago', () => inDays(-1 / 24), 'scheduled_at must be in the future'],
    ['in 31 days', () => inDays(31), 'scheduled_at must be at most 30 days ahead'],
    ['in the year 9999', () => '9999-12-31T00:00:00Z', 'scheduled_at must be at most 30 days ahead'],
  ])('is refused with 422 for %s', async (_when, at, sentence) => {
    expect(refusalOf(await send({ ...VALID, scheduled_at: at() }))).toEqual({
      status: 422,
      code: 'schedule_not_possible',
      details: { scheduled_at: [sentence] },
    });
  });

  test.each([
    ['tomorrow', 'tomorrow'],
    ['a date', '2026-12-01'],
    ['no zone', '2026-12-01T12:00:00'],
    ['a day that does not exist', '2027-02-30T12:00:00Z'],
    ['a line break', '2026-12-01T12:00:00Z\r\nX: y'],
    ['a number', 1_800_000_000],
    ['a list', ['2026-12-01T12:00:00Z']],
    ['another age', '+012026-12-01T12:00:00Z'],
  ])('is refused with 400 for %s', async (_what, scheduled_at) => {
    const { status, details } = refusalOf(await send({ ...VALID, scheduled_at }));
    expect([status, Object.keys(details)]).toEqual([400, ['scheduled_at']]);
  });
});

describe('an accepted send', () => {
  test('is replayed after its time has passed, with the first response, even if it was rescheduled since', async () => {
    const payload = { ...VALID, scheduled_at: inDays(1) };
    const first = await send(payload, 'passed');
    const moved = { scheduled_at: inDays(5) };
    const url = `/v1/messages/${first.json().id}`;
    expect((await service.request({ method: 'PATCH', url, key, payload: moved })).statusCode).toBe(200);
    aheadMs = 2 * DAY_MS;
    const second = await send(payload, 'passed');
    const unheardOf = await send(payload, 'passed and new');
    aheadMs = 0;
    expect([second.statusCode, second.body]).toEqual([202, first.body]);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(refusalOf(unheardOf)).toMatchObject({ status: 422, code: 'schedule_not_possible' });
  });

  test('is refused with another body, whatever else is wrong with that body', async () => {
    await send(VALID, 'other body');
    const answer = await send({ ...VALID, scheduled_at: inDays(-1) }, 'other body');
    expect(refusalOf(answer)).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
  });
});

describe('a send that was accepted before its domain lost its verification', () => {
  test('is replayed, while a new one is refused', async () => {
    const captured = await startService();
    const organizationId = await captured.makeOrganization();
    const domainId = await captured.makeDomain(organizationId, 'example.test');
    const { value } = await captured.makeKey(organizationId, domainId);
    const { store, contents, secrets } = captured.deps.context;
    const once = (at: Service, name: string) =>
      at.request({
        method: 'POST',
        url: '/v1/messages/send',
        key: value,
        payload: VALID,
        headers: { 'idempotency-key': name },
      });
    const first = await once(captured, 'captured');
    const strict = await startService({ context: { store, contents, secrets, capturing: false } });
    const second = await once(strict, 'captured');
    const unheardOf = await once(strict, 'not captured');
    await strict.close();
    await captured.close();
    expect([second.statusCode, second.body]).toEqual([202, first.body]);
    expect([unheardOf.statusCode, unheardOf.json().error.code]).toEqual([422, 'domain_not_verified']);
  });
});
