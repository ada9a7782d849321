/** An erasure removes everything stored about one address of an organization and keeps a record of the removal. */
import { z } from 'zod';
import type { Position } from '../../lib/event-log/event-log.ts';
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import type { EventsOf } from '../kernel/event.ts';
import { formatId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';

/** Grounds of GDPR Art. 17(1), in their order; `requested` if none was named. Free text could identify the person. */
export const ERASURE_REASONS = [
  'requested',
  'no_longer_needed',
  'consent_withdrawn',
  'objection',
  'unlawful',
  'legal_obligation',
] as const;

/** Number of removed items, by kind. */
const erasureCounts = z.object({
  messages: z.number().int(),
  replies: z.number().int(),
  links: z.number().int(),
  suppressionEvidence: z.number().int(),
  webhookTries: z.number().int(),
  capturedMail: z.number().int(),
  /** Contact addresses of the organization and its auditors. Absent: none. */
  contacts: z.number().int().optional(),
});
export type ErasureCounts = Readonly<z.infer<typeof erasureCounts>>;

export const ERASURE_COUNTS_NONE: ErasureCounts = {
  messages: 0,
  replies: 0,
  links: 0,
  suppressionEvidence: 0,
  webhookTries: 0,
  capturedMail: 0,
  contacts: 0,
};

export const erasureEvents = {
  /** The request. It does not contain the address: the digest finds everything that must be removed. */
  ErasureRequested: z.object({
    erasureId: z.string(),
    /** Keyed digest of the address, as in `MessageAccepted`. */
    digest: z.string(),
    reason: z.enum(ERASURE_REASONS),
    /** Whether the address is added to the suppression list, as a digest. */
    suppress: z.boolean(),
  }),
  /** Everything was removed. */
  PersonErased: z.object({ erasureId: z.string(), digest: z.string(), counts: erasureCounts }),
};
export type ErasureEvent = EventsOf<typeof erasureEvents>;

type ErasureRequest = Extract<ErasureEvent, { type: 'ErasureRequested' }>['data'];

export interface ExistingErasure extends ErasureRequest {
  readonly status: 'running' | 'completed';
  readonly organizationId: string;
  readonly createdAt: string;
  /** Null while it runs. */
  readonly certificate: {
    readonly counts: ErasureCounts;
    readonly completedAt: string;
    /** Position of the completion event; null if unknown, which only happens outside decisions. */
    readonly position: Position | null;
  } | null;
}

export type Erasure = { readonly status: 'absent' } | ExistingErasure;

/**
 * Derives the id from the digest, which is keyed by the organization's secret.
 * @param number 1 for the first erasure of the address.
 */
export const erasureId = (digest: string, number: number): string => formatId('ers', sha256(`${digest}\0${number}`));

export const erasure: Aggregate<Erasure, ErasureEvent> = {
  category: CATEGORIES.erasure,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt }, position = null) => {
    if (event.type === 'ErasureRequested') {
      return { status: 'running', ...event.data, organizationId, createdAt: occurredAt, certificate: null };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'PersonErased': {
        const certificate = { counts: event.data.counts, completedAt: occurredAt, position };
        return { ...state, status: 'completed', certificate };
      }
      default:
        return event satisfies never;
    }
  },
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const requireErasure = (state: Erasure, organizationId: string): ExistingErasure =>
  requireOwn(state, organizationId, 'erasure');

/** Requests an erasure. A request for an address that is already being erased has no effect. */
export const requestErasure = (state: Erasure, data: ErasureRequest): readonly ErasureEvent[] =>
  state.status === 'absent' ? [{ type: 'ErasureRequested', data }] : [];

/** Completes an erasure. Repeating it has no effect: the record states what the first run removed. */
export const completeErasure = (state: Erasure, counts: ErasureCounts): readonly ErasureEvent[] => {
  if (state.status !== 'running') return [];
  const { erasureId, digest } = state;
  return [{ type: 'PersonErased', data: { erasureId, digest, counts } }];
};
