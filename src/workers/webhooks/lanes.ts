import type { System } from '../../domain/system.ts';
import type { PreparedPost } from './post-webhook.ts';

/** What is claimed for each endpoint, so many at a time: whoever is slow only holds up himself. */
export interface Lanes {
  add(post: PreparedPost): void;
  /** How many more may be claimed for this endpoint. */
  room(webhookId: string): number;
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
  /** Its last post failed: not much is claimed that others could take when it is well again. */
  failing: boolean;
}

/** At one endpoint at a time. More is a flood to a small receiver, fewer waits for round trips to a distant one. */
const IN_FLIGHT_MAX = 8;
/** Claimed for one endpoint: more wait out their lease behind a slow receiver, fewer cost a claim each. */
const CLAIMED_MAX = 128;
/** Waiting posts below which more are claimed, so that a quick receiver never waits for a claim. */
const REFILL_BELOW = 64;
const CLAIMED_MAX_FAILING = 4;

export const createLanes = ({ system, run, onHungry, startWithinMs }: LanesOptions): Lanes => {
  const lanes = new Map<string, Lane>();
  const inFlight = new Set<Promise<void>>();
  let stopped = false;

  const laneOf = (webhookId: string): Lane => {
    const lane = lanes.get(webhookId) ?? { waiting: [], inFlight: 0, unrecorded: 0, failing: false };
    lanes.set(webhookId, lane);
    return lane;
  };

  const start = async (lane: Lane, post: PreparedPost): Promise<void> => {
    lane.inFlight += 1;
    const { taken, recorded } = await run(post);
    lane.failing = !taken;
    lane.inFlight -= 1;
    lane.unrecorded += 1;
    pump(lane);
    await recorded;
    lane.unrecorded -= 1;
    if (lane.waiting.length < REFILL_BELOW && !lane.failing) onHungry(post.delivery.webhookId);
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
      const lane = laneOf(post.delivery.webhookId);
      lane.waiting.push({ post, addedMs: system.monotonicMs() });
      pump(lane);
    },

    room: (webhookId) => {
      const { waiting, inFlight: posting, unrecorded, failing } = laneOf(webhookId);
      return Math.max(0, (failing ? CLAIMED_MAX_FAILING : CLAIMED_MAX) - waiting.length - posting - unrecorded);
    },

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
