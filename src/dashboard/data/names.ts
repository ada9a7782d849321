import type { List } from '../../http/fields.ts';
import type { SerializedApiKey } from '../../http/resources/api-keys/api-keys.ts';
import { useMay } from './access.ts';
import { request } from './api.ts';
import { environmentOfOrganization, session } from './credentials.ts';
import { currentEnvironment } from './location.ts';
import { useRead, useResource } from './queries.ts';
import { useStore } from './store.ts';

/** Display names of ids. Without permission to list them, ids are shown. */

/**
 * Members of the organization; empty without the `admin` permission. They are always read from the live environment, to
 * which members have access from both.
 *
 * @param everyMs refresh interval.
 */
export const useMembers = (everyMs?: number): readonly NamedResource[] => {
  const path = '/v1/members';
  const environment = environmentOfOrganization(currentEnvironment());
  const enabled = useMay('GET /v1/members');
  const { data } = useRead([path], (signal) => request<List<NamedResource>>(path, { signal, environment }), {
    enabled,
    ...(everyMs !== undefined && { everyMs }),
  });
  return enabled ? (data?.data ?? []) : [];
};

/** API key names by id. */
export const useKeyNames = (): ReadonlyMap<string, string> => {
  const { data } = useResource<List<SerializedApiKey>>({
    path: '/v1/api-keys',
    query: { limit: 100 },
    enabled: useMay('GET /v1/api-keys'),
  });
  return new Map((data?.data ?? []).map(({ id, name }) => [id, name]));
};

/** Names of senders by id: API keys, and members who send manually. */
export const useSenderNames = (): ReadonlyMap<string, string> => {
  const names = useKeyNames();
  const own = useStore(session)?.member;
  const members = [...(own ? [own] : []), ...useMembers()];
  return new Map([...names, ...members.map(({ id, name }): [string, string] => [id, name])]);
};

export const isMemberId = (id: string): boolean => id.startsWith('mbr_');

const SHOWN_CHARACTERS = 10;

/** Shortens an id that has no name, to fit a cell. `service`, which sends notices, is whole. */
export const shortId = (id: string): string =>
  id.length > SHOWN_CHARACTERS ? `${id.slice(0, SHOWN_CHARACTERS)}…` : id;

/** Display name of the actor. @param names names of keys and members by id. */
export const actorName = (
  { type, id }: { readonly type: string; readonly id: string | null },
  names: ReadonlyMap<string, string>,
): string => {
  if (id === null) return `the ${type}`;
  const name = names.get(id);
  if (name !== undefined) return name;
  return type === 'key' ? shortId(id) : `${type} ${id}`;
};

export interface NamedResource {
  readonly id: string;
  readonly name: string;
}

export const useDomains = (): readonly NamedResource[] =>
  useResource<List<NamedResource>>({ path: '/v1/domains', query: { limit: 100 }, enabled: useMay('GET /v1/domains') })
    .data?.data ?? [];

export const useDomainNames = (): ReadonlyMap<string, string> =>
  new Map(useDomains().map(({ id, name }) => [id, name]));

/** Member names by id. */
export const useMemberNames = (): ReadonlyMap<string, string> =>
  new Map(useMembers().map(({ id, name }) => [id, name]));

/** An endpoint for titles: another may have the same host. */
export const endpointOf = (url: string): string => {
  const parsed = URL.parse(url);
  return parsed === null ? url : parsed.host + parsed.pathname.replace(/\/$/, '');
};

/** Short form of a URL. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);
