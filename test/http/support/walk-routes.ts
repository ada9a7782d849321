import type { Permission } from '../../../src/domain/api-key/events.ts';
import type { Details } from '../../../src/domain/domain-error.ts';
import type { Environment } from '../../../src/domain/environment.ts';
import type { ErrorCode } from '../../../src/domain/error-catalogue.ts';
import type { IdPrefix } from '../../../src/domain/ids.ts';
import type { GuardedRoute, RouteRule } from '../../../src/http/route-rules.ts';
import {
  type GuardedRouteName,
  isRouteName,
  methodAndUrl,
  ROUTES,
  type RouteName,
} from '../../../src/http/route-table.ts';

export interface WalkedRoute {
  readonly name: GuardedRouteName;
  readonly rule: GuardedRoute;
  readonly method: string;
  readonly url: string;
  /** What `:id` names; null: the path names nothing. */
  readonly kind: Kind | null;
}

/** Routes whose path names a resource, by the kind of it. */
type KindIn<Name> = Name extends `${string} /v1/${infer Segment}/:id${string}` ? Segment : never;
export type Kind = KindIn<RouteName>;

interface KindLaw {
  /** null: its ids are numbers, or UUIDs. */
  readonly prefix: IdPrefix | null;
  /** What refusals call it. */
  readonly noun: string;
  /** Whether keys of an environment see those of another. */
  sees(by: Environment, of: Environment): boolean;
  /** Whether keys with only `send` or `read` see those of their own domain alone. */
  readonly ofOneDomain: boolean;
  /** It never changes and has no ETag; another organization's is answered as what does not exist. */
  readonly isUnrevised?: true;
  /** It says what others became: it has no ETag. */
  readonly isReport?: true;
  /** Only live keys see any. */
  readonly isOnlyLive?: true;
}

const same = (by: Environment, of: Environment): boolean => by === of;

const PEOPLE = { isUnrevised: true, isOnlyLive: true } as const;

/** A kind of resource that a path of the table names and that is missing here does not compile. */
export const KINDS = {
  messages: { prefix: 'msg', noun: 'message', sees: same, ofOneDomain: true },
  'api-keys': {
    prefix: 'key',
    noun: 'API key',
    ofOneDomain: false,
    sees: (by, of) => by === 'live' || of === 'test',
  },
  domains: { prefix: 'dom', noun: 'domain', sees: () => true, ofOneDomain: false },
  templates: { prefix: 'tpl', noun: 'template', sees: () => true, ofOneDomain: false },
  suppressions: { prefix: 'sup', noun: 'suppression', sees: same, ofOneDomain: true },
  erasures: { prefix: 'ers', noun: 'erasure', sees: () => true, ofOneDomain: false },
  topics: { prefix: 'top', noun: 'topic', sees: () => true, ofOneDomain: false },
  webhooks: { prefix: 'whk', noun: 'webhook', sees: same, ofOneDomain: false },
  'billing/invoices': { prefix: 'inv', noun: 'invoice', sees: () => true, ofOneDomain: false },
  'audit/auditors': { prefix: 'aud', noun: 'auditor', sees: () => true, ofOneDomain: false, isOnlyLive: true },
  'audit/proof': {
    ...{ prefix: null, noun: 'event', sees: () => true, ofOneDomain: false },
    ...{ isUnrevised: true, isOnlyLive: true },
  },
  'audit/reports/api-keys': {
    ...{ prefix: 'key', noun: 'API key', sees: () => true, ofOneDomain: false },
    ...{ isReport: true, isOnlyLive: true },
  },
  'audit/reports/messages': {
    ...{ prefix: 'msg', noun: 'message', sees: () => true, ofOneDomain: false },
    ...{ isReport: true, isOnlyLive: true },
  },
  'audit/disclosures': {
    ...{ prefix: null, noun: 'event', sees: () => true, ofOneDomain: false },
    ...{ isUnrevised: true, isOnlyLive: true },
  },
  members: { ...{ prefix: 'mbr', noun: 'member', sees: () => true, ofOneDomain: false }, ...PEOPLE },
  sessions: { ...{ prefix: 'ses', noun: 'session', sees: () => true, ofOneDomain: false }, ...PEOPLE },
  requests: { prefix: null, noun: 'refused request', sees: same, ofOneDomain: true, isUnrevised: true },
  inbox: { prefix: null, noun: 'captured mail', sees: same, ofOneDomain: false, isUnrevised: true },
} as const satisfies Readonly<Record<Kind, KindLaw>>;

