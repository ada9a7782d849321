import { z } from 'zod';
import { namesOfMembers } from '../../../commands/member.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import {
  ACCESS_TYPES,
  type Access,
  type AccessReview,
  endOf,
  reviewAccess,
} from '../../../domain/audit/access-review.ts';
import type { Leaf } from '../../../domain/audit/leaf.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { dayOf } from '../../../domain/kernel/event.ts';
import type { FoundEntry } from '../../../projections/audit/tiles.ts';
import { maskText, seesContents } from '../../auth/permissions.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint, type RouteContext } from '../../endpoint.ts';
import { isDate } from '../../fields.ts';
import { atParameter, readYourWrites, routeAsOf } from '../../reading.ts';
import { readRequestFacts } from '../api-keys/key-events.ts';
import { actorOf, atTime, byWhom, listed, membersIn, type People } from '../messages/explain/explanation.ts';
import { actionOf } from './actions.ts';
import { readNames, waitForNames } from './find-entries.ts';
import { actorSentence, type Report, reportSchema } from './report.ts';
import { type Place, placesOf } from './report-events.ts';
import { answerReport, OTHER_MEDIA_TYPES, organizationFact, reportQuery } from './reports.ts';

/**
 * Review of the access to an organization on a day: members, keys and auditors, with roles and scopes, who granted them and when they
 * ended. Everything but names of people is folded from leaves of the audit tree, and each leaf behind it has a proof.
 */

/** Entries of one query. */
const PAGE = 500;
/** Leaves about access. More hold the request; what is beyond them would make the review wrong, so it is refused. */
const LEAVES_MAX = 100_000;
/** Each proof costs about half a millisecond. Fewer leave more of the review unproved, more take longer than readers wait. */
const PROOFS_MAX = 500;

const CONDITION = {
  facets: ACCESS_TYPES.map((type) => `type:${type}`),
  is: ({ type }: Leaf) => ACCESS_TYPES.some((one) => one === type),
};

/** Leaves about access up to an index, oldest first; null: there are more than a review can hold. */
const accessLeaves = async (
  { readModels }: HttpDependencies,
  tree: string,
  last: number,
): Promise<readonly FoundEntry[] | null> => {
  const found: FoundEntry[] = [];
  for (let after: number | null = null; ; ) {
    const page = await readModels.audit.search({
      tree,
      facets: [],
      conditions: [CONDITION],
      byWorkers: true,
      order: 'asc',
      after,
      limit: PAGE,
    });
    found.push(...page.leaves.filter(({ index }) => index <= last));
    if (found.length > LEAVES_MAX) return null;
    if (page.next === null || page.next >= last) return found;
    after = page.next;
  }
};

/** Names of API keys and sending domains by id. */
type Names = ReadonlyMap<string, string>;

/** Keys that manage act on the whole organization, and send from their own domain. */
const reachOf = ({ kind, domainId, permissions }: Access, names: Names): string => {
  if (kind === 'auditor') return 'the audit log';
  if (domainId === null) return 'the whole organization';
  const isWide = permissions.some((permission) => permission === 'admin' || permission === 'manage');
  const name = names.get(domainId);
  const domain = name === undefined ? domainId : `${name} (${domainId})`;
  return isWide ? `the whole organization, sending from ${domain}` : domain;
};

const scopeOf = (access: Access, names: Names): string => {
  const { kind, environment, allowedCidrs, isExtended } = access;
  const extended = { member: 'also the health of the service', api_key: '', auditor: 'also contents of mail' }[kind];
  const scope = [
    reachOf(access, names),
    ...(environment === null ? [] : [`${environment} mail`]),
    ...(allowedCidrs.length === 0 ? [] : [`only from ${listed(allowedCidrs)}`]),
    ...(isExtended ? [extended] : []),
  ];
  return scope.join(', ');
};

interface ReviewNames {
  readonly now: string;
  /** Name of the principal. */
  readonly name: string | null;
  readonly people: People;
  readonly names: Names;
}

const actorInWords = (actor: string, { people, names }: Pick<ReviewNames, 'people' | 'names'>): string => {
  const { type, id } = actorOf(actor);
  const name = type === 'key' ? names.get(id ?? '') : undefined;
  return name === undefined ? byWhom(actor, people) : `API key "${name}" (${id})`;
};

