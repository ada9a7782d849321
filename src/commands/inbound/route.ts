import { isForwardToken, readForwardToken } from '../../domain/inbound/forward-link.ts';
import {
  changeInboundRoute as decideChangeInboundRoute,
  confirmForward as decideConfirmForward,
  createInboundRoute as decideCreateInboundRoute,
  deleteInboundRoute as decideDeleteInboundRoute,
  type ExistingInboundRoute,
  type InboundRoute,
  type InboundRouteEvent,
  inboundRoute,
  type RouteChanges,
  type RouteRule,
  requireInboundRoute,
} from '../../domain/inbound/route.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { formatId, ID_BYTES, isId } from '../../domain/kernel/ids.ts';
import { inboundRouteStream } from '../../domain/kernel/streams.ts';
import {
  type Change,
  type CommandContext,
  type Execution,
  eventContext,
  execute,
  type LoadedStream,
  load,
  type Origin,
} from '../execute.ts';
import { organizationSecret } from '../organization.ts';
import { addressDigest } from '../suppression.ts';

type Context = Pick<CommandContext, 'store' | 'system'>;
type WithVault = Context & Pick<CommandContext, 'secrets' | 'contents'>;
type StoredAddress = NonNullable<RouteRule['forwardTo']>;

/** An address that a route is to forward mail to. */
interface ForwardTo {
  readonly address: string;
  /** Mails the address a link, before the route names it. @throws {DomainError} the route is not stored. */
  askToConfirm(route: ExistingInboundRoute): Promise<void>;
}

export interface InboundRouteAtRevision {
  readonly route: ExistingInboundRoute;
  readonly revision: LoadedStream<InboundRoute>['revision'];
}

interface InboundRouteChange
  extends Change<InboundRoute>,
    Pick<Execution<InboundRoute, InboundRouteEvent>, 'contents' | 'beforeAppend'> {
  readonly routeId: string;
  decide(state: InboundRoute): readonly InboundRouteEvent[];
}

/** Routes belong to both environments. */
const change = (
  context: Context,
  origin: Origin,
  { routeId, ...how }: InboundRouteChange,
): Promise<LoadedStream<InboundRoute>> =>
  execute(context, {
    aggregate: inboundRoute,
    stream: inboundRouteStream(routeId),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    ...how,
  });

/** Addresses that routes forward to. Absent: erased, or the route has none. */
export const forwardAddresses = async (
  { contents }: Pick<CommandContext, 'contents'>,
  routes: readonly ExistingInboundRoute[],
): Promise<ReadonlyMap<string, string>> => {
  const named = routes.flatMap(({ routeId, forwardTo }) =>
    forwardTo === undefined ? [] : [[routeId, forwardTo.addressId] as const],
  );
  const heads = await contents.heads(named.map(([, addressId]) => addressId));
  return new Map(
    named.flatMap(([routeId, addressId]) => {
      const body = heads.get(addressId);
      return body?.kind === 'contact' && body.address !== null ? [[routeId, body.address] as const] : [];
    }),
  );
};

interface NewAddress extends Pick<Execution<InboundRoute, InboundRouteEvent>, 'contents' | 'beforeAppend'> {
  readonly stored?: StoredAddress;
}

/** Stores an address, and asks it to confirm. The address that the route has already is kept, with its confirmation. */
const storeAddress = async (
  context: WithVault,
  organizationId: string,
  route: { readonly routeId: string; readonly known?: InboundRoute | undefined },
  forward: ForwardTo | undefined,
): Promise<NewAddress> => {
  if (forward === undefined) return {};
  const { address, askToConfirm } = forward;
  const { routeId, known } = route;
  const digest = addressDigest(await organizationSecret(context.secrets, organizationId), address);
  if (known?.status === 'active' && known.forwardTo?.digest === digest) {
    const isErased = (await forwardAddresses(context, [known])).size === 0;
    if (!isErased) return { stored: known.forwardTo };
  }
  const addressId = context.system.uuid();
  return {
    stored: { addressId, digest },
    contents: [{ id: addressId, organizationId, body: { kind: 'contact', address, inboundRoute: routeId } }],
    beforeAppend: async (_, after) => {
      if (after.status === 'active') await askToConfirm(after);
      return true;
    },
  };
};

