/** An erasure: everything stored about one address of an organization is removed, and a record of that stays. */
import { type Aggregate, requireOwn } from '../aggregate.ts';
import { sha256 } from '../digest.ts';
import type { ErasureEvent } from '../events.ts';
import { formatId } from '../ids.ts';
import type { Position } from '../ports/event-store.ts';
import { CATEGORIES } from '../streams.ts';
import type { ErasureCounts } from './events.ts';

type Requested = Extract<ErasureEvent, { type: 'ErasureRequested' }>['data'];

export interface ExistingErasure extends Requested {
  readonly status: 'running' | 'completed';
  readonly organizationId: string;
  readonly createdAt: string;
  /** null: it runs. */
  readonly certificate: {
    readonly counts: ErasureCounts;
    readonly completedAt: string;
    /** Of the record that it is done; null: not known, where nothing is decided. */
    readonly position: Position | null;
  } | null;
}

export type Erasure = { readonly status: 'absent' } | ExistingErasure;

/** The digest is keyed by the organization's secret. @param number 1 for the first erasure of the address. */
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

/** A request for an address that is being erased changes nothing. */
export const requestErasure = (state: Erasure, data: Requested): readonly ErasureEvent[] =>
  state.status === 'absent' ? [{ type: 'ErasureRequested', data }] : [];

/** Repeating it changes nothing: the record says what the first time removed. */
export const completeErasure = (state: Erasure, counts: ErasureCounts): readonly ErasureEvent[] => {
  if (state.status !== 'running') return [];
  const { erasureId, digest } = state;
  return [{ type: 'PersonErased', data: { erasureId, digest, counts } }];
};
