import type { LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { cancelMessage, claimAttempt } from '../../../../src/commands/message/attempt.ts';
import { messageStream } from '../../../../src/domain/kernel/streams.ts';
import { operator, type Service, startService } from '../../support/service.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let service: Service;
let organization: string;
/** Offset of the test's clock from the machine's. */
let aheadMs = 0;
const keys: Record<string, string> = {};

beforeAll(async () => {
  const system = createSystem();
  const now = (): Date => new Date(system.now().getTime() + aheadMs);
  service = await startService({ context: { system: { ...system, now } } });
  organization = await service.makeOrganization();
  const domain = await service.makeDomain(organization, 'example.test');
  const foreign = await service.makeOrganization();
  const make = async (name: string, ...args: Parameters<Service['makeKey']>): Promise<void> => {
    keys[name] = (await service.makeKey(...args)).value;
  };
  await make('sender', organization, domain, { permissions: ['send', 'read'] });
  await make('reader', organization, domain, { permissions: ['read'] });
  await make('elsewhere', organization, await service.makeDomain(organization, 'second.test'), {
    permissions: ['send'],
  });
  await make('test', organization, domain, { environment: 'test' });
  await make('foreign', foreign, await service.makeDomain(foreign, 'foreign.test'));
});
afterAll(() => service.close());

const inMs = (ms: number): string => new Date(Date.now() + aheadMs + ms).toISOString();

const send = async (more: object = {}): Promise<string> => {
  const answer = await service.request({
    method: 'POST',
    url: '/v1/messages/send',
    key: keys.sender ?? '',
    payload: { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x', ...more },
  });
  expect(answer.statusCode).toBe(202);
  return answer.json().id;
};

const change = (id: string, payload: object | string, by = 'sender', headers: Record<string, string> = {}) =>
  service.request({
    method: 'PATCH',
    url: `/v1/messages/${id}`,
    key: keys[by] ?? '',
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  });
const reschedule = (id: string, scheduledAt: string, by = 'sender', headers: Record<string, string> = {}) =>
  change(id, { scheduled_at: scheduledAt }, by, headers);
const read = (id: string) => service.request({ url: `/v1/messages/${id}`, key: keys.sender ?? '' });
const refusalOf = (answer: LightMyRequestResponse): unknown[] => [answer.statusCode, answer.json().error?.code];

const claim = (messageId: string) => claimAttempt(service.deps.context, { messageId, leaseMs: 60_000, random: 0.5 });

describe('PATCH /v1/messages/{id}', () => {
  test.each([
    ['sooner', HOUR_MS],
    ['later', 20 * DAY_MS],
  ])('moves a message that waits %s, with its time to live, and returns it as a read would', async (_when, ms) => {
    const id = await send({ scheduled_at: inMs(DAY_MS), ttl_seconds: 7200 });
    const scheduledAt = inMs(ms);
    const answer = await reschedule(id, scheduledAt);
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({
      id,
      status: 'scheduled',
      scheduled_at: scheduledAt,
      expires_at: new Date(Date.parse(scheduledAt) + 2 * HOUR_MS).toISOString(),
      recipients: [{ status: 'scheduled', next_attempt_at: scheduledAt }],
    });
    const then = await read(id);
    expect(then.json()).toEqual(answer.json());
    expect([answer.headers.etag, then.headers.etag]).toEqual(['"2"', '"2"']);
  });

  test('changes nothing if the time is the same, however it is written', async () => {
    const at = inMs(DAY_MS).replace(/\.\d{3}Z$/, '.000Z');
    const waiting = await send({ scheduled_at: at });
    for (const same of [at, at.replace('.000Z', 'Z'), at.replace('.000Z', '+00:00')]) {
      const answer = await reschedule(waiting, same);
      expect([answer.statusCode, answer.headers.etag, answer.json().scheduled_at]).toEqual([200, '"1"', at]);
    }
    expect(await service.deps.context.store.readStream(messageStream(waiting))).toHaveLength(2);
  });

  test.each([
    ['in the past', -1000, 'scheduled_at must be in the future'],
    ['over 30 days ahead', 30 * DAY_MS + 60_000, 'scheduled_at must be at most 30 days ahead'],
  ])('is refused for a time %s', async (_what, ms, problem) => {
    const id = await send({ scheduled_at: inMs(DAY_MS) });
    const answer = await reschedule(id, inMs(ms));
    expect(refusalOf(answer)).toEqual([422, 'schedule_not_possible']);
    expect(answer.json().error.details).toEqual({ scheduled_at: [problem] });
    expect((await read(id)).headers.etag).toBe('"1"');
  });

  test('is refused for a message without a scheduled time', async () => {
    expect(refusalOf(await reschedule(await send(), inMs(DAY_MS)))).toEqual([409, 'message_not_scheduled']);
  });

  test('is possible after its time has come, until it is claimed', async () => {
    const id = await send({ scheduled_at: inMs(HOUR_MS) });
    aheadMs += HOUR_MS;
    expect((await reschedule(id, inMs(HOUR_MS))).statusCode).toBe(200);
    aheadMs += HOUR_MS;
    expect((await claim(id)).claimed).toBe(true);
    expect(refusalOf(await reschedule(id, inMs(HOUR_MS)))).toEqual([409, 'message_being_sent']);
  });

  test('is refused once it has ended', async () => {
    const id = await send({ scheduled_at: inMs(HOUR_MS) });
    await cancelMessage(service.deps.context, { ...operator(organization), environment: 'live' }, { messageId: id });
    expect(refusalOf(await reschedule(id, inMs(DAY_MS)))).toEqual([409, 'message_ended']);
  });

  test('is done only at the revision that If-Match names, once of three at the same moment', async () => {
    const id = await send({ scheduled_at: inMs(HOUR_MS) });
    expect(refusalOf(await reschedule(id, inMs(DAY_MS), 'sender', { 'if-match': '"0"' }))).toEqual([
      412,
      'precondition_failed',
    ]);
    const answers = await Promise.all(
      [2, 3, 4].map((days) => reschedule(id, inMs(days * DAY_MS), 'sender', { 'if-match': '"1"' })),
    );
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 412, 412]);
    const won = answers.find(({ statusCode }) => statusCode === 200)?.json();
    expect((await read(id)).json()).toEqual(won);
  });

  test('is not found for another environment and for a key of another domain, and refused to others', async () => {
    const id = await send({ scheduled_at: inMs(HOUR_MS) });
    expect(refusalOf(await reschedule(id, inMs(DAY_MS), 'test'))).toEqual([404, 'not_found']);
    expect(refusalOf(await reschedule(id, inMs(DAY_MS), 'elsewhere'))).toEqual([404, 'not_found']);
    expect(refusalOf(await reschedule(id, inMs(DAY_MS), 'foreign'))).toEqual([403, 'other_organization']);
    expect(refusalOf(await reschedule(id, inMs(DAY_MS), 'reader'))).toEqual([403, 'permission_missing']);
    expect(refusalOf(await reschedule(`msg_${'a'.repeat(26)}`, inMs(DAY_MS)))).toEqual([404, 'not_found']);
    expect((await read(id)).headers.etag).toBe('"1"');
  });

  test.each([
    ['nothing', {}, { scheduled_at: ['scheduled_at is required'] }],
    ['null', { scheduled_at: null }, { scheduled_at: ['scheduled_at is required'] }],
    ['a number', { scheduled_at: 1 }, { scheduled_at: ['scheduled_at must be a string'] }],
    ['a list', { scheduled_at: ['2099-01-01'] }, { scheduled_at: ['scheduled_at must be a string'] }],
  ])('is refused with %s for a time', async (_what, payload, details) => {
    const id = await send({ scheduled_at: inMs(HOUR_MS) });
    const answer = await change(id, payload);
    expect(refusalOf(answer)).toEqual([400, 'invalid_request']);
    expect(answer.json().error.details).toEqual(details);
  });

  test.each(['tomorrow', '2026-02-30', '2026-13-01', '-1', '2099-01-01T00:00:00Z\r\nX: y', '2099-01-01\u0000', ''])(
    'is refused with an invalid time: %j',
    async (scheduledAt) => {
      const id = await send({ scheduled_at: inMs(HOUR_MS) });
      const answer = await reschedule(id, scheduledAt);
      expect(answer.statusCode).toBe(400);
      expect(Object.keys(answer.json().error.details)).toEqual(['scheduled_at']);
    },
  );

  test('accepts no other field, only JSON and no large body', async () => {
    const id = await send({ scheduled_at: inMs(HOUR_MS) });
    const answer = await change(id, { scheduled_at: inMs(DAY_MS), subject: 'y' });
    expect(answer.json().error.details).toEqual({ subject: ['subject is not a known field'] });
    expect(refusalOf(await change(id, '{"scheduled_at"'))).toEqual([400, 'invalid_json']);
    expect(refusalOf(await change(id, 'x', 'sender', { 'content-type': 'text/plain' }))).toEqual([
      415,
      'unsupported_media_type',
    ]);
    const large = JSON.stringify({ scheduled_at: 'x'.repeat(10_000_000) });
    expect(refusalOf(await change(id, large))).toEqual([413, 'body_too_large']);
    expect((await read(id)).headers.etag).toBe('"1"');
  });
});
