import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { StoredHead } from '../../src/domain/ports/contents.ts';
import { LOG_START, type RecordedEvent } from '../../src/domain/ports/event-store.ts';
import type { Disturbance } from './disturbances.ts';
import { type DkimKeyFound, dkimKeysFound } from './dkim-keys-found.ts';
import type { AcceptedMessage } from './load.ts';
import type { Observer } from './observer.ts';
import { makeReadModelsAnew, type ReadModelRows, readModelRows } from './read-model-rows.ts';
import type { SinkMail } from './smtp-sink.ts';
import type { ReceivedPost } from './webhook-receiver.ts';
import type { World } from './world.ts';

/** All that is known at the end, from sources that do not know of each other. */
export interface Evidence {
  /** What clients were told. */
  readonly accepted: readonly AcceptedMessage[];
  /** Markers of what clients were told is refused. */
  readonly refused: readonly string[];
  /** What the mail server took. */
  readonly mails: readonly SinkMail[];
  /** What the webhook receiver took. */
  readonly posts: readonly ReceivedPost[];
  readonly disturbances: readonly Disturbance[];
  /** The whole log, in order. */
  readonly events: readonly RecordedEvent[];
  /** The vault's contents by id. */
  readonly contents: ReadonlyMap<string, StoredHead>;
  /** The log's DKIM keys. */
  readonly keys: readonly DkimKeyFound[];
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

/** Of looks at domains, which come in their own time; nothing else is written at rest. */
const GATHERINGS_MAX = 3;
/** By then read models have what was written meanwhile. */
const GATHER_AGAIN_MS = 2000;

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
 * What was written to the log meanwhile would be in the read models made anew, and not in those read before.
 * @param observer of a world that is at rest.
 */
export const readEvidence = async (world: World, observer: Observer): Promise<Evidence> => {
  for (let left = GATHERINGS_MAX; ; left -= 1) {
    const evidence = await readOnce(world, observer);
    const isWhole = (await observer.store.head()) === evidence.events.at(-1)?.position;
    if (isWhole || left <= 1) return evidence;
    await sleep(GATHER_AGAIN_MS);
  }
};
