/** An inbound route decides what happens to received mail for some local parts of a domain. */
import { z } from 'zod';
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { DomainError } from '../kernel/errors.ts';
import type { EventsOf } from '../kernel/event.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { ReceivedRecipient } from '../ports/inbound.ts';

/**
 * `webhook`: the mail is stored and posted to webhooks. `store`: it is stored and appears in the event feed, but is
 * posted to no webhook. `forward`: it is stored and sent to another address, once that has confirmed. `refuse`: the
 * recipient is refused at SMTP and nothing is stored.
 */
export const ROUTE_ACTIONS = ['webhook', 'store', 'forward', 'refuse'] as const;

const rule = {
  /** A local part with at most one `*`. */
  match: z.string(),
  action: z.enum(ROUTE_ACTIONS),
  /** The only webhook that gets the mail; null: all that subscribe to it. */
  webhookId: z.string().nullable(),
  /** Routes of a domain are tried in ascending order. */
  order: z.int(),
  /** The address that mail is forwarded to. Absent: mail is not forwarded. */
  forwardTo: z
    .object({
      /** Vault id of the address. Each change has another one. */
      addressId: z.string(),
      /** Keyed digest of the address. */
      digest: z.string(),
    })
    .optional(),
};

export const inboundRouteEvents = {
  InboundRouteCreated: z.object({ routeId: z.string(), domainId: z.string(), ...rule }),
  InboundRouteChanged: z.object({ routeId: z.string(), ...rule }),
  InboundRouteDeleted: z.object({ routeId: z.string() }),
  /** The address agreed to get the mail of the route. */
  InboundForwardConfirmed: z.object({ routeId: z.string(), addressId: z.string() }),
};
export type InboundRouteEvent = EventsOf<typeof inboundRouteEvents>;

type CreateInboundRoute = Extract<InboundRouteEvent, { type: 'InboundRouteCreated' }>['data'];
/** The changeable part of a route. */
export type RouteRule = Omit<CreateInboundRoute, 'routeId' | 'domainId'>;

export interface ExistingInboundRoute extends CreateInboundRoute {
  readonly status: 'active' | 'deleted';
  readonly organizationId: string;
  readonly createdAt: string;
  /** Vault id of the address that has confirmed. Absent: none has. */
  readonly confirmedId?: string;
}

export type InboundRoute = { readonly status: 'absent' } | ExistingInboundRoute;

export const inboundRoute: Aggregate<InboundRoute, InboundRouteEvent> = {
  category: CATEGORIES.inboundRoute,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt }) => {
    if (event.type === 'InboundRouteCreated') {
      return { status: 'active', ...event.data, organizationId, createdAt: occurredAt };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'InboundRouteChanged':
        return { ...state, forwardTo: undefined, ...event.data };
      case 'InboundForwardConfirmed':
        return { ...state, confirmedId: event.data.addressId };
      case 'InboundRouteDeleted':
        return { ...state, status: 'deleted' };
      default:
        return event satisfies never;
    }
  },
};

/**
 * Returns the route if it belongs to the caller and was not deleted.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireInboundRoute = (state: InboundRoute, organizationId: string): ExistingInboundRoute => {
  const existing = requireOwn(state, organizationId, 'inbound route');
  if (existing.status === 'deleted') throw new DomainError('not_found', 'inbound route not found');
  return existing;
};

const invalid = (field: string, problem: string): DomainError =>
  new DomainError('invalid_request', problem, { details: { [field]: [problem] } });

/** @throws {DomainError} `invalid_request` if a webhook or address is named that would get nothing, or is missing. */
const requireConsistent = ({ action, webhookId, forwardTo }: RouteRule): void => {
  if (webhookId !== null && action !== 'webhook')
    throw invalid('webhook_id', 'webhook_id is allowed only with action webhook');
  if (forwardTo !== undefined && action !== 'forward')
    throw invalid('forward_to', 'forward_to is allowed only with action forward');
  if (forwardTo === undefined && action === 'forward')
    throw invalid('forward_to', 'forward_to is required with action forward');
};

/** Whether the address has agreed. */
export const isForwardConfirmed = ({ forwardTo, confirmedId }: ExistingInboundRoute): boolean =>
  forwardTo !== undefined && forwardTo.addressId === confirmedId;

