import { z } from 'zod';
import { type LoadedStream, load } from '../../../commands/execute.ts';
import { organizationSecret } from '../../../commands/organization.ts';
import { addressDigest, removeSuppression } from '../../../commands/suppression.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { Revision } from '../../../domain/kernel/event-store.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { suppressionStream } from '../../../domain/kernel/streams.ts';
import {
  SUPPRESSION_REASONS,
  SUPPRESSION_SCOPES,
  type SuppressionReason,
  type SuppressionScope,
} from '../../../domain/suppression/events.ts';
import {
  type ExistingSuppression,
  isInForce,
  optIns,
  requireSuppression,
  type Suppression,
  type SuppressionEntry,
  strongestEntry,
  suppression,
  suppressionId,
} from '../../../domain/suppression/suppression.ts';
import type { ListPage } from '../../../lib/projections/projections.ts';
import type { ListAllSuppressions } from '../../../projections/suppressions.ts';
import { visibleDomainId } from '../../auth/permissions.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import {
  cursorFrom,
  ifMatch,
  listEndpoint,
  readYourWrites,
  resourceEndpoint,
  setRevision,
  statesOf,
} from '../../reading.ts';
import {
  addressField,
  serializeSuppression,
  serializeSuppressions,
  suppressionCheckSchema,
  suppressionSchema,
} from './add-suppressions.ts';

/** Loads a suppression of the caller's environment. @throws {DomainError} `not_found`, `other_organization`. */
const loadSuppression = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{
  readonly suppression: ExistingSuppression;
  readonly revision: Revision | 'no-stream';
  readonly known: LoadedStream<Suppression>;
}> => {
  if (!isId('sup', id)) throw new DomainError('not_found', 'suppression not found');
  const known = await load(context.store, suppression, suppressionStream(id));
  const existing = requireSuppression(known.state, caller);
  // The owner has subscribed to a topic, and nothing was ever said against the address.
  if (existing.entries.length === 0) throw new DomainError('not_found', 'suppression not found');
  return { suppression: existing, revision: known.revision, known };
};

/**
 * The sending domain whose entries alone the caller sees, once the list of its messages holds all that were accepted; null:
 * the caller sees all entries.
 * @throws {DomainError} `unavailable` when that list does not catch up.
 */
export const visibleDomain = async (
  deps: Pick<HttpDependencies, 'context' | 'readModels'>,
  caller: Caller,
): Promise<string | null> => {
  const domainId = visibleDomainId(caller);
  if (domainId !== null) await readYourWrites(deps, ['messages']);
  return domainId;
};

const isOf =
  (messages: ReadonlySet<string>) =>
  ({ source }: Pick<SuppressionEntry, 'source'>): boolean =>
    source !== null && messages.has(source.messageId);

/**
 * Suppressions with the entries that messages of a domain caused, as if there were no others: a key of one domain must not
 * read notes and message ids of another.
 * @param domainId from `visibleDomain`.
 */
export const visibleSuppressions = async (
  { readModels }: Pick<HttpDependencies, 'readModels'>,
  domainId: string | null,
  states: readonly ExistingSuppression[],
): Promise<readonly ExistingSuppression[]> => {
  const organizationId = states[0]?.organizationId;
  if (domainId === null || organizationId === undefined) return states;
  const causes = states.flatMap(({ entries, resubscriptions }) =>
    [...entries, ...resubscriptions].flatMap(({ source }) => (source === null ? [] : [source.messageId])),
  );
  const own = isOf(
    await readModels.suppressions.messagesOfDomain({ organizationId, domainId, messageIds: [...new Set(causes)] }),
  );
  return states.flatMap((state) => {
    const entries = state.entries.filter(own);
    const resubscriptions = state.resubscriptions.filter(own);
    const first = entries[0] ?? resubscriptions[0];
    if (first === undefined) return [];
    return [{ ...state, entries, resubscriptions, createdAt: 'at' in first ? first.at : first.addedAt }];
  });
};

/** Loads a suppression with what the caller may see of it. @throws {DomainError} `not_found`, `other_organization`. */
const loadVisible = async (deps: HttpDependencies, caller: Caller, id: string) => {
  const { suppression: loaded, revision } = await loadSuppression(deps, caller, id);
  const [visible] = await visibleSuppressions(deps, await visibleDomain(deps, caller), [loaded]);
  if (visible === undefined || visible.entries.length === 0)
    throw new DomainError('not_found', 'suppression not found');
  return { suppression: visible, revision };
};

/** Suppression id of the `address` filter; null if the request has no such filter. */
export const idOfAddress = async (
  { context: { secrets } }: Pick<HttpDependencies, 'context'>,
  { organizationId, environment }: Caller,
  address: string | undefined,
): Promise<string | null> =>
  address === undefined
    ? null
    : suppressionId(environment, addressDigest(await organizationSecret(secrets, organizationId), address));

const filters = {
  reason: z.enum(SUPPRESSION_REASONS).optional().describe('Only suppressions with an active entry of this reason.'),
  scope: z.enum(SUPPRESSION_SCOPES).optional().describe('Only suppressions with an active entry of this scope.'),
  address: addressField().optional().describe('Only this address.'),
};

