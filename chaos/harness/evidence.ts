import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { LOG_START, type RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import type { StoredHead } from '../../src/domain/ports/contents.ts';
import type { Disturbance } from './disturbances.ts';
import { type DkimKeyRecord, dkimKeysFound } from './dkim-keys-found.ts';
import type { AcceptedMessage } from './load.ts';
import type { Observer } from './observer.ts';
import { makeReadModelsAnew, type ReadModelRows, readModelRows } from './read-model-rows.ts';
import type { SinkMail } from './smtp-sink.ts';
import type { ReceivedPost } from './webhook-receiver.ts';
import type { World } from './world.ts';

/** Everything observed by the end, from independent sources. */
export interface Evidence {
  /** Messages for which a client got a 202. */
  readonly accepted: readonly AcceptedMessage[];
  /** Markers of messages for which a client got a rejection. */
  readonly refused: readonly string[];
  /** Mail that the mail server accepted. */
  readonly mails: readonly SinkMail[];
  /** Posts that the webhook receiver accepted. */
  readonly posts: readonly ReceivedPost[];
  readonly disturbances: readonly Disturbance[];
  /** The whole log, in order. */
  readonly events: readonly RecordedEvent[];
  /** Contents in the vault, by id. */
  readonly contents: ReadonlyMap<string, StoredHead>;
  /** DKIM keys mentioned in the log. */
  readonly keys: readonly DkimKeyRecord[];
  readonly readModels: { readonly live: ReadModelRows; readonly rebuilt: ReadModelRows; readonly parked: number };
}

const PAGE = 5000;
const PARKED = 'select count(*)::int as count from read_models.parked_events';

export const readLog = async ({ store }: Pick<Observer, 'store'>): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  const head = await store.head();
  let from = LOG_START;
  while (from < head) {
    const page = await store.readAll({ from, limit: PAGE });
    events.push(...page.events);
    from = page.position;
  }
  return events;
};

const parkedEvents = async (pool: Pool): Promise<number> =>
  (await pool.query<{ count: number }>(PARKED)).rows[0]?.count ?? 0;

/** Attempts to read a consistent state. At rest only domain checks still write, at their own times. */
const READS_MAX = 3;
/** Read models have caught up with such writes by then. */
const READ_AGAIN_MS = 2000;

const readOnce = async (world: World, observer: Observer): Promise<Evidence> => {
  const { load, sink, receiver, disturbances } = world;
  const events = await readLog(observer);
  const contentIds = events.flatMap((event) => (event.type === 'MessageAccepted' ? [event.data.contentId] : []));
  return {
    accepted: load.accepted,
    refused: load.refused,
    mails: sink.mails,
    posts: receiver.posts,
    events,
    disturbances: disturbances.all,
    contents: await observer.context.contents.heads(contentIds),
    keys: await dkimKeysFound(observer, events),
    readModels: {
      live: await readModelRows(observer.pool),
      rebuilt: await makeReadModelsAnew(observer),
      parked: await parkedEvents(observer.pool),
    },
  };
};

/**
 * Reads the evidence. It starts over if an event was appended while reading, which would be in the rebuilt read models
 * but not in the live ones.
 * @param observer observer of a world at rest.
 */
export const readEvidence = async (world: World, observer: Observer): Promise<Evidence> => {
  for (let left = READS_MAX; ; left -= 1) {
    const evidence = await readOnce(world, observer);
    const isWhole = (await observer.store.head()) === evidence.events.at(-1)?.position;
    if (isWhole || left <= 1) return evidence;
    await sleep(READ_AGAIN_MS);
  }
};
