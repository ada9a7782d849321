import type { Permission } from '../../../src/domain/api-key/events.ts';
import type { Environment } from '../../../src/domain/kernel/environment.ts';
import type { Details, ErrorCode } from '../../../src/domain/kernel/errors.ts';
import type { IdPrefix } from '../../../src/domain/kernel/ids.ts';
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
  /** Kind of the resource that `:id` names, or null if the path names none. */
  readonly kind: Kind | null;
}

/** Kinds of resources that appear in the paths of routes. */
type KindIn<Name> = Name extends `${string} /v1/${infer Segment}/:id${string}` ? Segment : never;
export type Kind = KindIn<RouteName>;

interface KindLaw {
  /** null: its ids are numbers or UUIDs. */
  readonly prefix: IdPrefix | null;
  /** Its name in error messages. */
  readonly noun: string;
  /** True if keys of environment `by` see resources of environment `of`. */
  sees(by: Environment, of: Environment): boolean;
  /** True if keys with only `send` or `read` see the resources of their own domain only. */
  readonly ofOneDomain: boolean;
  /** It never changes and has no ETag. Those of another organization are answered with 404. */
  readonly isUnrevised?: true;
  /** It reports on other resources and has no ETag. */
  readonly isReport?: true;
  /** It is shown with its contents, which retention removes, and has no ETag. */
  readonly isContent?: true;
  /** Only live keys see it. */
  readonly isOnlyLive?: true;
}

const same = (by: Environment, of: Environment): boolean => by === of;

const PEOPLE = { isUnrevised: true, isOnlyLive: true } as const;

/** A kind of resource that is in the route table but missing here is a compile error. */
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
  'inbound-routes': { prefix: 'irt', noun: 'inbound route', sees: () => true, ofOneDomain: false },
  inbound: { prefix: 'inb', noun: 'inbound message', sees: same, ofOneDomain: true, isContent: true },
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

/** Every route of our API that needs a key. `test/http/compat` walks the routes for clients of other services. */
const ours = entries.filter(isGuarded).filter(([, { compat }]) => compat === undefined);

export const GUARDED: readonly WalkedRoute[] = ours.map(([name, rule]) => {
  const { method, url } = methodAndUrl(name);
  const [, segment] = /^\/v1\/(.+?)\/:id/.exec(url) ?? [];
  return { name, rule, method, url, kind: isKind(segment) ? segment : null };
});

/** Every route that needs no authentication. */
export const OPEN_ROUTES = entries.filter((entry) => !isGuarded(entry)).map(([name]) => name);

/** The properties of a key that the table refers to. */
export interface Holder {
  readonly permission: Permission;
  readonly environment: Environment;
}

/** The expected response: a status, or an error with its exact message. */
export interface ExpectedAnswer {
  readonly status: number;
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly details?: Details } | null;
}

export const UNAUTHORIZED: ExpectedAnswer = {
  status: 401,
  error: { code: 'unauthorized', message: 'invalid or missing API key' },
};

/** The same, with the problem of a header that contains no key at all. */
export const unauthorizedFor = (authorization: string | undefined): ExpectedAnswer => {
  if (/^Bearer \S+$/.test(authorization ?? '')) return UNAUTHORIZED;
  const problem = authorization === undefined ? 'is required' : 'is malformed';
  const details = { Authorization: [`Authorization ${problem}: send Authorization: Bearer <API key>`] };
  return { status: 401, error: { code: 'unauthorized', message: 'invalid or missing API key', details } };
};

export const missing = (kind: Kind): ExpectedAnswer => ({
  status: 404,
  error: { code: 'not_found', message: `${lawOf(kind).noun} not found` },
});

/** The response for a resource of another organization (spec §7). */
export const othersOf = (kind: Kind): ExpectedAnswer =>
  lawOf(kind).isUnrevised === true
    ? missing(kind)
    : {
        status: 403,
        error: { code: 'other_organization', message: `${lawOf(kind).noun} belongs to another organization` },
      };

/** The expected response by the table for a request that is otherwise valid. */
export const expectedOf = (
  { permission, environments, status, membersOnly }: GuardedRoute,
  holder: Holder,
): ExpectedAnswer => {
  if (membersOnly === true) {
    const message = 'only members can do this: sign in to the dashboard';
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
