import {
  changeInboundRoute as decideChangeInboundRoute,
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
  eventContext,
  execute,
  type LoadedStream,
  load,
  type Origin,
} from '../execute.ts';

type Context = Pick<CommandContext, 'store' | 'system'>;

export interface InboundRouteAtRevision {
  readonly route: ExistingInboundRoute;
  readonly revision: LoadedStream<InboundRoute>['revision'];
}

interface InboundRouteChange extends Change<InboundRoute> {
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

/** @throws {DomainError} `invalid_request`. */
export const createInboundRoute = async (
  context: Context,
  origin: Origin,
  command: RouteRule & { readonly domainId: string },
): Promise<InboundRouteAtRevision> => {
  const routeId = formatId('irt', context.system.randomBytes(ID_BYTES));
  const { state, revision } = await change(context, origin, {
    routeId,
    decide: (before) => decideCreateInboundRoute(before, { ...command, routeId }),
  });
  return { route: requireInboundRoute(state, origin.organizationId), revision };
};

/** @throws {DomainError} `invalid_request`, `not_found`, `other_organization`, `precondition_failed`, `resource_conflict`. */
export const changeInboundRoute = async (
  context: Context,
  origin: Origin,
  {
    routeId,
    changes,
    ...condition
  }: Change<InboundRoute> & { readonly routeId: string; readonly changes: RouteChanges },
): Promise<InboundRouteAtRevision> => {
  const { organizationId } = origin;
  const { state, revision } = await change(context, origin, {
    routeId,
    decide: (before) => decideChangeInboundRoute(before, { organizationId, changes }),
    ...condition,
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
