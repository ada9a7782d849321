import type { Aggregate } from '../kernel/aggregate.ts';
import type { ReputationEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { Measure } from './events.ts';

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
export interface Sender {
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
