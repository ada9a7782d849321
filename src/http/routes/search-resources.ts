import type { Caller } from '../../domain/api-key/key-authority.ts';
import { type Environment, type IdPrefix, isId } from '../../domain/kernel/ids.ts';
import { type FoundKind, NAMED_KINDS, type Within } from '../../projections/search.ts';
import { holds } from '../auth/permissions.ts';
import type { RouteContext } from '../endpoint.ts';
import { type GuardedRouteName, ROUTES } from '../route-table.ts';
import type { SerializedSearchResult } from '../schemas/search.ts';
import { visibleDomain } from './suppressions/suppressions.ts';

/** Searches resources by id or by name. */

/** Results per kind, so that one kind does not crowd out the others. */
export const OF_KIND_MAX = 5;

export interface SearchContext {
  readonly route: RouteContext;
  readonly caller: Caller;
  readonly text: string;
  readonly within: Within;
}
export type SearchResults = Promise<readonly SerializedSearchResult[]>;

export const may = ({ caller }: SearchContext, name: GuardedRouteName): boolean => {
  const { permission, environments } = ROUTES[name];
  const named: readonly Environment[] = environments;
  return holds(caller.permissions, permission) && named.includes(caller.environment);
};

interface ResourceKind {
  readonly type: SerializedSearchResult['type'];
  readonly prefix: IdPrefix;
  /** Its list, and the route that reads one. */
  readonly path: string;
  readonly route: GuardedRouteName;
  /** Live keys see those of both environments. */
  readonly sharesEnvironments?: true;
}

const TEMPLATE = { type: 'template', prefix: 'tpl', path: '/v1/templates', route: 'GET /v1/templates/:id' } as const;

export const SHOWN: Readonly<Record<FoundKind, ResourceKind>> = {
  api_key: {
    type: 'api_key',
    prefix: 'key',
    path: '/v1/api-keys',
    route: 'GET /v1/api-keys/:id',
    sharesEnvironments: true,
  },
  domain: { type: 'domain', prefix: 'dom', path: '/v1/domains', route: 'GET /v1/domains/:id' },
  template: TEMPLATE,
  template_alias: TEMPLATE,
  webhook: { type: 'webhook', prefix: 'whk', path: '/v1/webhooks', route: 'GET /v1/webhooks/:id' },
  topic: { type: 'topic', prefix: 'top', path: '/v1/topics', route: 'GET /v1/topics/:id' },
  suppression: { type: 'suppression', prefix: 'sup', path: '/v1/suppressions', route: 'GET /v1/suppressions/:id' },
  erasure: { type: 'erasure', prefix: 'ers', path: '/v1/erasures', route: 'GET /v1/erasures/:id' },
};

const withinOf = ({ within, caller }: SearchContext, { sharesEnvironments }: ResourceKind): Within =>
  sharesEnvironments === true && caller.environment === 'live' ? { ...within, environments: ['live', 'test'] } : within;

export const found = ({ type, path }: ResourceKind, id: string, name: string | null): SerializedSearchResult => ({
  type,
  id,
  title: name ?? id,
  path: `${path}/${id}`,
});

/** A suppression that the caller may read. Keys that see their own domain only find what its messages caused. */
export const suppressionById = async (
  searching: SearchContext,
  id: string,
): Promise<readonly { readonly id: string }[]> => {
  const { caller, route, within } = searching;
  if (!may(searching, SHOWN.suppression.route)) return [];
  const { search, suppressions } = route.deps.readModels;
  const domainId = await visibleDomain(route.deps, caller);
  if (domainId === null) return search.byId('suppression', { ...within, id });
  const { organizationId, environment } = caller;
  const now = route.deps.context.system.now().toISOString();
  const by = { organizationId, environment, now, reason: null, scope: null, domainId, suppressionId: id };
  const { items } = await suppressions.list({ ...by, limit: 1, after: null });
  return items.map(({ suppressionId }) => ({ id: suppressionId }));
};

export const resourcesById = async (searching: SearchContext): SearchResults => {
  const { text, route } = searching;
  const kinds = Object.entries(SHOWN) as [FoundKind, ResourceKind][]; // the keys of that very object
  const [kind, shown] = kinds.find(([, { prefix }]) => isId(prefix, text)) ?? [];
  if (kind === undefined || shown === undefined || !may(searching, shown.route)) return [];
  if (kind === 'suppression') return (await suppressionById(searching, text)).map(({ id }) => found(shown, id, null));
  const rows = await route.deps.readModels.search.byId(kind, { ...withinOf(searching, shown), id: text });
  return rows.map(({ id, name }) => found(shown, id, name));
};

const SCHEME = /^https?:\/\//i;

export const resourcesByName = async (searching: SearchContext): SearchResults => {
  const { text, route } = searching;
  const kinds = NAMED_KINDS.filter((kind) => may(searching, SHOWN[kind].route));
  const hits = await Promise.all(
    kinds.map(async (kind) => {
      const name = kind === 'webhook' ? text.replace(SCHEME, '') : text;
      if (name === '') return [];
      const by = { ...withinOf(searching, SHOWN[kind]), name, limit: OF_KIND_MAX };
      const rows = await route.deps.readModels.search.byName(kind, by);
      return rows.map(({ id, name: title }) => found(SHOWN[kind], id, title));
    }),
  );
  return hits.flat();
};

export const memberById = async (searching: SearchContext): SearchResults => {
  const { text, caller, route } = searching;
  const known = isId('mbr', text) && may(searching, 'GET /v1/members/:id') && route.auth.keyCache.memberOf(text);
  if (!known || known.organizationId !== caller.organizationId) return [];
  return [{ type: 'member', id: text, title: known.member.role, path: `/v1/members/${text}` }];
};

export const deliveryById = async (searching: SearchContext): SearchResults => {
  const { text, within, route } = searching;
  if (!isId('dlv', text) || !may(searching, 'GET /v1/webhooks/:id/deliveries/:delivery')) return [];
  const webhookId = (await route.deps.webhookDeliveries.find({ ids: [text], limit: 1 }))[0]?.webhookId;
  if (webhookId === undefined) return [];
  const [webhook] = await route.deps.readModels.search.byId('webhook', { ...within, id: webhookId });
  if (webhook === undefined) return [];
  const path = `/v1/webhooks/${webhookId}/deliveries/${text}`;
  return [{ type: 'webhook_delivery', id: text, title: webhook.name ?? webhookId, path }];
};
