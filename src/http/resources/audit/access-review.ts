import { z } from 'zod';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { ACCESS_TYPES } from '../../../domain/audit/access-review.ts';
import type { Leaf } from '../../../domain/audit/leaf.ts';
import { type DerivedReview, deriveReview, REVIEWED_TYPES } from '../../../domain/audit/report/access-rows.ts';
import { actorOf, atTime, isNaming, NAMING_TYPES } from '../../../domain/audit/report/words.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { dayOf } from '../../../domain/kernel/event.ts';
import type { FoundEntry } from '../../../projections/audit/tiles.ts';
import type { StoredCheckpoint } from '../../../projections/audit/tree.ts';
import { maskText, seesContents } from '../../auth/permissions.ts';
import { requireSameInLog } from '../../compare-leaves.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint, type RouteContext } from '../../endpoint.ts';
import { endOfDay, isDate } from '../../fields.ts';
import { atParameter, readYourWrites, routeAsOf } from '../../reading.ts';
import { readRequestFacts } from '../api-keys/key-events.ts';
import { readNames } from './find-entries.ts';
import { type Report, reportSchema } from './report.ts';
import { type Place, placesOf } from './report-events.ts';
import { answerReport, OTHER_MEDIA_TYPES, reportQuery } from './reports.ts';

/**
 * Review of the access to an organization on a day: members, keys and auditors, with roles and scopes, who granted them and when they
 * ended. Everything but names of people is derived from leaves of the audit tree, and each of these leaves has a proof.
 */

/** Entries of one query. */
const PAGE = 500;
/** Leaves about access. More hold the request; what is beyond them would make the review wrong, so it is refused. */
const LEAVES_MAX = 100_000;
/** Each proof costs about half a millisecond. Fewer leave more reviews unproved, more take longer than readers wait. */
const PROOFS_MAX = 1_000;