/** @throws {DomainError} `invalid_request`, `resource_conflict`. */
export const createInboundRoute = (state: InboundRoute, command: CreateInboundRoute): readonly InboundRouteEvent[] => {
  if (state.status !== 'absent') throw new DomainError('resource_conflict', 'inbound route exists already');
  requireConsistent(command);
  return [{ type: 'InboundRouteCreated', data: command }];
};

/** New values; undefined: unchanged. */
export type RouteChanges = { readonly [Field in keyof RouteRule]: RouteRule[Field] | undefined };

const webhookAfter = (before: RouteRule, { action = before.action, webhookId }: RouteChanges): string | null => {
  if (webhookId !== undefined) return webhookId;
  return action === 'webhook' ? before.webhookId : null;
};

const forwardAfter = (before: RouteRule, { action = before.action, forwardTo }: RouteChanges): RouteRule['forwardTo'] =>
  forwardTo ?? (action === 'forward' ? before.forwardTo : undefined);

/**
 * A change to another action drops the webhook and the address of the action before, unless the change names one.
 * @throws {DomainError} `invalid_request`, `not_found`, `other_organization`.
 */
export const changeInboundRoute = (
  state: InboundRoute,
  { organizationId, changes }: { readonly organizationId: string; readonly changes: RouteChanges },
): readonly InboundRouteEvent[] => {
  const { routeId, ...before } = requireInboundRoute(state, organizationId);
  const after: RouteRule = {
    match: changes.match ?? before.match,
    action: changes.action ?? before.action,
    webhookId: webhookAfter(before, changes),
    order: changes.order ?? before.order,
  };
  const forwardTo = forwardAfter(before, changes);
  const whole = forwardTo === undefined ? after : { ...after, forwardTo };
  requireConsistent(whole);
  const names = ['match', 'action', 'webhookId', 'order'] as const;
  const isSame =
    names.every((name) => after[name] === before[name]) && forwardTo?.addressId === before.forwardTo?.addressId;
  return isSame ? [] : [{ type: 'InboundRouteChanged', data: { routeId, ...whole } }];
};

/**
 * Records that the address has agreed. Repeating it changes nothing.
 * @throws {DomainError} `not_found`: the route was deleted, or forwards to another address by now.
 */
export const confirmForward = (state: InboundRoute, addressId: string): readonly InboundRouteEvent[] => {
  if (state.status !== 'active' || state.forwardTo?.addressId !== addressId)
    throw new DomainError('not_found', 'the route no longer forwards mail to this address');
  const { routeId } = state;
  return isForwardConfirmed(state) ? [] : [{ type: 'InboundForwardConfirmed', data: { routeId, addressId } }];
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const deleteInboundRoute = (state: InboundRoute, organizationId: string): readonly InboundRouteEvent[] => [
  { type: 'InboundRouteDeleted', data: { routeId: requireInboundRoute(state, organizationId).routeId } },
];

/** Part of an address that routes match. */
export const localPartOf = (address: string): string => address.slice(0, address.lastIndexOf('@'));

/** Returns the facts of a route that the log records. @param route null: no route matches. */
export const takingRoute = (route: ExistingInboundRoute | null): ReceivedRecipient['route'] | 'refused' => {
  if (route === null) return null;
  const { routeId, action, webhookId } = route;
  return action === 'refuse' ? 'refused' : { routeId, action, webhookId };
};

const comparable = (text: string): string => text.normalize('NFC').toLowerCase();

const isRouted = ({ match }: ExistingInboundRoute, localPart: string): boolean => {
  const [start = '', end] = comparable(match).split('*');
  if (end === undefined) return localPart === start;
  return localPart.length >= start.length + end.length && localPart.startsWith(start) && localPart.endsWith(end);
};

/** Routes are tried by `order`, then by time of creation. */
const byOrder = (a: ExistingInboundRoute, b: ExistingInboundRoute): number => {
  if (a.order !== b.order) return a.order - b.order;
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  return a.routeId < b.routeId ? -1 : 1;
};

/** Finds the first route of a domain that matches, in any letter case. @returns null if none does. */
export const routeFor = (routes: readonly ExistingInboundRoute[], localPart: string): ExistingInboundRoute | null => {
  const text = comparable(localPart);
  return routes.filter((route) => isRouted(route, text)).sort(byOrder)[0] ?? null;
};
