import { z } from 'zod';
import type { Aggregate } from '../kernel/aggregate.ts';
import type { EventsOf } from '../kernel/event.ts';
import { CATEGORIES } from '../kernel/streams.ts';

/**
 * `bounces`: share of nonexistent addresses among all recipients with a reply. `complaints`: share among those
 * delivered to.
 */
export const MEASURES = ['bounces', 'complaints'] as const;
export type Measure = (typeof MEASURES)[number];

/** The measure and the limit that it reached. */
const found = {
  measure: z.enum(MEASURES),
  count: z.number().int(),
  of: z.number().int(),
  limitPercent: z.number(),
};

const domain = { domainId: z.string() };
const organization = { organizationId: z.string() };

/**
 * Streams `reputation-<domainId>` and `reputation-<organizationId>`: the reputation of a sending domain, based on its
 * live bulk mail, and of an organization, based on all its domains.
 */
export const reputationEvents = {
  /** A warning without consequences. */
  SendingWarned: z.object({ ...domain, ...found }),
  /** Bulk mail is sent one message at a time. */
  SendingSlowed: z.object({ ...domain, ...found }),
  /** Bulk mail is held. */
  SendingPaused: z.object({ ...domain, ...found }),
  SendingRecovered: z.object(domain),
  /** Released by an authorized person. Counts restart. */
  SendingReleased: z.object(domain),

  /** The same levels for all domains of an organization together. */
  OrganizationSendingWarned: z.object({ ...organization, ...found }),
  OrganizationSendingSlowed: z.object({ ...organization, ...found }),
  OrganizationSendingPaused: z.object({ ...organization, ...found }),
  OrganizationSendingRecovered: z.object(organization),
  OrganizationSendingReleased: z.object(organization),

  /** All live bulk mail is held at the request of an authorized person, whatever the rates are. */
  BulkMailPaused: z.object(organization),
  BulkMailResumed: z.object(organization),
};
export type ReputationEvent = EventsOf<typeof reputationEvents>;

/** Each limit that is reached raises the level by one. */
export const REPUTATION_LEVELS = ['good', 'warned', 'slowed', 'paused'] as const;
export type ReputationLevel = (typeof REPUTATION_LEVELS)[number];

/** Reputation of a bulk sender: a domain, or an organization with all its domains. */
export interface Reputation {
  readonly level: ReputationLevel;
  /** Measure that caused the level; null if it is good. */
  readonly measure: Measure | null;
  /** Time of the last change; null if there was none. */
  readonly since: string | null;
  /** Outcomes before this time are not counted; null: all are counted. */
  readonly releasedAt: string | null;
  /**
   * For an organization: time since which its bulk mail has been paused on request, whatever its level; null if it is
   * not.
   */
  readonly pausedSince: string | null;
}

export const GOOD_REPUTATION: Reputation = {
  level: 'good',
  measure: null,
  since: null,
  releasedAt: null,
  pausedSince: null,
};

/** Whether bulk mail is held, because of its rates or on request. */
export const isPaused = ({ level, pausedSince }: Pick<Reputation, 'level' | 'pausedSince'>): boolean =>
  level === 'paused' || pausedSince !== null;

/** Whether bulk mail is slowed or paused. */
export const holdsBack = (state: Pick<Reputation, 'level' | 'pausedSince'>): boolean =>
  state.level === 'slowed' || isPaused(state);

/** The sender whose live bulk mail is evaluated. */
interface Sender {
  /** Null for all domains of the organization. */
  readonly domainId: string | null;
  readonly organizationId: string;
}

export const senderIdOf = ({ domainId, organizationId }: Sender): string => domainId ?? organizationId;

/** The sender id of an event. */
export const senderIdIn = ({ data }: ReputationEvent): string =>
  'domainId' in data ? data.domainId : data.organizationId;

