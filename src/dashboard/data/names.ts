import type { SerializedApiKey } from '../../http/schemas/api-key.ts';
import type { List } from '../../http/schemas/envelope.ts';
import type { SerializedSession } from '../../http/schemas/member.ts';
import { request } from './api.ts';
import { environmentOfOrganization, session } from './credentials.ts';
import { currentEnvironment } from './location.ts';
import { useRead, useResource } from './queries.ts';
import { useStore } from './store.ts';

/** Ids as people call them. Without permission to list them they stay ids. */

/** Whether what is managed may be listed. Asking in vain is a refusal, which is on record. */
export const useMayManage = (): boolean => {
  const permissions = useStore(session)?.permissions ?? ['manage'];
  return permissions.some((one) => one === 'manage' || one === 'admin');
};

/** What a member or key may do. Empty: it is not known yet. */
export const usePermissions = (): readonly string[] => {
  const member = useStore(session);
  const { data } = useResource<SerializedSession>({ path: '/v1/session', enabled: member === null });
  return (member ?? data)?.permissions ?? [];
};

/**
 * Members, where they may be listed: by `admin`, and of the live environment, which a member may ask for from both.
 *
 * @param everyMs reads them again this often.
 */
export const useMembers = (everyMs?: number): readonly Named[] => {
  const path = '/v1/members';
  const environment = environmentOfOrganization(currentEnvironment());
  const enabled = usePermissions().includes('admin') && environment === 'live';
  const { data } = useRead([path], (signal) => request<List<Named>>(path, { signal, environment }), {
    enabled,
    ...(everyMs !== undefined && { everyMs }),
  });
  return enabled ? (data?.data ?? []) : [];
};

/** Names of API keys by id. */
export const useKeyNames = (): ReadonlyMap<string, string> => {
  const { data } = useResource<List<SerializedApiKey>>({
    path: '/v1/api-keys',
    query: { limit: 100 },
    enabled: useMayManage(),
  });
  return new Map((data?.data ?? []).map(({ id, name }) => [id, name]));
};

/** Names of who sends mail, by id: keys, and members who do so by hand. */
export const useSenderNames = (): ReadonlyMap<string, string> => {
  const names = useKeyNames();
  const own = useStore(session)?.member;
  const members = [...(own ? [own] : []), ...useMembers()];
  return new Map([...names, ...members.map(({ id, name }): [string, string] => [id, name])]);
};

export const isMemberId = (id: string): boolean => id.startsWith('mbr_');

/** An id without a name, short enough for a cell. */
export const shortId = (id: string): string => `${id.slice(0, 10)}…`;

/** Who did something, for people. @param names of keys and members, by id. */
export const actorName = (
  { type, id }: { readonly type: string; readonly id: string | null },
  names: ReadonlyMap<string, string>,
): string => {
  if (id === null) return `the ${type}`;
  const name = names.get(id);
  if (name !== undefined) return name;
  return type === 'key' ? shortId(id) : `${type} ${id}`;
};

export interface Named {
  readonly id: string;
  readonly name: string;
}

export const useDomains = (): readonly Named[] =>
  useResource<List<Named>>({ path: '/v1/domains', query: { limit: 100 }, enabled: useMayManage() }).data?.data ?? [];

export const useDomainNames = (): ReadonlyMap<string, string> =>
  new Map(useDomains().map(({ id, name }) => [id, name]));

/** Names of members by id. */
export const useMemberNames = (): ReadonlyMap<string, string> =>
  new Map(useMembers().map(({ id, name }) => [id, name]));

/** What a URL is called in a title. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);
