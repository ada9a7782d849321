/** An erasure removes everything stored about one address of an organization and keeps a record of the removal. */
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import type { Position } from '../kernel/event-store.ts';
import type { ErasureEvent } from '../kernel/events.ts';
import { formatId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { ErasureCounts } from './events.ts';

type Requested = Extract<ErasureEvent, { type: 'ErasureRequested' }>['data'];

export interface ExistingErasure extends Requested {
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
export const requestErasure = (state: Erasure, data: Requested): readonly ErasureEvent[] =>
  state.status === 'absent' ? [{ type: 'ErasureRequested', data }] : [];

/** Completes an erasure. Repeating it has no effect: the record states what the first run removed. */
export const completeErasure = (state: Erasure, counts: ErasureCounts): readonly ErasureEvent[] => {
  if (state.status !== 'running') return [];
  const { erasureId, digest } = state;
  return [{ type: 'PersonErased', data: { erasureId, digest, counts } }];
};
