import type { System } from '../../domain/ports/system.ts';
import type { PreparedPost } from './post-webhook.ts';

/** What is claimed for each endpoint, so many at a time: an endpoint that is slow only delays itself. */
export interface Lanes {
  /** @returns false: nothing new is begun. */
  add(post: PreparedPost): boolean;
  /** How many more may be claimed for this endpoint. */
  room(webhookId: string): number;
  /** It took the last post that it answered. */
  isTaking(webhookId: string): boolean;
  /** Begins nothing new, waits for what is in flight up to `limitMs`, and returns the ids of what was not begun. */
  windDown(limitMs: number): Promise<readonly string[]>;
}

export interface LanesOptions {
  readonly system: System;
  /** One try; ends when the other side has answered. Never fails. */
  run(post: PreparedPost): Promise<Ran>;
  /** The endpoint could do with more. */
  onHungry(webhookId: string): void;
  /** How long after it was added a post may still begin. */
  readonly startWithinMs: number;
}

export interface Ran {
  readonly taken: boolean;
  /** Resolves once it is recorded, or given up on: the endpoint's next post does not wait for that. */
  readonly recorded: Promise<void>;
}

interface Waiting {
  readonly post: PreparedPost;
  readonly addedMs: number;
}

interface Lane {
  readonly waiting: Waiting[];
  inFlight: number;
  unrecorded: number;
  /** What came of its last post; `untried`: there was none yet. */
  standing: 'untried' | 'taking' | 'failing';
}

/** At one endpoint at a time. More is a flood to a small receiver, fewer waits for round trips to a distant one. */
const IN_FLIGHT_MAX = 8;
/** Claimed for one endpoint: more wait out their lease behind a slow receiver, fewer cost a claim each. */
const CLAIMED_MAX = 128;
/** Waiting posts below which more are claimed, so that a quick receiver never waits for a claim. */
const REFILL_BELOW = 64;
/**
 * For an endpoint that is not known to take anything: it may hold a socket and a claim for the whole time-out. More lets
 * hundreds of dead endpoints crowd out the others, fewer wait longer for the first answer of a distant one.
 */
const CLAIMED_MAX_UNTRIED = 4;
/** A failing endpoint is claimed for at polls only: a post each until one is taken, however much is owed. */
const CLAIMED_MAX_FAILING = 1;

const CLAIMED_MAX_BY_STANDING: Readonly<Record<Lane['standing'], number>> = {
  untried: CLAIMED_MAX_UNTRIED,
  taking: CLAIMED_MAX,
  failing: CLAIMED_MAX_FAILING,
};

export const createLanes = ({ system, run, onHungry, startWithinMs }: LanesOptions): Lanes => {
  const lanes = new Map<string, Lane>();
  const inFlight = new Set<Promise<void>>();
  let stopped = false;

  const laneOf = (webhookId: string): Lane => {
    const lane = lanes.get(webhookId) ?? { waiting: [], inFlight: 0, unrecorded: 0, standing: 'untried' };
    lanes.set(webhookId, lane);
    return lane;
  };

  const start = async (lane: Lane, post: PreparedPost): Promise<void> => {
    lane.inFlight += 1;
    const { taken, recorded } = await run(post);
    lane.standing = taken ? 'taking' : 'failing';
    lane.inFlight -= 1;
    lane.unrecorded += 1;
    pump(lane);
    await recorded;
    lane.unrecorded -= 1;
    if (lane.waiting.length < REFILL_BELOW && lane.standing === 'taking') onHungry(post.delivery.webhookId);
  };

  /** What waited too long is left to its lease: somebody else may have it soon. */
  const next = (lane: Lane): PreparedPost | undefined => {
    const oldest = system.monotonicMs() - startWithinMs;
    for (;;) {
      const waiting = lane.waiting.shift();
      if (waiting === undefined || waiting.addedMs >= oldest) return waiting?.post;
    }
  };

  const pump = (lane: Lane): void => {
    while (!stopped && lane.inFlight < IN_FLIGHT_MAX) {
      const post = next(lane);
      if (post === undefined) return;
      const running = start(lane, post);
      inFlight.add(running);
      void running.finally(() => inFlight.delete(running));
    }
  };

  return {
    add: (post) => {
      if (stopped) return false;
      const lane = laneOf(post.delivery.webhookId);
      lane.waiting.push({ post, addedMs: system.monotonicMs() });
      pump(lane);
      return true;
    },

    room: (webhookId) => {
      const { waiting, inFlight: posting, unrecorded, standing } = laneOf(webhookId);
      return Math.max(0, CLAIMED_MAX_BY_STANDING[standing] - waiting.length - posting - unrecorded);
    },

    isTaking: (webhookId) => lanes.get(webhookId)?.standing === 'taking',

    windDown: async (limitMs) => {
      stopped = true;
      const over = new AbortController();
      const limit = system.sleep(limitMs, over.signal).catch(() => undefined);
      await Promise.race([Promise.all(inFlight), limit]);
      over.abort();
      return [...lanes.values()].flatMap(({ waiting }) => waiting.map(({ post }) => post.delivery.id));
    },
  };
};