const serializeAccess = (access: Access, known: ReviewNames): Report['access'][number] => {
  const { now, name, names } = known;
  const { granted, changed, ended } = access;
  const endedAt = endOf(access, now);
  return {
    kind: access.kind,
    id: access.id,
    name,
    role: access.role,
    permissions: [...access.permissions],
    scope: scopeOf(access, names),
    state: endedAt === null ? 'active' : 'ended',
    granted_at: granted.at,
    granted_by: actorInWords(granted.actor, known),
    changed_at: changed?.at ?? null,
    changed_by: changed === null ? null : actorInWords(changed.actor, known),
    expires_at: access.expiresAt,
    ended_at: endedAt,
    // An expiry has no actor.
    ended_by: ended === null || ended.at !== endedAt ? null : actorInWords(ended.actor, known),
  };
};

const namesIn = async (
  deps: HttpDependencies,
  organizationId: string,
  access: readonly Access[],
  nameOf: (one: Access) => string | null,
): Promise<Names> => {
  const ids = [...new Set(access.flatMap(({ domainId }) => domainId ?? []))];
  await waitForNames(deps, ['domain']);
  const domains = await deps.readModels.search.namesOf({ organizationId, kind: 'domain', ids });
  return new Map([
    ...domains.flatMap(({ id, name }): [string, string][] => (name === null ? [] : [[id, name]])),
    ...access.flatMap((one): [string, string][] => {
      const name = one.kind === 'api_key' ? nameOf(one) : null;
      return name === null ? [] : [[one.id, name]];
    }),
  ]);
};

const activeFirst = (one: Report['access'][number], other: Report['access'][number]): number =>
  Number(one.state === 'ended') - Number(other.state === 'ended');

/** Members without a name are named by their address, which is masked for callers that see no addresses. */
const nameFor = (caller: Caller, name: string | null): string | null =>
  name === null || seesContents(caller) ? name : maskText(name);

/** Ids of the events that a review states. */
const statedIn = ({ access }: AccessReview): ReadonlySet<string> =>
  new Set(
    access.flatMap(({ granted, changed, ended }) => [granted, changed, ended].flatMap((one) => one?.eventId ?? [])),
  );

/** The verifier requires these words wherever a leaf has them (docs/audit.md). */
const secretOf = ({ data }: Leaf): string => {
  const secret = data.secret as { readonly last4?: string } | undefined; // as the codec has checked
  return secret?.last4 === undefined ? '' : `, with a secret that ends in ${secret.last4}`;
};

const eventsOf = async (
  deps: HttpDependencies,
  caller: Caller,
  { leaves, size, people }: { readonly leaves: readonly Leaf[]; readonly size: number; readonly people: People },
): Promise<Report['events']> => {
  const tree = caller.organizationId;
  const ids = leaves.map(({ id }) => id);
  const found = await deps.readModels.audit.findAll(tree, ids);
  const places = await placesOf(
    deps,
    tree,
    ids.map((id) => found.get(id)),
    size,
  );
  const contexts = leaves.map(({ metadata }) => metadata);
  const facts = await readRequestFacts(deps, caller, contexts);
  const namesOf = await readNames(deps, caller, leaves);
  return leaves.map((leaf, index): Report['events'][number] => {
    const { subject } = namesOf(leaf);
    const name = nameFor(caller, subject?.name ?? null);
    const about = subject === null ? '' : `: ${name === null ? subject.id : `${name} (${subject.id})`}`;
    return {
      at: leaf.metadata.occurredAt,
      sentence: `${actionOf(leaf)}${about}${secretOf(leaf)}.`,
      by: actorSentence(leaf.metadata, { last4: facts.secretLast4(leaf.metadata), people }),
      address: facts.address(leaf.metadata),
      request_id: leaf.metadata.requestId,
      type: leaf.type,
      event_id: leaf.id,
      ...(places[index] as Place),
    };
  });
};

const leftOut = (stated: number, shown: number): string =>
  `${shown < stated ? `Proofs of the newest ${shown} of ${stated} events are included. ` : ''}` +
  'Database logins of analysts are not in the log: the operator lists them with `outbox analysts list`.';

const tooMany = (): DomainError => {
  const problem = `there are more than ${LEAVES_MAX} events about access by then: choose an earlier time, or export the log`;
  return new DomainError('invalid_request', problem, { details: { at: [problem] } });
};

