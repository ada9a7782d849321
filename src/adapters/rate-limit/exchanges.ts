import type { Logger } from '../../domain/logger.ts';
import type { System } from '../../domain/system.ts';
import { createAgenda, type Item } from './agenda.ts';
import type { Buckets } from './buckets.ts';
import type { ExchangeStatements, Standing } from './exchange-statement.ts';
import { accept, type Facts, giveWay, isDue, type Slice } from './slice.ts';

/** An exchange under way for so many patiences is an outage. Fewer takes a busy machine for one, and sums may be too much. */
const OUTAGE_PATIENCES = 5;

/**
 * How often a process shows that it lives, gives back what it does not use and hears what others lack, whose requests
 * are refused meanwhile. More often is load on an idle database.
 */
const HEARTBEAT_MS = 500;

const LOST = 'rate limits: PostgreSQL does not answer, each process counts by itself';
const LATE = 'rate limits: PostgreSQL answers late, keys unknown to this process are counted by itself';
const BACK = 'rate limits: PostgreSQL answers again and counts for all';

export interface ExchangesOptions {
  readonly statements: ExchangeStatements;
  readonly buckets: Buckets<Slice>;
  readonly system: System;
  readonly logger: Logger;
  readonly windowMs: number;
  /** How long after its last exchange a process may take from its shares. */
  readonly leaseMs: number;
  /** How long a request waits for a share. */
  readonly patienceMs: number;
}

export interface Exchanges {
  /** There is no other process, and everything may be taken from. */
  isAlone(): boolean;
  /** Another process still takes from everything. */
  isBlocked(): boolean;
  /** Shares are granted, and soon: it is worth waiting for one. */
  isGranting(): boolean;
  /** Shares cannot be had for now: the database does not answer, or another process still takes from everything. */
  isAway(nowMs: number): boolean;
  /** The last exchange is so long ago that others may have been given what this process had. */
  isLapsed(nowMs: number): boolean;
  factsAt(nowMs: number): Facts;
  /** Has the bucket in the next exchange. */
  note(bucket: string): void;
  /** Resolves with the next exchange, or when the patience ends. */
  ask(bucket: string, slice: Slice): Promise<void>;
  /** Gives back what a bucket had that is remembered no more. */
  drop(bucket: string, slice: Slice): void;
  /** Exchanges now. */
  exchange(): Promise<void>;
  close(): Promise<void>;
}