const CONDITION = {
  facets: REVIEWED_TYPES.map((type) => `type:${type}`),
  is: ({ type }: Leaf) => REVIEWED_TYPES.includes(type),
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

/** Members without a name are named by their address, which is masked for callers that see no addresses. */
const nameFor = (caller: Caller, name: string | null): string | null =>
  name === null || seesContents(caller) ? name : maskText(name);

/** Names of members and auditors, by id: no leaf states them. */
const namesOfPeople = async (
  deps: HttpDependencies,
  caller: Caller,
  leaves: readonly Leaf[],
): Promise<Report['names']> => {
  const namesOf = await readNames(deps, caller, leaves);
  const named = leaves.flatMap((leaf) => {
    const { subject, actorName } = namesOf(leaf);
    const { type, id } = actorOf(leaf.metadata.actor);
    return [...(subject === null ? [] : [subject]), { type, id: id ?? '', name: actorName }];
  });
  const people = named
    .filter(({ type }) => type === 'member' || type === 'auditor')
    .map(({ id, name }) => ({ id, name: nameFor(caller, name) }))
    .filter((one): one is Report['names'][number] => one.name !== null);
  return [...new Map(people.map((one) => [one.id, one])).values()];
};

/** Leaves that support the review besides the events that it shows: earlier changes, and what names the organization, domains and secrets. */
const evidenceFor = (leaves: readonly Leaf[], { rows, stated }: DerivedReview): readonly Leaf[] => {
  const scopes = rows.map(({ scope }) => scope).join();
  const actors = new Set(leaves.filter(({ id }) => stated.has(id)).map(({ metadata }) => metadata.actor));
  return leaves.filter(({ id, type, data }) => {
    if (NAMING_TYPES.includes(type)) return isNaming({ type, data });
    if (type === 'DomainRegistered') return scopes.includes(String(data.domainId));
    if (type === 'KeyRotated') return actors.has(`key:${data.keyId}`);
    return !stated.has(id);
  });
};

const eventsOf = async (
  deps: HttpDependencies,
  caller: Caller,
  { shown, describe }: { readonly shown: readonly Leaf[]; readonly describe: DerivedReview['describe'] },
  places: readonly Place[],
): Promise<Report['events']> => {
  const facts = await readRequestFacts(
    deps,
    caller,
    shown.map(({ metadata }) => metadata),
  );
  return shown.map((leaf, index): Report['events'][number] => ({
    at: leaf.metadata.occurredAt,
    ...describe(leaf),
    address: facts.address(leaf.metadata),
    request_id: leaf.metadata.requestId,
    type: leaf.type,
    event_id: leaf.id,
    ...(places[index] as Place),
  }));
};

const leftOut = (needed: number): string =>
  `${needed > PROOFS_MAX ? `${needed} events are behind the table. Only the newest ${PROOFS_MAX} are shown and proved: an export proves all. ` : ''}` +
  'Database logins of analysts are not in the log: the operator lists them with `outbox analysts list`.';

const tooMany = (): DomainError => {
  const problem = `there are more than ${LEAVES_MAX} events about access by then: choose an earlier time, or export the log`;
  return new DomainError('invalid_request', problem, { details: { at: [problem] } });
};

interface ReviewMoment {
  readonly now: string;
  readonly lastLeaf: number;
  /** The moment in words, with its last leaf. */
  readonly words: string;
}

const placesIn = async (
  deps: HttpDependencies,
  tree: string,
  leaves: readonly Leaf[],
  checkpoint: StoredCheckpoint | undefined,
) => {
  const ids = leaves.map(({ id }) => id);
  const found = await deps.readModels.audit.findAll(tree, ids);
  return placesOf(
    deps,
    tree,
    ids.map((id) => found.get(id)),
    checkpoint,
  );
};

const review = async (route: RouteContext, caller: Caller, { now, lastLeaf, words }: ReviewMoment): Promise<Report> => {
  const { deps } = route;
  const tree = caller.organizationId;
  const found = await accessLeaves(deps, tree, lastLeaf);
  if (found === null) throw tooMany();
  const leaves = found.map(({ parsed }) => parsed);
  const names = await namesOfPeople(
    deps,
    caller,
    leaves.filter(({ type }) => ACCESS_TYPES.some((one) => one === type)),
  );
  const derived = deriveReview(leaves, { now, people: new Map(names.map(({ id, name }) => [id, name])) });
  const behind = leaves.filter(({ id }) => derived.stated.has(id));
  const others = evidenceFor(leaves, derived);
  const needed = behind.length + others.length;
  const evidence = needed > PROOFS_MAX ? [] : others;
  const shown = behind.slice(-PROOFS_MAX);
  const proved = new Set([...shown, ...evidence]);
  await requireSameInLog(
    deps.context,
    found.filter(({ parsed }) => proved.has(parsed)),
  );
  const [checkpoint] = await deps.readModels.audit.checkpoints({ tree, limit: 1 });
  const places = await placesIn(deps, tree, [...shown, ...evidence], checkpoint);
  return {
    object: 'audit_report',
    type: 'access_review',
    id: `access-${dayOf(now)}`,
    title: derived.title,
    made_at: deps.context.system.now().toISOString(),
    as_of: now,
    facts: [...derived.facts, { name: 'As of', value: words }],
    access: [...derived.rows],
    sends: [],
    left_out: leftOut(needed),
    events: await eventsOf(deps, caller, { shown, describe: derived.describe }, places),
    names,
    evidence:
      needed > PROOFS_MAX
        ? null
        : evidence.map(({ id }, index) => ({ event_id: id, ...(places[shown.length + index] as Place) })),
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

/** A day that is not over is read as it is now. */
const momentInWords = (at: string, now: string, timezone: string): string => {
  if (!isDate(at)) return atTime(now);
  const day = now < endOfDay(at, timezone) ? `${at} so far` : `the end of ${at}`;
  return `${day} in ${timezone}, ${atTime(now)}`;
};

const afterLeaf = (moment: string, lastLeaf: number): string => `${moment}, after leaf ${lastLeaf} of the audit log`;

const momentAsked = async (route: RouteContext, caller: Caller, at: string | undefined): Promise<ReviewMoment> => {
  const { deps } = route;
  const past = await routeAsOf(route, caller, at);
  if (past === null)
    return { now: deps.context.system.now().toISOString(), lastLeaf: -1, words: 'before the first event' };
  if (past === undefined) {
    await readYourWrites(deps, ['audit']);
    const now = deps.context.system.now().toISOString();
    const lastLeaf = (await deps.readModels.audit.size(caller.organizationId)) - 1;
    return { now, lastLeaf, words: afterLeaf(atTime(now), lastLeaf) };
  }
  const now = past.route.deps.context.system.now().toISOString();
  const { timezone } = route.auth.keyCache.settingsOf(caller.organizationId);
  const lastLeaf = past.asOf.leaf_index;
  return { now, lastLeaf, words: afterLeaf(momentInWords(at ?? '', now, timezone), lastLeaf) };
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