/** A domain keeps its reputation when it is deleted and registered again. */
export const reputation: Aggregate<Reputation, ReputationEvent> = {
  category: CATEGORIES.reputation,
  initial: GOOD_REPUTATION,
  evolve: (state, { type, data }, { occurredAt: since }) => {
    switch (type) {
      case 'SendingWarned':
      case 'OrganizationSendingWarned':
        return { ...state, level: 'warned', measure: data.measure, since };
      case 'SendingSlowed':
      case 'OrganizationSendingSlowed':
        return { ...state, level: 'slowed', measure: data.measure, since };
      case 'SendingPaused':
      case 'OrganizationSendingPaused':
        return { ...state, level: 'paused', measure: data.measure, since };
      case 'SendingRecovered':
      case 'OrganizationSendingRecovered':
        return { ...state, level: 'good', measure: null, since };
      case 'SendingReleased':
      case 'OrganizationSendingReleased':
        return { ...state, level: 'good', measure: null, since, releasedAt: since };
      case 'BulkMailPaused':
        return { ...state, pausedSince: since };
      case 'BulkMailResumed':
        return { ...state, pausedSince: null };
      default:
        return type satisfies never;
    }
  },
};

/** Restores a good reputation. Emits nothing if it is good already. */
export const releaseSending = (
  { level }: Reputation,
  { domainId, organizationId }: Sender,
): readonly ReputationEvent[] => {
  if (level === 'good') return [];
  return domainId === null
    ? [{ type: 'OrganizationSendingReleased', data: { organizationId } }]
    : [{ type: 'SendingReleased', data: { domainId } }];
};

/** Pauses or resumes all bulk mail of an organization. The same state is no change. */
export const pauseBulkMail = (
  { pausedSince }: Reputation,
  { organizationId, paused }: Pick<Sender, 'organizationId'> & { readonly paused: boolean },
): readonly ReputationEvent[] =>
  paused === (pausedSince !== null)
    ? []
    : [{ type: paused ? 'BulkMailPaused' : 'BulkMailResumed', data: { organizationId } }];

/** Outcomes of a domain's live bulk mail over the last days, in recipients. */
export interface ReputationCounts {
  /** Only outcomes since the last release are counted (ISO 8601); null: it was never released. */
  readonly releasedAt: string | null;
  readonly delivered: number;
  /** Bounced because of the address. */
  readonly bounced: number;
  readonly complained: number;
}

export const NO_COUNTS: ReputationCounts = { releasedAt: null, delivered: 0, bounced: 0, complained: 0 };

const DAY_MS = 86_400_000;
/** Higher: penalizes a sender long after the cause is fixed. Lower: misses lists that are sent once a week. */
const DAYS = 7;

