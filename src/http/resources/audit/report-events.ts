import { readWholeStream } from '../../../commands/execute.ts';
import { namesOfMembers } from '../../../commands/member.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { leafOf } from '../../../domain/audit/leaf.ts';
import { authorOf, secretEnds } from '../../../domain/audit/report/access-rows.ts';
import { SECRET_TYPES } from '../../../domain/audit/report/key-sentences.ts';
import { membersIn, type Names } from '../../../domain/audit/report/words.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { RecordedEvent, StreamName } from '../../../domain/kernel/event-store.ts';
import { apiKeyStream, organizationStream } from '../../../domain/kernel/streams.ts';
import type { FoundLeaf } from '../../../domain/ports/requests.ts';
import { inclusionRanges } from '../../../lib/transparency/transparency.ts';
import type { StoredCheckpoint } from '../../../projections/audit/tree.ts';
import { requireIncluded } from '../../compare-leaves.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { readYourWrites } from '../../reading.ts';
import { readRequestFacts } from '../api-keys/key-events.ts';
import { base64 } from './checkpoints.ts';
import type { Report } from './report.ts';

/**
 * The events of a report with their proofs. Its sentences and facts come from events in the database, and its proofs from
 * leaves of the audit tree, so a report is only made if both are equal.
 */

interface DescribedEvent {
  readonly event: RecordedEvent;
  readonly sentence: string;
}

export type Place = Pick<Report['events'][number], 'leaf_index' | 'proof'>;

/** Proofs of one query, which share tiles. More hold the event loop above 10 ms, fewer cost queries. */
const PROOFS_AT_ONCE = 20;

/** @throws {DomainError} `unavailable`: the proof does not lead to the signed root. */
const placeOf = (leaf: FoundLeaf | undefined, hashes: readonly Buffer[], note: string | null): Place => {
  if (leaf === undefined) return { leaf_index: null, proof: null };
  const { index } = leaf;
  if (note === null) return { leaf_index: index, proof: null };
  requireIncluded(leaf, hashes, note);
  return { leaf_index: index, proof: { leaf: leaf.leaf, hashes: base64(hashes) } };
};

/**
 * Indexes of events in the tree, and their proofs in its newest checkpoint. @param found the leaf of each event.
 * @throws {DomainError} `unavailable`: a proof does not lead to the signed root.
 */
export const placesOf = async (
  { readModels: { audit } }: HttpDependencies,
  tree: string,
  found: readonly (FoundLeaf | undefined)[],
  checkpoint: StoredCheckpoint | undefined,
): Promise<readonly Place[]> => {
  const { size, note } = checkpoint ?? { size: 0, note: '' };
  const isSigned = (leaf: FoundLeaf | undefined): leaf is FoundLeaf => leaf !== undefined && leaf.index < size;
  const places: Place[] = [];
  for (let from = 0; from < found.length; from += PROOFS_AT_ONCE) {
    const some = found.slice(from, from + PROOFS_AT_ONCE);
    const ranges = some.map((leaf) => (isSigned(leaf) ? inclusionRanges(leaf.index, size) : []));
    const hashes = [...(await audit.hashes(tree, ranges.flat()))];
    const placed = some.map((leaf, at) =>
      placeOf(leaf, hashes.splice(0, ranges[at]?.length), isSigned(leaf) ? note : null),
    );
    places.push(...placed);
  }
  return places;
};

/** Looked up in one query: about as many bundles, half a millisecond each. */
const COMPARED_AT_ONCE = 100;

const requireSame = (event: RecordedEvent, leaf: FoundLeaf | undefined): void => {
  if (leaf === undefined || leaf.leaf === leafOf(event)) return;
  throw new DomainError(
    'signing_stopped',
    `event ${event.id} was changed in the database: it differs from leaf ${leaf.index} of the audit log, so a report would be ` +
      'wrong. Ask the operator to run `outbox audit check`',
  );
};

/**
 * Events that are no leaves yet are not compared, and have no proof.
 * @returns the leaves of the events, by id.
 * @throws {DomainError} `signing_stopped` naming the first event that differs.
 */