/** Keeps this process' shares in step with the database: one statement at a time, for all buckets together. */
export const createExchanges = (options: ExchangesOptions): Exchanges => {
  const { statements, buckets, system, logger, windowMs, leaseMs, patienceMs } = options;
  const agenda = createAgenda(buckets);
  const closing = new AbortController();
  let standing: Omit<Standing, 'grants' | 'wanted'> = { known: true, alone: false, blocked: false, members: 1 };
  let trustedUntilMs = Number.NEGATIVE_INFINITY;
  let isAnswering = false;
  /** Somebody waited for the exchange under way for as long as may be: nobody else does. */
  let isLate = false;
  let sentMs = Number.POSITIVE_INFINITY;
  let isLossSaid = false;
  let number = 0;
  let running: Promise<void> | undefined;
  let isScheduled = false;
  /** What others lack is heard once a heartbeat: as often as they repeat it. */
  let isBeat = false;
  /** Whether the last exchange kept others from being granted anything. */
  let isClaiming = false;

  const factsAt = (nowMs: number): Facts => ({ nowMs, windowMs, members: standing.members });
  const factsNow = (): Facts => factsAt(Math.floor(system.monotonicMs()));

  /** A process that was alone keeps its even part; one that the database has forgotten, what it has taken. */
  const announceAll = (wasAlone: boolean): void => {
    const { members } = standing;
    const evenly = (used: number, { limit }: Slice): number => used + Math.max(0, Math.floor((limit - used) / members));
    agenda.announceAll(factsNow(), wasAlone ? evenly : (used) => used);
  };

  const changeStanding = (answer: Standing): void => {
    const wasAlone = standing.alone;
    standing = answer;
    if (!answer.alone && (wasAlone || (!answer.known && number > 1))) announceAll(wasAlone);
    if (answer.alone && !wasAlone) agenda.clear();
  };

  const hearOf = (name: string, lacking: number, facts: Facts): void => {
    const slice = buckets.get(name);
    if (slice === undefined) {
      agenda.drop(name, lacking);
      return;
    }
    giveWay(slice, lacking, facts);
    if (isDue(slice, facts)) agenda.note(name);
  };

  const acceptAll = (grants: Standing['grants'], items: readonly Item[]): void => {
    const facts = factsNow();
    for (const [index, grant] of grants.entries()) {
      const slice = items[index]?.slice;
      if (slice !== undefined) accept(slice, grant, facts);
    }
  };

  const hearAll = (wanted: Standing['wanted']): void => {
    if (!isBeat) return;
    isBeat = false;
    for (const [name, lacking] of wanted) hearOf(name, lacking, factsNow());
  };

  const settle = (answer: Standing, items: readonly Item[]): void => {
    agenda.arrived(items);
    changeStanding(answer);
    acceptAll(answer.grants, items);
    hearAll(answer.wanted);
    isAnswering = true;
    if (isLossSaid) logger.info({}, BACK);
    isLossSaid = false;
  };

  const fail = (fault: unknown, items: readonly Item[]): void => {
    isAnswering = false;
    agenda.failed(items);
    if (!isLossSaid && !closing.signal.aborted) logger.warn({ err: fault }, LOST);
    isLossSaid = true;
  };

  const send = async (items: readonly Item[]): Promise<void> => {
    sentMs = system.monotonicMs();
    isClaiming = standing.alone || agenda.hasUnannounced(items);
    const answer = await statements.exchange({
      number,
      claimsAll: isClaiming,
      offers: items.map(({ name, offer }) => [name, offer] as const),
    });
    if (answer === null) return;
    trustedUntilMs = sentMs + leaseMs;
    settle(answer, items);
  };

  const exchangeOnce = async (): Promise<void> => {
    const items = agenda.take(factsNow());
    number += 1;
    await send(items).catch((fault: unknown) => fail(fault, items));
    isLate = false;
    sentMs = Number.POSITIVE_INFINITY;
    for (const { waiting } of items) for (const resume of waiting) resume();
  };

  const hasMoreToSay = (): boolean =>
    isAnswering && !closing.signal.aborted && (!agenda.isEmpty() || (isClaiming && !standing.alone));

  const exchangeAll = async (): Promise<void> => {
    do await exchangeOnce();
    while (hasMoreToSay());
  };

  const exchange = (): Promise<void> => {
    running ??= exchangeAll().finally(() => {
      running = undefined;
      if (hasMoreToSay()) wake(); // noted since the loop ended
    });
    return running;
  };

  /** Not at once: what other requests of this turn of the loop ask for goes along. */
  const wake = (): void => {
    if (isScheduled || running !== undefined) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      if (!closing.signal.aborted) void exchange();
    });
  };

  const beatOnce = async (): Promise<void> => {
    await system.sleep(HEARTBEAT_MS, closing.signal);
    if (!standing.alone && isAnswering) agenda.lookThrough(factsNow());
    isBeat = true;
    await exchange();
  };
  const beat = async (): Promise<void> => {
    while (!closing.signal.aborted) await beatOnce().catch(() => undefined); // only its pause is ever cut short
  };
  const beating = beat();

  /** An answer that has come is seen before the clock is, even where this process was busy meanwhile. */
  const late = async (signal: AbortSignal): Promise<void> => {
    await system.sleep(patienceMs, signal);
    await new Promise((resume) => setImmediate(resume));
    if (signal.aborted) return;
    if (!isLate) logger.debug({}, LATE);
    isLate = true;
  };

  return {
    isAlone: () => standing.alone,
    isBlocked: () => standing.blocked,
    isGranting: () => isAnswering && !isLate && !standing.blocked,
    isAway: (nowMs) => !isAnswering || standing.blocked || nowMs - sentMs >= OUTAGE_PATIENCES * patienceMs,
    isLapsed: (nowMs) => nowMs >= trustedUntilMs,
    factsAt,
    note: (bucket) => {
      agenda.note(bucket);
      wake();
    },
    ask: async (bucket, slice) => {
      const settled = new AbortController();
      const answered = new Promise<void>((resume) => slice.waiting.push(resume));
      agenda.ask(bucket);
      wake();
      await Promise.race([answered, late(settled.signal).catch(() => undefined)]);
      settled.abort();
    },
    drop: (bucket, { share }) => {
      if (!standing.alone) agenda.drop(bucket, share);
    },
    exchange,
    close: async () => {
      closing.abort();
      await beating;
      await running;
      if (!isAnswering) return;
      if (!standing.alone) agenda.announceAll(factsNow(), (used) => used);
      while (isAnswering && !agenda.isEmpty()) await exchangeOnce();
      await statements.leave().catch(() => undefined);
    },
  };
};
