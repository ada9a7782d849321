import { describe, expect, test } from 'vitest';
import { load } from '../../../src/commands/execute.ts';
import { cancelMessage, claimAttempt } from '../../../src/commands/message/attempt.ts';
import {
  AppendOutcomeUnknown,
  type EventStore,
  WrongExpectedRevision,
} from '../../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { message } from '../../../src/domain/message/message.ts';
import { StoreUnavailable, type System } from '../../../src/lib/async/async.ts';
import { type ClaimParts, claimDue } from '../../../src/workers/delivery/claim.ts';
import type { DueMail } from '../../../src/workers/delivery/due.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { openService } from '../service.ts';

const TIMES = { attemptMs: 10_000, leaseMs: 30_000 };
const YEAR_MS = 365 * 86_400_000;

/** A message that is due, and what claims it. Each read of the log takes `readMs`. */
const open = async (environment: 'live' | 'test' = 'live', readMs = 0) => {
  const { context, send, history, organizationId } = closedAfterTest(await openService());
  const messageId = await send(['ann@one.test', 'bob@two.test'], environment);
  const startMs = context.system.now().getTime();
  let ms = 0;
  const system = { ...context.system, now: () => new Date(startMs + ms), sleep: async () => undefined };
  const store: EventStore = {
    ...context.store,
    readStream: async (...asked) => {
      ms += readMs;
      return context.store.readStream(...asked);
    },
  };
  const stopping = new AbortController();
  const notDue: { readonly due: DueMail; readonly since: string }[] = [];
  const counted: string[] = [];
  const parts: ClaimParts = {
    ...{ store, system, times: TIMES },
    sendingDomains: { deletedBy: () => null },
    recentlyQueued: { addNotDue: (due, since) => void notDue.push({ due, since }) },
    metrics: { count: (outcome) => void counted.push(outcome), countSource: () => undefined, took: () => undefined },
  };
  const known = () => load(context.store, message, messageStream(messageId));
  return {
    ...{ context, system, messageId, notDue, counted, known, organizationId, stopping },
    shift: (shiftMs: number) => {
      ms += shiftMs;
    },
    claim: async (more: Partial<ClaimParts> = {}, destination: string | null = null, state = known()) =>
      claimDue({ ...parts, ...more }, { messageId, destination }, await state, stopping.signal),
    history: () => history(messageId),
  };
};

describe('a claim', () => {
  test('of what is due gives all its recipients, or those of one destination', async () => {
    const { claim, notDue } = await open();
    const first = await claim({}, 'two.test');
    const [ann, bob] = first?.message.state.recipients ?? [];
    expect(first?.recipientIds).toEqual([bob?.id]);
    const second = await claim();
    expect(second?.recipientIds).toEqual([ann?.id]);
    expect(notDue).toEqual([]);
  });

  test('finds nothing while another worker has the message, and says since when that is known', async () => {
    const { claim, context, messageId, notDue, system, history } = await open('live', 500);
    await claimAttempt(context, { messageId, leaseMs: 60_000, random: 0.5 });
    const before = system.now().toISOString();
    expect(await claim({}, 'one.test')).toBeNull();
    expect(notDue).toEqual([{ due: { messageId, destination: 'one.test' }, since: before }]);
    expect(system.now().toISOString()).not.toBe(before); // the log was read
    expect(await history()).toEqual(['MessageAccepted', 'AttemptStarted']);
  });

  test('that ends a message instead is a step: it may be due again at once', async () => {
    const { claim, shift, notDue, history, counted } = await open();
    shift(YEAR_MS);
    expect(await claim()).toBeNull();
    expect(await history()).toEqual(['MessageAccepted', 'RecipientExpired', 'RecipientExpired']);
    expect([notDue, counted]).toEqual([[], ['expired', 'expired']]);
  });

  test('counts no simulated mail', async () => {
    const { claim, shift, history, counted } = await open('test');
    shift(YEAR_MS);
    expect(await claim()).toBeNull();
    expect([(await history()).at(-1), counted]).toEqual(['RecipientExpired', []]);
  });

  test('cancels the recipients of a deleted domain, by the actor that deleted it', async () => {
    const { claim, history, counted, context, messageId } = await open();
    expect(await claim({ sendingDomains: { deletedBy: () => 'member:mbr_1' } })).toBeNull();
    expect((await history()).slice(1)).toEqual(['RecipientCancelled', 'RecipientCancelled']);
    const [, ...cancelled] = await context.store.readStream(messageStream(messageId));
    expect(cancelled.map(({ metadata }) => metadata.actor)).toEqual(['member:mbr_1', 'member:mbr_1']);
    expect(counted).toEqual(['cancelled', 'cancelled']);
  });

  test('holds recipients that must wait', async () => {
    const { claim, history, notDue } = await open();
    const held = { reason: 'organization_suspended', heldBy: 'organization-org_1', waitSeconds: 60 } as const;
    expect(await claim({ holdOf: () => held })).toBeNull();
    expect((await history()).slice(1)).toEqual(['RecipientsHeld']);
    expect(notDue).toEqual([]);
  });

  test('starts no attempt if the message was cancelled since it was loaded', async () => {
    const { claim, context, known, messageId, organizationId, history } = await open();
    const stale = known();
    await stale;
    const origin = { actor: 'operator', organizationId, environment: 'live', requestId: null } as const;
    const caused = { correlationId: 'test', causationId: 'test' };
    await cancelMessage(context, { ...origin, ...caused }, { messageId });
    expect(await claim({}, null, stale)).toBeNull();
    expect(await history()).not.toContain('AttemptStarted');
  });

  test('that always meets other writers is left to the sweep', async () => {
    const { claim, context, notDue } = await open();
    const append: EventStore['append'] = async ({ stream }) => {
      throw new WrongExpectedRevision(stream, 0, 1);
    };
    expect(await claim({ store: { ...context.store, append } })).toBeNull();
    expect(notDue).toEqual([]);
  });

  test('reports a fault of the log', async () => {
    const { claim, context } = await open();
    const append: EventStore['append'] = () => Promise.reject(new Error('the disk is full'));
    await expect(claim({ store: { ...context.store, append } })).rejects.toThrow('the disk is full');
  });
});