/** First day (UTC, `YYYY-MM-DD`) that is counted. */
export const countedFrom = (now: Date): string =>
  new Date(now.getTime() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** A count, its total, and the percentage. */
export interface Share {
  readonly count: number;
  readonly of: number;
  readonly percent: number;
}

const HUNDRED = 100;

const share = (count: number, of: number): Share => ({ count, of, percent: of > 0 ? (HUNDRED * count) / of : 0 });

export const sharesOf = ({ delivered, bounced, complained }: ReputationCounts): Readonly<Record<Measure, Share>> => ({
  bounces: share(bounced, delivered + bounced),
  complaints: share(complained, delivered),
});

/** Percentages at which a sender is warned, slowed and paused, in ascending order. */
export type Limits = readonly [warn: number, slow: number, pause: number];

/** Limits by measure; null if a measure is not evaluated. */
export type ReputationLimits = Readonly<Record<Measure, Limits | null>>;

const OFF = 'off';
const PERCENT = /^\d{1,3}(?:\.\d{1,6})?$/;

const isRising = ([warn, slow, pause]: Limits): boolean => warn > 0 && warn <= slow && slow <= pause && pause <= 100;

/** Parses `2,4,5` or `off`. @returns undefined if the text is neither. */
export const readLimits = (text: string): Limits | null | undefined => {
  if (text === OFF) return null;
  const parts = text.split(',').map((part) => part.trim());
  const [warn, slow, pause] = parts.map(Number);
  if (parts.length !== 3 || !parts.every((part) => PERCENT.test(part))) return undefined;
  if (warn === undefined || slow === undefined || pause === undefined) return undefined;
  const limits: Limits = [warn, slow, pause];
  return isRising(limits) ? limits : undefined;
};

export interface EvaluateReputation extends Sender {
  readonly counts: ReputationCounts;
  readonly limits: ReputationLimits;
}

/** Sample size. Lower: one recipient weighs too much. Higher: a small sender does harm unnoticed. */
const RECIPIENTS_MIN = 200;
/**
 * Minimum number of bounces or complaints. Lower: penalizes what happens to everyone. Higher: stops a small sender
 * late.
 */
const HAPPENINGS_MIN = 5;
/**
 * Hysteresis: a level ends when the rate is below this share of its limit. Closer to 1: a rate near the limit flaps.
 */
const RECOVERY = 0.8;

/**
 * Number of limits in effect: those that are reached, and earlier ones that the rate has not yet fallen far enough
 * below.
 */
const levelOf = ({ count, of, percent }: Share, limits: Limits | null, before: number): number => {
  if (limits === null) return 0;
  const counts = of >= RECIPIENTS_MIN && count >= HAPPENINGS_MIN;
  const reached = counts ? limits.filter((limit) => percent >= limit).length : 0;
  const kept = limits.filter((limit) => percent >= limit * RECOVERY).length;
  return Math.max(reached, Math.min(before, kept));
};

const REACHED = { 1: 'SendingWarned', 2: 'SendingSlowed', 3: 'SendingPaused' } as const;
type Level = keyof typeof REACHED;

/** The measure with the highest level. If both have the same level, the recorded one. */
const worstOf = (
  state: Reputation,
  shares: Readonly<Record<Measure, Share>>,
  limits: ReputationLimits,
): { readonly measure: Measure; readonly level: number } => {
  const before = REPUTATION_LEVELS.indexOf(state.level);
  const levels = MEASURES.map((measure) => ({
    measure,
    level: levelOf(shares[measure], limits[measure], state.measure === measure ? before : 0),
  }));
  const highest = Math.max(...levels.map(({ level }) => level));
  const worst = levels.filter(({ level }) => level === highest);
  return worst.find(({ measure }) => measure === state.measure) ?? worst[0] ?? { measure: 'bounces', level: 0 };
};

const recoveryEvent = ({ domainId, organizationId }: Sender): ReputationEvent =>
  domainId === null
    ? { type: 'OrganizationSendingRecovered', data: { organizationId } }
    : { type: 'SendingRecovered', data: { domainId } };

type ReachedLimit = Omit<Extract<ReputationEvent, { readonly type: 'SendingPaused' }>['data'], 'domainId'>;

const reached = ({ domainId, organizationId }: Sender, level: Level, found: ReachedLimit): ReputationEvent =>
  domainId === null
    ? { type: `Organization${REACHED[level]}`, data: { organizationId, ...found } }
    : { type: REACHED[level], data: { domainId, ...found } };

/** Decides the reputation that follows from the rates. Emits nothing if it is unchanged. */
export const evaluateReputation = (
  state: Reputation,
  { counts, limits, ...sender }: EvaluateReputation,
): readonly ReputationEvent[] => {
  // The counts were taken before the last release.
  if (counts.releasedAt !== state.releasedAt) return [];
  const shares = sharesOf(counts);
  const { measure, level } = worstOf(state, shares, limits);
  if (level === 0) return state.level === 'good' ? [] : [recoveryEvent(sender)];
  if (REPUTATION_LEVELS[level] === state.level && measure === state.measure) return [];
  const { count, of } = shares[measure];
  const limitPercent = limits[measure]?.[level - 1] ?? 0;
  return [reached(sender, level as Level, { measure, count, of, limitPercent })];
};
