import { expect, test } from 'vitest';
import type { ExistingSession } from '../../../src/domain/member/session.ts';
import { createSessionActivity } from '../../../src/http/auth/key-cache.ts';
import { createSteppableSystem } from '../../support/system.ts';

const IDLE_MS = 3_600_000;
/** Sessions whose last use is remembered. */
const SEEN_MAX = 10_000;

/** The marks of all processes, and a process that has seen no session yet. */
const open = () => {
  const system = createSteppableSystem();
  const startedAt = system.now().toISOString();
  const marks = new Map<string, Date>();
  let asked = 0;
  const activity = createSessionActivity({
    system,
    usageMarks: {
      of: async (ids) => {
        asked += 1;
        return ids.flatMap((keyId) => {
          const lastUsedAt = marks.get(keyId);
          return lastUsedAt === undefined ? [] : [{ keyId, lastUsedAt } as never];
        });
      },
    },
  });
  const session = (sessionId = 'ses_1') => ({ sessionId, startedAt }) as ExistingSession;
  return {
    ...{ system, activity, session },
    asked: () => asked,
    markElsewhere: (sessionId = 'ses_1') => void marks.set(sessionId, system.now()),
    isIdle: (sessionId = 'ses_1') => activity.isIdle(session(sessionId), IDLE_MS),
  };
};

test('a session is idle after it was not used for as long, since it began or since its last use', async () => {
  const { system, activity, session, isIdle, asked } = open();
  await system.advance(IDLE_MS - 1);
  expect([await isIdle(), asked()]).toEqual([false, 0]);
  activity.note(session());
  await system.advance(IDLE_MS - 1);
  expect([await isIdle(), asked()]).toEqual([false, 0]);
  await system.advance(1);
  expect([await isIdle(), asked()]).toEqual([true, 1]);
});

test('a session that is used at another process is not idle', async () => {
  const { system, markElsewhere, isIdle, asked } = open();
  await system.advance(IDLE_MS - 1);
  markElsewhere();
  await system.advance(IDLE_MS - 1);
  expect([await isIdle(), asked()]).toEqual([false, 1]);
  expect([await isIdle(), asked()]).toEqual([false, 1]); // it is known now
  await system.advance(1);
  expect([await isIdle(), asked()]).toEqual([true, 2]);
});

test('a session that is over stays so, and is not asked for again', async () => {
  const { system, markElsewhere, isIdle, asked } = open();
  await system.advance(IDLE_MS);
  expect(await isIdle()).toBe(true);
  markElsewhere();
  expect([await isIdle(), asked()]).toEqual([true, 1]);
});

test('an evicted session is asked for again, and the one that was used longest ago is evicted first', async () => {
  const { system, activity, session, isIdle, markElsewhere, asked } = open();
  await system.advance(IDLE_MS - 1);
  for (let index = 0; index < SEEN_MAX; index += 1) activity.note(session(`ses_${index}`));
  activity.note(session('ses_1')); // which evicts the first
  for (const id of ['ses_new', 'ses_newer']) activity.note(session(id));
  await system.advance(1);
  for (const id of ['ses_1', 'ses_3', 'ses_new']) expect(await isIdle(id)).toBe(false);
  expect(asked()).toBe(0);
  markElsewhere('ses_2');
  expect([await isIdle('ses_2'), asked()]).toEqual([false, 1]);
});