const requireAudited = async (
  { readModels: { audit } }: HttpDependencies,
  tree: string,
  all: readonly RecordedEvent[],
): Promise<ReadonlyMap<string, FoundLeaf>> => {
  const found = new Map<string, FoundLeaf>();
  for (let from = 0; from < all.length; from += COMPARED_AT_ONCE) {
    const events = all.slice(from, from + COMPARED_AT_ONCE);
    const leaves = await audit.findAll(
      tree,
      events.map(({ id }) => id),
    );
    for (const event of events) requireSame(event, leaves.get(event.id));
    for (const [id, leaf] of leaves) found.set(id, leaf);
  }
  return found;
};

const KEY = 'key:';

/** Streams that name who did it: of the organization, and of the keys whose secrets authenticated. */
const streamsBehind = (
  { organizationId }: Caller,
  contexts: readonly { readonly actor: string }[],
): readonly StreamName[] => {
  const keys = contexts.flatMap(({ actor }) => (actor.startsWith(KEY) ? [actor.slice(KEY.length)] : []));
  return [organizationStream(organizationId), ...[...new Set(keys)].map(apiKeyStream)];
};

/** Each event once, in the order of the log. */
const inOrder = (events: readonly RecordedEvent[]): readonly RecordedEvent[] =>
  [...new Map(events.map((event) => [event.id, event])).values()].toSorted((one, other) =>
    one.position < other.position ? -1 : 1,
  );

/** Proofs of further leaves. More take longer than readers wait, and make a report that is too large to attach. */
const EVIDENCE_MAX = 500;

interface ReportParts {
  /** Events that the report shows. */
  readonly described: readonly DescribedEvent[];
  /** Further events that its sentences and facts derive from. */
  readonly derivedFrom: readonly RecordedEvent[];
  /** Words of the sentences that no leaf has, by id. */
  readonly names: Names;
}

/**
 * Events with who did them, where they are in the log, their proofs, and those of further leaves that the report derives from: with the
 * events that say which secrets acted.
 */
export const eventsAndCheckpoint = async (
  deps: HttpDependencies,
  caller: Caller,
  { described, derivedFrom, names: stated }: ReportParts,
): Promise<Pick<Report, 'events' | 'names' | 'evidence' | 'checkpoint'>> => {
  const tree = caller.organizationId;
  await readYourWrites(deps, ['audit']);
  const contexts = described.map(({ event }) => event.metadata);
  const others = await Promise.all(
    streamsBehind(caller, contexts).map((stream) => readWholeStream(deps.context.store, stream)),
  );
  const secrets = others.flat().filter(({ type }) => SECRET_TYPES.includes(type));
  const shown = new Map(described.map(({ event }) => [event.id, event]));
  const behind = inOrder([...shown.values(), ...derivedFrom, ...secrets]);
  const evidence = behind.filter(({ id }) => !shown.has(id));
  const leaves = await requireAudited(deps, tree, inOrder([...behind, ...others.flat()]));
  const facts = await readRequestFacts(deps, caller, contexts);
  const people = await namesOfMembers(deps.context, tree, membersIn(contexts.map(({ actor }) => actor)));
  const names = new Map([...stated, ...people]);
  const ends = secretEnds(behind);
  const [checkpoint] = await deps.readModels.audit.checkpoints({ tree, limit: 1 });
  const proved = evidence.length > EVIDENCE_MAX ? [] : evidence;
  const ids = [...shown.values(), ...proved].map(({ id }) => id);
  const places = await placesOf(
    deps,
    tree,
    ids.map((id) => leaves.get(id)),
    checkpoint,
  );
  const events = described.map(({ event: { id, type, metadata }, sentence }, index): Report['events'][number] => ({
    at: metadata.occurredAt,
    sentence,
    by: authorOf({ metadata }, ends, names),
    address: facts.address(metadata),
    request_id: metadata.requestId,
    type,
    event_id: id,
    ...(places[index] as Place),
  }));
  const more = proved.map(({ id }, index) => ({ event_id: id, ...(places[shown.size + index] as Place) }));
  const report = {
    events,
    names: [...names].map(([id, name]) => ({ id, name })),
    evidence: evidence.length > EVIDENCE_MAX ? null : more,
  };
  if (checkpoint === undefined) return { ...report, checkpoint: null };
  const { size, note, vkey, signedAt } = checkpoint;
  return { ...report, checkpoint: { size, note, verifier_key: vkey, signed_at: signedAt } };
};
