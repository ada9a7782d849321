/** An inbound message: one recipient's copy of a mail that was received for a domain. */
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import type { Environment } from '../kernel/environment.ts';
import type { InboundEvent } from '../kernel/events.ts';
import { formatId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import { evolveForward, type Forward, newForward } from './forward.ts';

export type ReceiveInbound = Extract<InboundEvent, { type: 'InboundReceived' }>['data'];

export interface ExistingInbound extends ReceiveInbound {
  readonly status: 'received';
  readonly organizationId: string;
  readonly environment: Environment | null;
  readonly createdAt: string;
  /** Absent: its route does not forward it. */
  readonly forward?: Forward;
}

export type Inbound = { readonly status: 'absent' } | ExistingInbound;

export const inbound: Aggregate<Inbound, InboundEvent> = {
  category: CATEGORIES.inbound,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, environment, occurredAt }) => {
    if (event.type === 'InboundReceived') {
      const received = {
        status: 'received',
        ...event.data,
        organizationId,
        environment,
        createdAt: occurredAt,
      } as const;
      return event.data.action === 'forward' ? { ...received, forward: newForward(occurredAt) } : received;
    }
    if (state.status === 'absent' || state.forward === undefined) return state;
    return { ...state, forward: evolveForward(state.forward, event) };
  },
};

/** Mail to any address of this domain is received where mail is captured, for the organization of the first start. */
export const INBOUND_TEST_DOMAIN = 'inbound.outbox.test';

/** Copies of mail a minute for one organization. Higher: a flood costs others the log. Lower: busy ones wait for their mail. */
export const INBOUND_MAX_DEFAULT = 6_000;
/** Mails a minute from one sender to one organization. Higher: one sender uses up the share of all. Lower: lists and alarms wait. */
export const INBOUND_SENDER_MAX_DEFAULT = 600;

/** Identifies a copy of a mail, so that a client which lost our answer and sends it again makes no second one. */
interface InboundIdentity {
  readonly organizationId: string;
  readonly environment: Environment;
  /** Canonical address. */
  readonly recipient: string;
  /** Return path; empty for a report. */
  readonly sender: string;
  /** Hash of the received bytes, hex. */
  readonly sha256: string;
}

/** The id does not begin with a time: the same mail must have the same id whenever it is sent again. */
export const inboundId = ({ organizationId, environment, recipient, sender, sha256: hash }: InboundIdentity): string =>
  formatId('inb', sha256([organizationId, environment, recipient, sender, hash].join('\0')));

/** Records the receipt. The same mail, sent again, changes nothing. */
export const receiveInbound = (state: Inbound, data: ReceiveInbound): readonly InboundEvent[] =>
  state.status === 'absent' ? [{ type: 'InboundReceived', data }] : [];

/** @throws {DomainError} `not_found`, `other_organization`. */
export const requireInbound = (state: Inbound, organizationId: string): ExistingInbound =>
  requireOwn(state, organizationId, 'inbound message');
