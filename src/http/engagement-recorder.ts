import { Counter, type Registry } from 'prom-client';
import type { CommandContext } from '../commands/execute.ts';
import { type RecordEngagement, recordEngagement } from '../commands/message/recipient.ts';
import { isFatal } from '../domain/kernel/codec.ts';
import type { Owner, TrackedRecipient } from '../domain/tracking/tracking.ts';
import { createShares, type Logger, mapConcurrently, type Place, withTimeout } from '../lib/async/async.ts';

/**
 * Records openings and clicks in the background, so that their requests are answered without waiting. What a recipient
 * does is buffered for a few seconds, to distinguish a filter that follows every link from a person, and then recorded.
 * Repeats within a minute are counted and recorded once at its end. The buffer is bounded, and each organization has a share
 * of it: if the log is down for long, engagements that do not fit are dropped and counted. A process that is killed loses
 * its buffer.
 */

type Engagement = RecordEngagement['engagements'][number];

export interface EngagementRecorder {
  /** @param engagement `count` 1. */
  note(copy: TrackedRecipient & Owner, engagement: Engagement): void;
  /** Records what was buffered, as far as the log takes it in time. */
  close(): Promise<void>;
}

export interface EngagementRecorderOptions {
  readonly context: Pick<CommandContext, 'store' | 'contents' | 'system'>;
  readonly logger: Logger;
  readonly registry?: Registry | undefined;
  /** Default: `ENGAGEMENT_TIMES`. */
  readonly times?: typeof ENGAGEMENT_TIMES;
}

const ENGAGEMENT_TIMES = {
  /** Filters follow all links within it. Longer delays events; a crash loses as much. */
  bufferMs: 5_000,
  /** Repeated requests within it are one event. */
  coalesceMs: 60_000,
  /** Interval at which due engagements are recorded. */
  tickMs: 500,
};

/** Some 500 bytes each, of which one organization fills half. Fewer lose what people do while the log is away. */
const KEPT_MAX = 40_000;
/** Their appends share commits. */
const CONCURRENCY = 16;
/** Longest time to flush when closing: the process has 10 s to end. */
const CLOSE_MS_MAX = 4_000;

/** An engagement with its place in the buffer. */
interface BufferedEngagement {
  readonly engagement: Engagement;
  readonly place: Place;
}

/** Buffered engagements of one recipient. */
interface BufferedCopy extends TrackedRecipient, Owner {
  dueMs: number;
  /** Keyed by the facts that make two engagements alike. */
  readonly engagements: Map<string, BufferedEngagement>;
}

const likeness = ({ click, machine, family, network }: Engagement): string =>
  `${click === null ? 'open' : click.link} ${machine} ${family} ${network}`;

const added = (before: Engagement | undefined, { count, ...engagement }: Engagement): Engagement => ({
  ...(before ?? engagement),
  count: (before?.count ?? 0) + count,
});

