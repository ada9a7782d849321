import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createSendingQuotas, enforceQuota } from '../../../src/commands/message/enforce-quota.ts';
import type { Caller } from '../../../src/domain/api-key/caller.ts';
import { BUILT_IN_PLANS } from '../../../src/domain/billing/plan.ts';
import type { Environment } from '../../../src/domain/kernel/environment.ts';
import { SERVICE_SENDER } from '../../../src/domain/message/events.ts';

const PLAN = { ...BUILT_IN_PLANS.default, id: 'small', hardLimit: 10 };
const CALLER = {
  organizationId: 'org_1',
  environment: 'live',
  chosenPlans: [{ plan: PLAN, from: '2026-11-01' }],
} as unknown as Caller;
const NOVEMBER = new Date('2026-11-23T00:00:00.000Z');

/** An organization whose counts the test provides. */
const open = () => {
  let nowMs = 0;
  let counted: number | null = 0;
  const quotas = createSendingQuotas(async () => counted, { monotonicMs: () => nowMs });
  return {
    send: async (recipients: number, environment: Environment = 'live'): Promise<boolean> => {
      const caller = { ...CALLER, environment };
      const reservation = await enforceQuota({ quotas, system: { now: () => NOVEMBER } }, caller, [recipients]);
      const isRefused = reservation.refusals[0] !== null;
      reservation.settle(isRefused ? 0 : recipients);
      return !isRefused;
    },
    /** Advances the clock by a second, after which counts are read again. */
    later: (answer: number | null): void => {
      nowMs += 1_000;
      counted = answer;
    },
  };
};

describe('the hard limit of a plan', () => {
  test('counts the messages that this process accepted until the stored count includes them', async () => {
    const { send, later } = open();
    expect([await send(6), await send(5), await send(4), await send(1)]).toEqual([true, false, true, false]);
    later(10);
    expect([await send(1), await send(1)]).toEqual([false, false]);
    later(3); // failed recipients are free
    await send(0); // starts a read, whose result the next send uses
    expect([await send(7), await send(1)]).toEqual([true, false]);
  });

  test('does not apply to test keys, and what they send is not counted', async () => {
    const { send } = open();
    expect(await send(100, 'test')).toBe(true);
    expect(await send(10)).toBe(true);
  });

  test('forgets nothing while counts cannot be read', async () => {
    const { send, later } = open();
    expect(await send(4)).toBe(true);
    for (let second = 0; second < 3; second += 1) {
      later(null);
      expect(await send(1)).toBe(true);
    }
    expect([await send(4), await send(3)]).toEqual([false, true]);
    later(7);
    await send(0);
    expect([await send(4), await send(3)]).toEqual([false, true]);
  });

  test('holds across the end of a month: what was accepted before does not count after it, and the count is read again', async () => {
    const times = ['2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00.000Z'];
    const asked: string[] = [];
    const count = async (_: string, month: string) => {
      asked.push(month);
      return 0;
    };
    const quotas = createSendingQuotas(count, { monotonicMs: () => 0 });
    const send = async (time: string): Promise<readonly boolean[]> => {
      const { refusals, settle } = await enforceQuota(
        { quotas, system: { now: () => new Date(time) } },
        CALLER,
        [6, 5, 4],
      );
      settle(10);
      return refusals.map((refusal) => refusal === null);
    };
    for (const time of times) expect(await send(time)).toEqual([true, false, true]);
    expect(asked).toEqual(['2026-11', '2026-12']);
  });

  test('is exceeded by two processes by at most what one of them accepts before its next count', async () => {
    let nowMs = 0;
    let logged = 0;
    const open = () => createSendingQuotas(async () => logged, { monotonicMs: () => nowMs });
    const processes = [open(), open()];
    const send = async (process: number, recipients: number): Promise<boolean> => {
      const context = { quotas: processes[process], system: { now: () => NOVEMBER } };
      const { refusals, settle } = await enforceQuota(context, CALLER, [recipients]);
      const isAccepted = refusals[0] === null;
      if (isAccepted) logged += recipients;
      settle(isAccepted ? recipients : 0);
      return isAccepted;
    };
    expect([await send(0, 1), await send(1, 1)]).toEqual([true, true]);
    expect([await send(0, 8), await send(1, 8)]).toEqual([true, true]);
    for (let second = 0; second < 3; second += 1) {
      nowMs += 1_000;
      await Promise.all([send(0, 0), send(1, 0)]); // start the counts
      await setImmediate();
      expect([await send(0, 1), await send(1, 1)]).toEqual([false, false]);
    }
    expect(logged).toBe(18);
  });

  test('is known to a process that has not sent for a while: it counts again before it accepts', async () => {
    let nowMs = 0;
    let logged = 0;
    const quotas = createSendingQuotas(async () => logged, { monotonicMs: () => nowMs });
    const send = async (recipients: number): Promise<boolean> => {
      const { refusals } = await enforceQuota({ quotas, system: { now: () => NOVEMBER } }, CALLER, [recipients]);
      return refusals[0] === null;
    };
    expect(await send(1)).toBe(true);
    logged = 10; // by another process
    nowMs += 2_000;
    expect(await send(9)).toBe(false);
  });

  test('does not refuse notices of the service, which are not billed', async () => {
    const quotas = createSendingQuotas(async () => 10, { monotonicMs: () => 0 });
    const context = { quotas, system: { now: () => NOVEMBER } };
    const refused = async (caller: Caller) => (await enforceQuota(context, caller, [1])).refusals[0]?.code ?? null;
    expect(await refused(CALLER)).toBe('quota_exceeded');
    expect(await refused({ ...CALLER, keyId: SERVICE_SENDER })).toBeNull();
  });

  test('costs each send the same, however many came before', async () => {
    const quotas = createSendingQuotas(async () => 0, { monotonicMs: () => 0 });
    const usage = await quotas.open('org_1', '2026-11');
    for (let sent = 0; sent < 100_000; sent += 1) {
      usage.reserve(1);
      usage.settle(1, 1);
      usage.used();
    }
    expect(usage.used()).toBe(100_000);
  });
});