export const lawOf = (kind: Kind): KindLaw => KINDS[kind];
export const ALL_KINDS = Object.keys(KINDS) as readonly Kind[];

const isKind = (text: string | undefined): text is Kind => text !== undefined && Object.hasOwn(KINDS, text);

const isGuarded = (entry: readonly [RouteName, RouteRule]): entry is readonly [GuardedRouteName, GuardedRoute] =>
  entry[1].permission !== null;

const entries = Object.keys(ROUTES)
  .filter(isRouteName)
  .map((name): readonly [RouteName, RouteRule] => [name, ROUTES[name]]);

/** Every route of our API that needs a key. Those of other services' clients are walked by `test/http/compat`. */
const ours = entries.filter(isGuarded).filter(([, { compat }]) => compat === undefined);

export const GUARDED: readonly WalkedRoute[] = ours.map(([name, rule]) => {
  const { method, url } = methodAndUrl(name);
  const [, segment] = /^\/v1\/(.+?)\/:id/.exec(url) ?? [];
  return { name, rule, method, url, kind: isKind(segment) ? segment : null };
});

/** Every route that anybody may ask for. */
export const OPEN_ROUTES = entries.filter((entry) => !isGuarded(entry)).map(([name]) => name);

/** A key as far as the table is concerned. */
export interface Holder {
  readonly permission: Permission;
  readonly environment: Environment;
}

/** How a request is answered: by its status alone, or by a refusal and its very words. */
export interface Expected {
  readonly status: number;
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly details?: Details } | null;
}

export const UNAUTHORIZED: Expected = {
  status: 401,
  error: { code: 'unauthorized', message: 'invalid or missing API key' },
};

/** The same, and what a header lacks that holds no key at all. */
export const unauthorizedFor = (authorization: string | undefined): Expected => {
  if (/^Bearer \S+$/.test(authorization ?? '')) return UNAUTHORIZED;
  const problem = authorization === undefined ? 'is required' : 'is malformed';
  const details = { Authorization: [`Authorization ${problem}: send Authorization: Bearer <API key>`] };
  return { status: 401, error: { code: 'unauthorized', message: 'invalid or missing API key', details } };
};

export const missing = (kind: Kind): Expected => ({
  status: 404,
  error: { code: 'not_found', message: `${lawOf(kind).noun} not found` },
});

/** The answer about what is another organization's (spec §7). */
export const othersOf = (kind: Kind): Expected =>
  lawOf(kind).isUnrevised === true
    ? missing(kind)
    : {
        status: 403,
        error: { code: 'other_organization', message: `${lawOf(kind).noun} belongs to another organization` },
      };

/** What follows from the table alone for a request that is right in everything else. */
export const expectedOf = (
  { permission, environments, status, membersOnly }: GuardedRoute,
  holder: Holder,
): Expected => {
  if (membersOnly === true) {
    const message = 'members alone can do this: sign in to the dashboard';
    return { status: 403, error: { code: 'permission_missing', message } };
  }
  if (permission !== 'any' && holder.permission !== permission && holder.permission !== 'admin') {
    const message = `API key lacks '${permission}' permission`;
    return { status: 403, error: { code: 'permission_missing', message } };
  }
  if (!environments.includes(holder.environment)) {
    return {
      status: 403,
      error: { code: 'environment_not_allowed', message: 'a test key cannot do this: use a live key' },
    };
  }
  return { status, error: null };
};