interface ReviewMoment {
  readonly now: string;
  readonly lastLeaf: number;
  /** The moment in words. */
  readonly words: string;
}

const review = async (route: RouteContext, caller: Caller, { now, lastLeaf, words }: ReviewMoment): Promise<Report> => {
  const { deps } = route;
  const tree = caller.organizationId;
  const found = await accessLeaves(deps, tree, lastLeaf);
  if (found === null) throw tooMany();
  const leaves = found.map(({ parsed }) => parsed);
  const reviewed = reviewAccess(leaves);
  const stated = statedIn(reviewed);
  const behind = leaves.filter(({ id, type }) => stated.has(id) || type === 'ContentsRolesSet');
  const shown = behind.slice(-PROOFS_MAX);
  const people = await namesOfMembers(deps.context, tree, membersIn(leaves.map(({ metadata }) => metadata.actor)));
  const namesOf = await readNames(deps, caller, leaves);
  const subjects = new Map(leaves.map((leaf) => [leaf.id, nameFor(caller, namesOf(leaf).subject?.name ?? null)]));
  const nameOf = ({ name, granted }: Access): string | null => name ?? subjects.get(granted.eventId) ?? null;
  const names = await namesIn(deps, tree, reviewed.access, nameOf);
  const access = reviewed.access
    .map((one) => serializeAccess(one, { now, people, names, name: nameOf(one) }))
    .toSorted(activeFirst);
  const active = access.filter(({ state }) => state === 'active');
  const [checkpoint] = await deps.readModels.audit.checkpoints({ tree, limit: 1 });
  return {
    object: 'audit_report',
    type: 'access_review',
    id: `access-${dayOf(now)}`,
    title: 'Who has access',
    made_at: deps.context.system.now().toISOString(),
    facts: [
      await organizationFact(deps, caller),
      { name: 'As of', value: `${words}, after leaf ${lastLeaf} of the audit log` },
      { name: 'With access', value: `${active.length} now, ${access.length} in all, including those that ended` },
      {
        name: 'Roles that see mail contents',
        value: listed([...new Set(['owner', 'developer', ...reviewed.contentsRoles])]),
      },
    ],
    access,
    sends: [],
    left_out: leftOut(behind.length, shown.length),
    events: await eventsOf(deps, caller, { leaves: shown, size: checkpoint?.size ?? 0, people }),
    checkpoint:
      checkpoint === undefined
        ? null
        : {
            size: checkpoint.size,
            note: checkpoint.note,
            verifier_key: checkpoint.vkey,
            signed_at: checkpoint.signedAt,
          },
  };
};

const momentAsked = async (route: RouteContext, caller: Caller, at: string | undefined): Promise<ReviewMoment> => {
  const { deps } = route;
  const past = await routeAsOf(route, caller, at);
  if (past === null)
    return { now: deps.context.system.now().toISOString(), lastLeaf: -1, words: 'before the first event' };
  if (past === undefined) {
    await readYourWrites(deps, ['audit']);
    const now = deps.context.system.now().toISOString();
    return { now, lastLeaf: (await deps.readModels.audit.size(caller.organizationId)) - 1, words: atTime(now) };
  }
  const now = past.route.deps.context.system.now().toISOString();
  const { timezone } = route.auth.keyCache.settingsOf(caller.organizationId);
  const words = at !== undefined && isDate(at) ? `the end of ${at} in ${timezone}, ${atTime(now)}` : atTime(now);
  return { now, lastLeaf: past.asOf.leaf_index, words };
};

export const getAccessReviewRoute = endpoint(
  'GET /v1/audit/reports/access',
  {
    summary: 'Review access',
    description:
      'Lists the members, API keys and auditors that have or had access, with roles, permissions and scopes, who granted and ' +
      'changed them, and when they ended; the active ones first. `at` reviews an earlier day. Each event behind it has a proof that ' +
      'it is in the signed log. The CSV has one line for each member, key and auditor.',
    query: z.strictObject({ ...reportQuery.shape, at: atParameter() }),
    answer: reportSchema,
    etag: false,
    otherMediaTypes: OTHER_MEDIA_TYPES,
    large: true,
  },
  async ({ caller, query: { format, at }, request, reply }, route) =>
    answerReport(request, reply, await review(route, caller, await momentAsked(route, caller, at)), format),
);
