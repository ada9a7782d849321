import { withTimeout } from '../../async/with-timeout.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type EventStore, LOG_START, type Position, StoreUnavailable } from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';
import { createRegister, type FreshRegister, REGISTER_CATEGORIES } from '../../domain/register.ts';
import { createKeyRegister, type KeyRegister, type ShownSecret } from './key-register.ts';
import { createRegisterFacts, type RegisterFacts } from './register-facts.ts';

export interface KeyDirectoryOptions {
  /** The log, on a connection of its own where the engine has such: other work must not delay this. */
  readonly store: Pick<EventStore, 'readAll' | 'head'>;
  readonly system: System;
  readonly logger: Logger;
  readonly capturing: boolean;
}

/** Keys in memory, fed by the log; every answer is at most `TRUSTED_MS` behind it. */
export interface KeyDirectory extends RegisterFacts {
  /** Begins to follow the log; resolves after the first read of all of it, or when that failed (it goes on trying). */
  start(): Promise<void>;
  /** Whether what is known may still be acted upon. */
  isFresh(): boolean;
  /** Applies all that was in the log when this was called. @returns whether it came about in time. */
  catchUp(): Promise<boolean>;
  /** The same by the next read that is due anyway, without causing one. */
  nextRead(): Promise<boolean>;
  /** By SHA-256 of the secret, hex. */
  find(secretHash: string): ShownSecret | undefined;
  /** The register behind all this, for decisions that must know everything there is. */
  readonly freshRegister: FreshRegister;
  /** How far the log has been seen. */
  position(): Position;
  close(): Promise<void>;
}

/** A key revoked elsewhere works no longer than this: the promise is one second. Shorter turns hiccups into 503. */
const TRUSTED_MS = 900;
/** Shorter asks the log more often for nothing; longer leaves fewer tries before trust ends. */
const TAIL_EVERY_MS = 250;
/** Between two of them, also where one took longer than that: shorter leaves a busy process nothing else. */
const TAIL_PAUSE_MS_MIN = 25;
/** A read of the tail that takes longer is ended; the next goes on where it got to. */
const TAIL_MS_MAX = 2_000;
/** How long it may take to end before it is given up. Shorter loses what it has found, longer delays the next. */
const TAIL_ENDS_MS_MAX = 500;
/** What a request waits for the log to be read: longer keeps clients hanging, shorter makes 503 of a busy moment. */
const CATCH_UP_MS_MAX = 700;
const PAGE_EVENTS = 1000;

interface Follower {
  readonly isFresh: () => boolean;
  readonly position: () => Position;
  readonly tail: (signal: AbortSignal) => Promise<void>;
}

/** Reads the tail of the log into the registers. */
const createFollower = ({ store, system }: KeyDirectoryOptions, secrets: KeyRegister): Follower => {
  let position: Position = LOG_START;
  let trustedSinceMs = Number.NEGATIVE_INFINITY;

  /** A read that was given up may still answer: only a page that follows upon what is known is applied. */
  const readPage = async (from: Position, to: Position, signal: AbortSignal): Promise<void> => {
    const filter = { categories: REGISTER_CATEGORIES };
    const page = await store.readAll({ from, to, filter, limit: PAGE_EVENTS, signal, folded: true });
    if (position !== from) return;
    for (const event of page.events) secrets.apply(event);
    position = page.position;
  };

  const tail: Follower['tail'] = async (signal) => {
    const begunMs = system.monotonicMs();
    const head = await store.head();
    while (position < head) {
      const from = position;
      await readPage(from, head, signal);
      if (signal.aborted) throw new StoreUnavailable('the log was not read in time');
      if (position === from) throw new StoreUnavailable('the log does not answer up to its own head');
    }
    trustedSinceMs = Math.max(trustedSinceMs, begunMs);
  };

  return { tail, position: () => position, isFresh: () => system.monotonicMs() - trustedSinceMs < TRUSTED_MS };
};

export const createKeyDirectory = (options: KeyDirectoryOptions): KeyDirectory => {
  const { system, logger, capturing } = options;
  const register = createRegister();
  const secrets = createKeyRegister(register);
  const follower = createFollower(options, secrets);
  const closing = new AbortController();
  let running: Promise<boolean> | null = null;
  let next: Promise<boolean> | null = null;
  let failing = false;
  let following: Promise<void> = Promise.resolve();
  let due = Promise.withResolvers<boolean>();

  /** @param work throws nothing. */
  const within = (work: Promise<boolean>, ms: number): Promise<boolean> =>
    withTimeout({ system, ms }, work).catch(() => false);

  const tail = async (signal: AbortSignal): Promise<boolean> => {
    try {
      await follower.tail(signal);
      if (failing) logger.info({}, 'the log can be read again: keys are checked');
      failing = false;
      return true;
    } catch (error) {
      if (!failing && !closing.signal.aborted)
        logger.error({ error }, 'the log cannot be read: requests are answered 503');
      failing = true;
      return false;
    }
  };

  /** A read that is late is told to end, and asks for nothing more: no two look through the same log. */
  const tailInTime = async (): Promise<boolean> => {
    const late = new AbortController();
    const reading = tail(AbortSignal.any([late.signal, closing.signal]));
    if (await within(reading, TAIL_MS_MAX)) return true;
    late.abort();
    return within(reading, TAIL_ENDS_MS_MAX);
  };

  const begin = (): Promise<boolean> => {
    running = tailInTime().finally(() => {
      running = null;
    });
    return running;
  };

  /** Joins the read that begins next: the one under way may have begun before what the caller looks for was written. */
  const refresh = (): Promise<boolean> => {
    if (running === null) return begin();
    next ??= running.then(() => {
      next = null;
      return running ?? begin();
    });
    return next;
  };

  const follow = async (): Promise<void> => {
    let begunMs = system.monotonicMs();
    while (!closing.signal.aborted) {
      const tookMs = system.monotonicMs() - begunMs;
      const pauseMs = Math.max(TAIL_PAUSE_MS_MIN, TAIL_EVERY_MS - tookMs);
      await system.sleep(pauseMs, closing.signal).catch(() => undefined);
      begunMs = system.monotonicMs();
      const read = closing.signal.aborted ? Promise.resolve(false) : refresh();
      due.resolve(read);
      due = Promise.withResolvers();
      await read;
    }
  };

  const catchUp = (): Promise<boolean> => within(refresh(), CATCH_UP_MS_MAX);

  return {
    ...createRegisterFacts(register, capturing),
    start: async () => {
      await within(refresh(), TAIL_MS_MAX);
      following = follow();
    },
    isFresh: follower.isFresh,
    catchUp,
    nextRead: () => within(due.promise, TAIL_EVERY_MS + CATCH_UP_MS_MAX),
    find: secrets.find,
    freshRegister: async () => {
      if (await catchUp()) return register;
      throw new DomainError('unavailable', 'API keys cannot be checked just now');
    },
    position: follower.position,
    close: async () => {
      closing.abort();
      await following;
    },
  };
};
