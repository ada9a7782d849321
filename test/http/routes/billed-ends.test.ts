import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cancelMessage, claimAttempt, recordAttempt } from '../../../src/commands/message/attempt.ts';
import type { AttemptOutcome } from '../../../src/domain/message/attempt.ts';
import { reportOf } from '../../../src/workers/delivery/record.ts';
import { smtpReply } from '../../support/controls/message.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { operator } from '../support/service.ts';

let service: DatabaseService;
beforeAll(async () => {
  service = await startDatabaseService();
});
afterAll(() => service.close());

const MESSAGE = { to: 'b@example.org', subject: 'Hello', text: 'Hello', ttl_seconds: 3600 };
const LEASE_MS = 60_000;
const LATER_MS = 4_000_000;
const DOWN = { code: 0, enhanced: null, mx: null, tls: null, text: 'connect ECONNREFUSED' } as const;

/** One live message to one recipient, which the workers' commands end. */
const open = async () => {
  const organizationId = await service.makeOrganization();
  const name = `${organizationId.slice(4).toLowerCase()}.test`;
  const domainId = await service.makeDomain(organizationId, name);
  const { value: key } = await service.makeKey(organizationId, domainId);
  const ask = async (url: string) => (await service.request({ method: 'GET', url, key })).json();
  const sent = await service.request({
    method: 'POST',
    url: '/v1/messages/send',
    key,
    payload: { ...MESSAGE, from: `a@${name}` },
  });
  const messageId: string = sent.json().id;
  const { context } = service.deps;
  const at = (ms: number) => ({ ...context, system: { ...context.system, now: () => new Date(Date.now() + ms) } });
  const claim = (ms = 0, domainDeletedBy: string | null = null) =>
    claimAttempt(at(ms), { messageId, leaseMs: LEASE_MS, random: 0.5, domainDeletedBy: () => domainDeletedBy });

  /** Makes an attempt with this outcome. */
  const attempt = async (outcomeOf: (recipientId: string) => Omit<AttemptOutcome, 'recipientId'>) => {
    const claimed = await claim();
    if (!claimed.claimed) throw new Error('nothing was due');
    const outcomes = claimed.recipientIds.map(
      (recipientId) => ({ recipientId, ...outcomeOf(recipientId) }) as AttemptOutcome,
    );
    await recordAttempt(context, { message: claimed.message, attempt: 1, outcomes, replies: [], random: 0.5 });
    return claimed.message.state;
  };
  const cancel = () => cancelMessage(context, operator(organizationId), { messageId });
  /** How the recipient ended, and how many recipients are billed. */
  const ended = async () => {
    const { status } = await ask(`/v1/messages/${messageId}`);
    const { billable_recipients: billed } = await ask('/v1/billing/usage');
    return { status, billed };
  };
  return { claim, attempt, cancel, ended, expire: () => claim(LATER_MS) };
};

const refused = () => ({ outcome: 'deferred', reason: 'later', smtp: smtpReply(451), retryAfterSeconds: 1 }) as const;

describe('a recipient that ended as', () => {
  test('failed, because the last attempts met a fault of the service, is free', async () => {
    const message = await open();
    await message.attempt(() => ({ ...refused(), ownFault: true }));
    expect(await message.ended()).toEqual({ status: 'deferred', billed: 1 });
    await message.expire();
    expect(await message.ended()).toEqual({ status: 'failed', billed: 0 });
    await message.expire();
    expect(await message.ended()).toEqual({ status: 'failed', billed: 0 });
  });

  test.each([
    ['failed, because the relay that accepts all mail did not answer, is free', false, undefined],
    ['failed, because the service was stopping, is free', true, 'example.org'],
    ["expired, because the recipient's mail server did not answer, is billed", false, 'example.org'],
  ] as const)('%s', async (title, stopping, destination) => {
    const message = await open();
    const { system } = service.deps.context;
    await message.attempt((recipientId) => {
      const state = { organizationId: 'org_1', accepted: { messageId: 'msg_1' } } as Parameters<typeof reportOf>[0];
      const reply = { recipientId, outcome: 'deferred', ...DOWN, ...(destination && { destination }) } as const;
      return reportOf(state, [reply], { ...system, cutOff: stopping ? 'the service was stopping' : null })
        .outcomes[0] as AttemptOutcome;
    });
    await message.expire();
    expect(await message.ended()).toEqual(
      title.startsWith('failed') ? { status: 'failed', billed: 0 } : { status: 'expired', billed: 1 },
    );
  });

  test('expired, because its mail server kept deferring it, is billed', async () => {
    const message = await open();
    await message.attempt(refused);
    await message.expire();
    expect(await message.ended()).toEqual({ status: 'expired', billed: 1 });
  });

  test('cancelled, by its sender or with its domain, is billed', async () => {
    const [own, withDomain] = [await open(), await open()];
    await own.cancel();
    await withDomain.claim(0, 'member:mbr_1');
    expect(await own.ended()).toEqual({ status: 'cancelled', billed: 1 });
    expect(await withDomain.ended()).toEqual({ status: 'cancelled', billed: 1 });
  });

  test('bounced or delivered is billed', async () => {
    const [bounced, delivered] = [await open(), await open()];
    await bounced.attempt(() => ({ outcome: 'bounced', reason: 'no such user', smtp: smtpReply(550) }));
    await delivered.attempt(() => ({ outcome: 'delivered', smtp: smtpReply(250) }));
    expect(await bounced.ended()).toEqual({ status: 'bounced', billed: 1 });
    expect(await delivered.ended()).toEqual({ status: 'delivered', billed: 1 });
  });
});