export const createEngagementRecorder = ({
  context,
  logger,
  registry,
  times: { bufferMs, coalesceMs, tickMs } = ENGAGEMENT_TIMES,
}: EngagementRecorderOptions): EngagementRecorder => {
  const { system } = context;
  const buffered = new Map<string, BufferedCopy>();
  /** Ends of the minutes after recorded engagements, by recipient and likeness, in order of time. */
  const recent = new Map<string, number>();
  /** Engagements in the buffer, by organization. Tokens that name none count together. */
  const places = createShares({ max: KEPT_MAX, shares: { organization: KEPT_MAX } });
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  let isAway = false;
  const lost = new Counter({
    name: 'outbox_engagements_lost_total',
    help: 'Openings and clicks that were not recorded',
    registers: registry === undefined ? [] : [registry],
  });

  const keyOf = ({ messageId, recipientId }: TrackedRecipient): string => `${messageId} ${recipientId}`;

  /** Time at which a like engagement may be recorded again; 0: now. */
  const againMs = (copy: TrackedRecipient, like: string): number => recent.get(`${keyOf(copy)} ${like}`) ?? 0;

  const entryOf = (copy: TrackedRecipient & Owner, dueMs: number): BufferedCopy => {
    const { messageId, recipientId, organizationId } = copy;
    const key = keyOf(copy);
    const found = buffered.get(key) ?? { messageId, recipientId, organizationId, dueMs, engagements: new Map() };
    buffered.set(key, found);
    return found;
  };

  const add = (copy: TrackedRecipient & Owner, engagement: Engagement, dueMs: number): void => {
    const like = likeness(engagement);
    const entry = entryOf(copy, dueMs);
    const before = entry.engagements.get(like);
    const place = before?.place ?? places.take({ organization: copy.organizationId ?? '' });
    if ('full' in place) {
      if (entry.engagements.size === 0) buffered.delete(keyOf(copy));
      lost.inc(engagement.count);
      return;
    }
    entry.dueMs = Math.min(entry.dueMs, dueMs);
    entry.engagements.set(like, { engagement: added(before?.engagement, engagement), place });
  };

  const noteRecent = (copy: BufferedCopy, nowMs: number): void => {
    for (const like of copy.engagements.keys()) {
      const key = `${keyOf(copy)} ${like}`;
      recent.delete(key);
      recent.set(key, nowMs + coalesceMs);
    }
    for (const [key, untilMs] of recent) {
      if (untilMs > nowMs && recent.size <= KEPT_MAX) break;
      recent.delete(key);
    }
  };

  /** Keeps an engagement that could not be recorded for another try, unless a retry cannot succeed. */
  const keepOrLose = (copy: BufferedCopy, error: unknown): void => {
    const { messageId } = copy;
    const isLost = isFatal(error);
    if (isLost || !isAway) logger.error({ error, messageId, isLost }, 'cannot record opens and clicks');
    isAway = true;
    const take = isLost
      ? ({ engagement }: BufferedEngagement) => lost.inc(engagement.count)
      : ({ engagement }: BufferedEngagement) => add(copy, engagement, system.monotonicMs() + bufferMs);
    copy.engagements.values().forEach(take);
  };

  const record = async (copy: BufferedCopy): Promise<void> => {
    try {
      await recordEngagement(context, {
        ...copy,
        engagements: [...copy.engagements.values().map(({ engagement }) => engagement)],
      });
      noteRecent(copy, system.monotonicMs());
      isAway = false;
    } catch (error) {
      keepOrLose(copy, error);
    }
  };

  /** Takes everything except repeats within their minute. Those stay, even if the recipient does something else. */
  const take = (copy: BufferedCopy, untilMs: number): BufferedCopy => {
    const all = [...copy.engagements];
    const staying = all.filter(([like]) => againMs(copy, like) > untilMs);
    buffered.delete(keyOf(copy));
    if (staying.length > 0) {
      const dueMs = Math.min(...staying.map(([like]) => againMs(copy, like)));
      buffered.set(keyOf(copy), { ...copy, dueMs, engagements: new Map(staying) });
    }
    const leaving = all.filter((each) => !staying.includes(each));
    for (const [, { place }] of leaving) place.release();
    return { ...copy, engagements: new Map(leaving) };
  };

  const flush = async (untilMs: number): Promise<void> => {
    const due = [...buffered.values()].filter(({ dueMs }) => dueMs <= untilMs).map((copy) => take(copy, untilMs));
    await mapConcurrently(due, { system, concurrency: CONCURRENCY }, record);
  };

  const schedule = (): void => {
    timer ??= setTimeout(() => {
      flushing = flush(system.monotonicMs()).finally(() => {
        timer = undefined;
        if (buffered.size > 0) schedule();
      });
    }, tickMs).unref();
  };

  return {
    note: (copy, engagement) => {
      const nowMs = system.monotonicMs();
      add(copy, engagement, Math.max(nowMs + bufferMs, againMs(copy, likeness(engagement))));
      schedule();
    },
    close: async () => {
      clearTimeout(timer);
      const all = flushing.then(() => flush(Number.POSITIVE_INFINITY));
      await withTimeout({ ms: CLOSE_MS_MAX }, all).catch(() => undefined);
      clearTimeout(timer);
    },
  };
};