/** @throws {DomainError} `invalid_request`, and what keeps the address from being asked. */
export const createInboundRoute = async (
  context: WithVault,
  origin: Origin,
  {
    forward,
    ...command
  }: Omit<RouteRule, 'forwardTo'> & { readonly domainId: string; readonly forward?: ForwardTo | undefined },
): Promise<InboundRouteAtRevision> => {
  const routeId = formatId('irt', context.system.randomBytes(ID_BYTES));
  const { stored, ...address } = await storeAddress(context, origin.organizationId, { routeId }, forward);
  const whole = stored === undefined ? { ...command, routeId } : { ...command, routeId, forwardTo: stored };
  const { state, revision } = await change(context, origin, {
    routeId,
    decide: (before) => decideCreateInboundRoute(before, whole),
    ...address,
  });
  return { route: requireInboundRoute(state, origin.organizationId), revision };
};

/**
 * @throws {DomainError} `invalid_request`, `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`,
 *   and what keeps the address from being asked.
 */
export const changeInboundRoute = async (
  context: WithVault,
  origin: Origin,
  {
    routeId,
    changes,
    forward,
    ...condition
  }: Change<InboundRoute> & {
    readonly routeId: string;
    readonly changes: Omit<RouteChanges, 'forwardTo'>;
    readonly forward?: ForwardTo | undefined;
  },
): Promise<InboundRouteAtRevision> => {
  const { organizationId } = origin;
  const route = { routeId, known: condition.known?.state };
  const { stored, ...address } = await storeAddress(context, organizationId, route, forward);
  const { state, revision } = await change(context, origin, {
    routeId,
    decide: (before) =>
      decideChangeInboundRoute(before, { organizationId, changes: { ...changes, forwardTo: stored } }),
    ...condition,
    ...address,
  });
  return { route: requireInboundRoute(state, organizationId), revision };
};

/** @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`. */
export const deleteInboundRoute = async (
  context: Context,
  origin: Origin,
  { routeId, ...condition }: Change<InboundRoute> & { readonly routeId: string },
): Promise<void> => {
  await change(context, origin, {
    routeId,
    decide: (state) => decideDeleteInboundRoute(state, origin.organizationId),
    ...condition,
  });
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const loadInboundRoute = async (
  { store }: Pick<CommandContext, 'store'>,
  organizationId: string,
  routeId: string,
): Promise<InboundRouteAtRevision & { readonly known: LoadedStream<InboundRoute> }> => {
  if (!isId('irt', routeId)) throw new DomainError('not_found', 'inbound route not found');
  const known = await load(store, inboundRoute, inboundRouteStream(routeId));
  return { route: requireInboundRoute(known.state, organizationId), revision: known.revision, known };
};

/** A route, and the address that a link asks about. */
export interface ForwardQuestion {
  readonly known: LoadedStream<InboundRoute>;
  readonly route: ExistingInboundRoute;
  readonly addressId: string;
  readonly address: string;
}

const invalidLink = (): DomainError => new DomainError('not_found', 'the link is not valid');

/** @throws {DomainError} `not_found`: it is forged, has expired, or the route no longer forwards to the address. */
export const findForwardQuestion = async (
  context: Pick<CommandContext, 'store' | 'secrets' | 'contents' | 'system'>,
  text: string,
): Promise<ForwardQuestion> => {
  const token = readForwardToken(text);
  if (token === null) throw invalidLink();
  const { routeId, addressId } = token;
  const known = await load(context.store, inboundRoute, inboundRouteStream(routeId));
  if (known.state.status !== 'active') throw invalidLink();
  const route = known.state;
  const secret = await organizationSecret(context.secrets, route.organizationId);
  if (!isForwardToken(secret, token, context.system.now())) throw invalidLink();
  const address = (await forwardAddresses(context, [route])).get(routeId);
  if (address === undefined || route.forwardTo?.addressId !== addressId) throw invalidLink();
  return { known, route, addressId, address };
};

/** Records that the address has agreed. @throws {DomainError} `not_found`. */
export const confirmForward = async (
  context: Context,
  { known, route, addressId }: ForwardQuestion,
  origin: Origin,
): Promise<void> => {
  await change(context, origin, {
    routeId: route.routeId,
    decide: (state) => decideConfirmForward(state, addressId),
    known,
  });
};