describe('an attempt whose lease ended while the log was away', () => {
  const logWatch = (isSettled: boolean) => ({
    isSettled: () => isSettled,
    wasAwaySince: () => true,
    noteAway: () => undefined,
  });

  test('is left to its worker, which may record it, until the log has been back for a while', async () => {
    const { claim, shift, history, notDue } = await open();
    await claim();
    shift(TIMES.leaseMs);
    expect(await claim({ logWatch: logWatch(false) })).toBeNull();
    expect(await history()).toEqual(['MessageAccepted', 'AttemptStarted']);
    expect(notDue).toEqual([]);
    await claim({ logWatch: logWatch(true) });
    expect((await history()).at(-1)).toBe('AttemptOutcomeUnknown');
  });

  test('does not delay mail that is due', async () => {
    const { claim } = await open();
    expect(await claim({ logWatch: logWatch(false) })).not.toBeNull();
  });
});

describe('a claim that the log did not confirm', () => {
  /** Sleeps only advance the clock. */
  const sleepless = (system: System): System => {
    let ms = 0;
    return {
      ...system,
      monotonicMs: () => ms,
      sleep: async (sleptMs) => {
        ms += sleptMs;
      },
    };
  };

  const faultAt = (ms: number): Error | null => {
    if (ms === 0) return new AppendOutcomeUnknown('no answer');
    return ms < 10 * TIMES.leaseMs ? new StoreUnavailable('the log does not answer') : null;
  };

  test.each([
    ['was written', true],
    ['was not written', false],
  ])('is made once the log is back: it %s', async (_, isWritten) => {
    const { claim, context, history } = await open();
    const system = sleepless(context.system);
    const store: EventStore = {
      ...context.store,
      append: async (append) => {
        const fault = faultAt(system.monotonicMs());
        const isLost = isWritten && fault instanceof AppendOutcomeUnknown;
        if (fault !== null && !isLost) throw fault;
        const appended = await context.store.append(append);
        if (isLost) throw fault;
        return appended;
      },
    };
    expect(await claim({ store, system })).toMatchObject({ attempt: 1 });
    expect(await history()).toEqual(['MessageAccepted', 'AttemptStarted']);
  });

  test('ends when the process stops', async () => {
    const { claim, context, stopping } = await open();
    const system = sleepless(context.system);
    let noted = 0;
    const store: EventStore = {
      ...context.store,
      append: async () => {
        if (system.monotonicMs() > 10 * TIMES.leaseMs) stopping.abort();
        throw new AppendOutcomeUnknown('no answer');
      },
    };
    const logWatch = {
      isSettled: () => true,
      wasAwaySince: () => false,
      noteAway: () => {
        noted += 1;
      },
    };
    await expect(claim({ store, system, logWatch })).rejects.toBeInstanceOf(AppendOutcomeUnknown);
    expect(system.monotonicMs()).toBeGreaterThan(10 * TIMES.leaseMs);
    expect(noted).toBe(1);
  });
});