interface AskThen extends ListAllSuppressions {
  /** From `visibleDomain`. */
  readonly domainId: string | null;
  readonly now: string;
  readonly reason: SuppressionReason | null;
  readonly scope: SuppressionScope | null;
}

/** Those in force at a moment. @param deps with the log up to then. */
const pageThen = async (
  { context, readModels }: Pick<HttpDependencies, 'context' | 'readModels'>,
  { domainId, now, reason, scope, ...by }: AskThen,
): Promise<ListPage<ExistingSuppression>> => {
  const page = await readModels.suppressions.listAll(by);
  const all = await statesOf(context, suppression, page.items.map(suppressionStream));
  const states = await visibleSuppressions({ readModels }, domainId, all);
  const isAskedFor = (entry: SuppressionEntry): boolean =>
    isInForce(entry, now) && (reason ?? entry.reason) === entry.reason && (scope ?? entry.scope) === entry.scope;
  return { ...page, items: states.filter(({ entries }) => entries.some(isAskedFor)) };
};

/** Said of every route that lists or shows suppressions. */
const OWN_DOMAIN = `A suppression applies to all domains of the organization, but a key with only \`send\` or \`read\` sees only
suppressions that messages of its own domain caused. For any other address, \`GET /v1/suppressions/check\` tells it
whether the address is suppressed.`;

const LIST_DESCRIPTION = `Returns the active suppressions in the key's environment, the latest addition first. With \`at\`, the newest suppression is first.
${OWN_DOMAIN}`;

export const listSuppressionsRoute = listEndpoint(
  'GET /v1/suppressions',
  {
    summary: 'List suppressions',
    description: LIST_DESCRIPTION,
    of: 'suppressions',
    isStrict: true,
    filters,
    takesAt: true,
    item: suppressionSchema,
  },
  async ({ address, reason = null, scope = null, limit, after, latest }, caller, { deps }) => {
    const { organizationId, environment } = caller;
    const suppressionId = await idOfAddress(deps, caller, address);
    const now = deps.context.system.now().toISOString();
    const by = { organizationId, environment, now, reason, scope, suppressionId, limit };
    const domainId = await visibleDomain(deps, caller);
    if (latest !== null) {
      const page = await pageThen(deps, { ...by, domainId, after: cursorFrom(after, latest) });
      return { ...page, items: await serializeSuppressions(deps.context.contents, page.items, now) };
    }
    const page = await deps.readModels.suppressions.list({ ...by, domainId, after });
    const items = await visibleSuppressions(deps, domainId, page.items);
    return { ...page, items: await serializeSuppressions(deps.context.contents, items, now) };
  },
);

const GET_DESCRIPTION = `Returns a suppression with all of its entries, also after it was removed. ${OWN_DOMAIN}`;

export const getSuppressionRoute = resourceEndpoint(
  'GET /v1/suppressions/:id',
  { summary: 'Get a suppression', description: GET_DESCRIPTION, answer: suppressionSchema },
  async ({ caller, id, reply }, route) => {
    const { contents, system } = route.deps.context;
    const { suppression, revision } = await loadVisible(route.deps, caller, id);
    setRevision(reply, revision);
    return serializeSuppression(contents, suppression, system.now().toISOString());
  },
);

const checkQuery = z.strictObject({ address: addressField().describe('Address to check.') });

export const checkSuppressionRoute = endpoint(
  'GET /v1/suppressions/check',
  {
    summary: 'Check an address',
    description: `Returns whether mail to this address would be suppressed now. Every key gets \`suppressed\`. ${OWN_DOMAIN}`,
    query: checkQuery,
    answer: suppressionCheckSchema,
  },
  async ({ caller, query: { address } }, { deps }) => {
    const { organizationId, environment } = caller;
    const { store, contents, secrets, system } = deps.context;
    const digest = addressDigest(await organizationSecret(secrets, organizationId), address);
    const { state } = await load(store, suppression, suppressionStream(suppressionId(environment, digest)));
    const now = system.now().toISOString();
    const isKeptBack = (stream: 'transactional' | 'bulk'): boolean =>
      strongestEntry(state, { stream, topicId: null }, now) !== null;
    const [visible] =
      state.status === 'absent' ? [] : await visibleSuppressions(deps, await visibleDomain(deps, caller), [state]);
    return {
      object: 'suppression_check',
      address,
      suppressed: { transactional: isKeptBack('transactional'), bulk: isKeptBack('bulk') },
      opted_in: visible === undefined ? [] : optIns(visible).map(({ topicId }) => topicId),
      suppression:
        visible === undefined || visible.entries.length === 0
          ? null
          : await serializeSuppression(contents, visible, now),
    };
  },
);

const DELETE_DESCRIPTION = `Removes the suppression, so that the address can receive mail again. It is suppressed again for the next reason, such
as a bounce, or when you add it. The evidence stays on record.`;

export const deleteSuppressionRoute = endpoint(
  'DELETE /v1/suppressions/:id',
  { summary: 'Remove a suppression', description: DELETE_DESCRIPTION },
  async ({ caller, origin, id, request }, { deps }) => {
    const { known } = await loadSuppression(deps, caller, id);
    const command = { suppressionId: id, environment: caller.environment, known, ...ifMatch(request) };
    await removeSuppression(deps.context, origin, command);
  },
);
