import type { LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Claim, claimAttempt, recordAttempt } from '../../../../src/commands/message/attempt.ts';
import type { MessageEvent } from '../../../../src/domain/kernel/events.ts';
import { messageStream } from '../../../../src/domain/kernel/streams.ts';
import type { AttemptOutcome } from '../../../../src/domain/message/attempt.ts';
import { smtpReply } from '../../../support/controls/message.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
const keys: Record<string, string> = {};

beforeAll(async () => {
  service = await startService();
  const own = await service.makeOrganization();
  const domain = await service.makeDomain(own, 'example.test');
  const foreign = await service.makeOrganization();
  const make = async (name: string, ...args: Parameters<Service['makeKey']>): Promise<void> => {
    keys[name] = (await service.makeKey(...args)).value;
  };
  await make('admin', own, domain);
  await make('sender', own, domain, { permissions: ['send'] });
  await make('reader', own, domain, { permissions: ['read'] });
  await make('elsewhere', own, await service.makeDomain(own, 'second.test'), { permissions: ['send'] });
  await make('test', own, domain, { environment: 'test' });
  await make('foreign', foreign, await service.makeDomain(foreign, 'foreign.test'));
});
afterAll(() => service.close());

const post = (url: string, payload: object | undefined, by = 'sender', headers: Record<string, string> = {}) =>
  service.request({
    method: 'POST',
    url,
    key: keys[by] ?? '',
    headers,
    ...(payload === undefined ? {} : { payload }),
  });

const send = async (more: object = {}): Promise<string> => {
  const mail = { from: 'a@example.test', to: ['b@example.org', 'c@example.org'], subject: 'x', text: 'x' };
  const answer = await post('/v1/messages/send', { ...mail, ...more });
  expect(answer.statusCode).toBe(202);
  return answer.json().id;
};
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

const cancel = (id: string, by = 'sender', headers: Record<string, string> = {}) =>
  post(`/v1/messages/${id}/cancel`, undefined, by, headers);
const read = (id: string) => service.request({ url: `/v1/messages/${id}`, key: keys.admin ?? '' });
const refusalOf = (answer: LightMyRequestResponse): unknown[] => [answer.statusCode, answer.json().error?.code];

const claim = async (messageId: string): Promise<Claim & { claimed: true }> => {
  const claimed = await claimAttempt(service.deps.context, { messageId, leaseMs: 60_000, random: 0.5 });
  if (!claimed.claimed) throw new Error('it could not be claimed');
  return claimed;
};
const ended = async (messageId: string, ...outcomes: ('delivered' | 'deferred')[]): Promise<void> => {
  const { message, recipientIds } = await claim(messageId);
  const about = { smtp: smtpReply(), reason: 'try later' };
  const all = outcomes.map((outcome, index): AttemptOutcome => {
    return { ...about, recipientId: recipientIds[index] ?? '', outcome };
  });
  await recordAttempt(service.deps.context, { message, attempt: 1, outcomes: all, replies: [], random: 0.5 });
};

describe('POST /v1/messages/{id}/cancel', () => {
  test('cancels a message that waits for its time, and returns it as a read would', async () => {
    const id = await send({ scheduled_at: inAnHour() });
    const answer = await cancel(id);
    expect(answer.statusCode).toBe(200);
    const shown = answer.json();
    expect(shown).toMatchObject({ id, status: 'cancelled', partial: false, subject: 'x' });
    const cancelled = { status: 'cancelled', reason: 'cancelled by its sender', next_attempt_at: null };
    expect(shown.recipients).toMatchObject([cancelled, cancelled]);
    const then = await read(id);
    expect(then.json()).toEqual(shown);
    expect(answer.headers.etag).toBe(then.headers.etag);
  });

  test('cancels one that was accepted to be sent at once, and records who did it', async () => {
    const id = await send();
    const answer = await cancel(id, 'admin');
    expect(answer.json().status).toBe('cancelled');
    const events = await service.deps.context.store.readStream(messageStream(id));
    const last = events.at(-1);
    expect((last as MessageEvent | undefined)?.type).toBe('RecipientCancelled');
    expect(last?.metadata).toMatchObject({
      actor: expect.stringMatching(/^key:key_/),
      requestId: answer.headers['x-request-id'],
    });
  });

  test('cancels the rest of one that some recipients have', async () => {
    const id = await send();
    await ended(id, 'delivered', 'deferred');
    const shown = (await cancel(id)).json();
    expect(shown).toMatchObject({ status: 'delivered', partial: true });
    expect(shown.recipients).toMatchObject([{ status: 'delivered' }, { status: 'cancelled' }]);
  });

  test('twice, or five times at once, cancels once and succeeds each time', async () => {
    const id = await send();
    const answers = await Promise.all(Array.from({ length: 5 }, () => cancel(id)));
    const again = await cancel(id);
    expect([...answers, again].map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(again.headers.etag).toBe('"2"');
    expect(answers.map(({ headers }) => headers.etag)).toEqual(answers.map(() => '"2"'));
  });

  test('is refused while it is being sent, and changes nothing', async () => {
    const id = await send();
    await claim(id);
    expect(refusalOf(await cancel(id))).toEqual([409, 'message_being_sent']);
    expect((await read(id)).headers.etag).toBe('"1"');
  });

  test('is refused once every recipient has it', async () => {
    const id = await send();
    await ended(id, 'delivered', 'delivered');
    expect(refusalOf(await cancel(id))).toEqual([409, 'message_ended']);
  });

  test('is done only at the revision that If-Match names', async () => {
    const id = await send();
    expect(refusalOf(await cancel(id, 'sender', { 'if-match': '"7"' }))).toEqual([412, 'precondition_failed']);
    expect((await read(id)).json().status).toBe('accepted');
    expect((await cancel(id, 'sender', { 'if-match': '"0"' })).statusCode).toBe(200);
    expect(refusalOf(await cancel(id, 'sender', { 'if-match': '"0"' }))).toEqual([412, 'precondition_failed']);
  });

  test('is not found for another environment and for a key of another domain, and refused to others', async () => {
    const id = await send();
    expect(refusalOf(await cancel(id, 'test'))).toEqual([404, 'not_found']);
    expect(refusalOf(await cancel(id, 'elsewhere'))).toEqual([404, 'not_found']);
    expect(refusalOf(await cancel(id, 'foreign'))).toEqual([403, 'other_organization']);
    expect(refusalOf(await cancel(id, 'reader'))).toEqual([403, 'permission_missing']);
    for (const none of [`msg_${'a'.repeat(26)}`, 'msg_1', '%00', 'a'.repeat(2000)]) {
      expect(refusalOf(await cancel(none))).toEqual([404, 'not_found']);
    }
    expect((await read(id)).json().status).toBe('accepted');
  });

  test('accepts no fields, no parameters and no Idempotency-Key', async () => {
    const id = await send();
    const url = `/v1/messages/${id}/cancel`;
    const answer = await post(url, { reason: 'x', __proto__x: 1 });
    expect(answer.json().error.details).toEqual({
      reason: ['reason is not a known field'],
      __proto__x: ['__proto__x is not a known field'],
    });
    expect(refusalOf(await post(`${url}?force=1`, {}))).toEqual([400, 'invalid_request']);
    expect(refusalOf(await cancel(id, 'sender', { 'idempotency-key': 'x' }))).toEqual([400, 'header_not_allowed']);
    expect((await read(id)).json().status).toBe('accepted');
    expect((await post(url, {})).statusCode).toBe(200);
  });
});
