import type { Aggregate } from '../aggregate.ts';
import type { ReputationEvent } from '../events.ts';
import { CATEGORIES } from '../streams.ts';
import type { Measure } from './events.ts';

/** Each limit that is reached raises the level by one. */
export const REPUTATION_LEVELS = ['good', 'warned', 'slowed', 'paused'] as const;
export type ReputationLevel = (typeof REPUTATION_LEVELS)[number];

/** Reputation of a sender of bulk mail: a domain, or an organization with all of its domains. */
export interface Reputation {
  readonly level: ReputationLevel;
  /** Why it is not good; null: it is. */
  readonly measure: Measure | null;
  /** Since when it is as it is; null: always. */
  readonly since: string | null;
  /** Outcomes from before are not counted; null: all are. */
  readonly releasedAt: string | null;
  /** Of an organization: since when somebody has paused its bulk mail, whatever its level is; null: nobody has. */
  readonly pausedSince: string | null;
}

export const GOOD_REPUTATION: Reputation = {
  level: 'good',
  measure: null,
  since: null,
  releasedAt: null,
  pausedSince: null,
};

/** Whether bulk mail waits: by its rates, or because somebody wants it to. */
export const isPaused = ({ level, pausedSince }: Pick<Reputation, 'level' | 'pausedSince'>): boolean =>
  level === 'paused' || pausedSince !== null;

/** Whether bulk mail is slowed or paused. */
export const holdsBack = (state: Pick<Reputation, 'level' | 'pausedSince'>): boolean =>
  state.level === 'slowed' || isPaused(state);

/** Whose live bulk mail it is about. */
export interface Sender {
  /** null: all of the organization's. */
  readonly domainId: string | null;
  readonly organizationId: string;
}

export const senderIdOf = ({ domainId, organizationId }: Sender): string => domainId ?? organizationId;

/** The same, of an event. */
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

/** Restores a good reputation. One that is good already is left as it is. */
export const releaseSending = (
  { level }: Reputation,
  { domainId, organizationId }: Sender,
): readonly ReputationEvent[] => {
  if (level === 'good') return [];
  return domainId === null
    ? [{ type: 'OrganizationSendingReleased', data: { organizationId } }]
    : [{ type: 'SendingReleased', data: { domainId } }];
};

/** Pauses all bulk mail of an organization, or resumes it. The same again is nothing. */
export const pauseBulkMail = (
  { pausedSince }: Reputation,
  { organizationId, paused }: Pick<Sender, 'organizationId'> & { readonly paused: boolean },
): readonly ReputationEvent[] =>
  paused === (pausedSince !== null)
    ? []
    : [{ type: paused ? 'BulkMailPaused' : 'BulkMailResumed', data: { organizationId } }];
