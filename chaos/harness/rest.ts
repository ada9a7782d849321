import { setTimeout as sleep } from 'node:timers/promises';
import { customerEvents } from '../../src/domain/customer-events/customer-events.ts';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import { createWaitFor } from '../../src/lib/projections/projections.ts';
import { PROJECTIONS } from '../../src/projections/all.ts';
import { readLog } from './evidence.ts';
import { isSettled, messagesOf } from './messages-of.ts';
import type { Observer } from './observer.ts';

const LOOK_MS = 200;
const OWED = `
  select (select count(*)::int from vault.webhook_deliveries where state = 'pending') as pending,
    coalesce((select position from vault.webhook_recording), '') as position`;

interface Rest {
  readonly isReached: boolean;
  /** Describes what is still active or unfinished. */
  readonly what: string;
}

/**
 * True for events that the worlds' endpoints subscribe to. The checkpoint may lag behind events that cause no delivery.
 */
const isOwed = (event: RecordedEvent): boolean => customerEvents(event).some(({ type }) => type.startsWith('message.'));

const webhooksRest = async ({ pool }: Observer, last: RecordedEvent | undefined): Promise<string[]> => {
  const { rows } = await pool.query<{ pending: number; position: string }>(OWED);
  const { pending = 0, position = '' } = rows[0] ?? {};
  return [
    ...(pending > 0 ? [`${pending} webhooks are not posted`] : []),
    ...(position < (last?.position ?? '') ? ['webhooks are not recorded up to the last that is owed'] : []),
  ];
};

const look = async (observer: Observer, log: readonly RecordedEvent[]): Promise<Rest> => {
  const open = messagesOf(log).filter((message) => !isSettled(message));
  const head = await observer.store.head();
  const names = PROJECTIONS.map(({ name }) => name);
  const projected = await createWaitFor(observer)(names, head, { timeoutMs: LOOK_MS });
  const what = [
    ...(open.length > 0 ? [`${open.length} messages are not settled`] : []),
    ...(projected ? [] : ['read models are behind the log']),
    ...(await webhooksRest(observer, log.findLast(isOwed))),
  ];
  return {
    isReached: what.length === 0 && (await observer.store.head()) === log.at(-1)?.position,
    what: what.join(', '),
  };
};

/**
 * Waits until every message has ended, every read model has processed the whole log, and no webhook is pending.
 * @returns null, or what did not come to rest in time. That alone is no violation, but usually leads to several.
 */
export const comeToRest = async (observer: Observer, timeoutMs: number): Promise<string | null> => {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    const rest = await readLog(observer)
      .then((log) => look(observer, log))
      .catch((error: unknown): Rest => ({ isReached: false, what: String(error) }));
    if (rest.isReached) return null;
    if (performance.now() > endMs) return rest.what;
    await sleep(LOOK_MS);
  }
};
