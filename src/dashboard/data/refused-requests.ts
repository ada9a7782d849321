import { useMemo } from 'preact/hooks';
import type { SerializedRefusedRequest } from '../../http/schemas/refused-request.ts';
import type { Query } from './api.ts';
import { usePlace } from './location.ts';
import { shortId, useKeyNames, useMemberNames } from './names.ts';

/** Parses the query of the rejected requests screen from the URL. */

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** An absent parameter means the whole retention period. */
export const PERIODS = { '': 'Seven days', day: '24 hours', hour: 'One hour' } as const;
export type Period = keyof typeof PERIODS;
const HOURS = { '': null, day: 24, hour: 1 } as const satisfies Readonly<Record<Period, number | null>>;

export const periodOf = (query: URLSearchParams): Period => {
  const asked = query.get('period') ?? '';
  return Object.hasOwn(PERIODS, asked) ? (asked as Period) : '';
};

/** Filter parameters and their labels. */
export const FILTERS = { code: 'error', key_id: 'key', member_id: 'member', path: 'path', status: 'status' } as const;
export type Filter = keyof typeof FILTERS;

/** The query of the API. */
export const useRefusedQuery = (): Query => {
  const { query } = usePlace();
  const period = periodOf(query);
  const since = useMemo(() => {
    const hours = HOURS[period];
    if (hours === null) return null;
    return new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - hours * HOUR_MS).toISOString();
  }, [period]);
  const filters = (Object.keys(FILTERS) as Filter[]).map((name) => [name, query.get(name)] as const);
  return { ...Object.fromEntries(filters), since: query.get('since') ?? since, until: query.get('until') };
};

type Principal = Pick<SerializedRefusedRequest, 'key_id' | 'member_id' | 'auditor_id'>;

/** Names of the keys and members that may be listed, by id. */
export const usePrincipalNames = (): ReadonlyMap<string, string> => new Map([...useKeyNames(), ...useMemberNames()]);

export const principalIdOf = ({ key_id, member_id, auditor_id }: Principal): string =>
  key_id ?? member_id ?? auditor_id ?? '';

/** The sender of the request as a row shows it. */
export const principalOf = (principal: Principal, names: ReadonlyMap<string, string>): string => {
  const id = principalIdOf(principal);
  return names.get(id) ?? (id.startsWith('aud_') ? 'an auditor' : shortId(id));
};
