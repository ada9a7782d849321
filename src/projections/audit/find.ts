import { type Leaf, parseLeaf } from '../../domain/audit/leaf.ts';
import { eventIdsOf, isCustomerEventOf } from '../../domain/customer-events/customer-events.ts';
import type { AuditTrees, FoundLeaf } from '../../domain/ports/requests.ts';
import type { Database } from '../database.ts';
import { TILE_WIDTH } from './tiles.ts';

/** Looks for leaves of an audit tree by ids of events. Bundles know between which ids theirs are; leaves have no index. */

/** Bundles that may hold an id of one of these ranges, and the one that is not full. */
const bundlesSql = (schema: string) => ({
  name: `audit-bundles-of-ids-${schema}`,
  text: `
    select b.bundle::float8 as bundle from unnest($2::uuid[], $3::uuid[]) w(first, last)
    join ${schema}audit_bundles b on b.tree = $1 and b.id_to >= w.first and b.id_from <= w.last
    union
    select floor(size / ${TILE_WIDTH})::float8 from ${schema}audit_trees where tree = $1
    order by 1`,
});

/** Reading a leaf takes 4 µs, looking whether it may be one of those 0.3. */
const UUIDS = /"id":"[0-9a-f-]{36}"/g;
const ID_FROM = '"id":"'.length;
const idsIn = (leaf: string): readonly string[] => (leaf.match(UUIDS) ?? []).map((found) => found.slice(ID_FROM, -1));

interface LeafQuery {
  /** Between which UUIDs. */
  readonly ranges: readonly (readonly [first: string, last: string])[];
  mayBe(id: string): boolean;
  is(leaf: Leaf): boolean;
  /** How many there are at most. */
  readonly count: number;
}

const foundIn = (leaves: readonly string[], bundle: number, { mayBe, is }: LeafQuery): readonly FoundLeaf[] =>
  leaves.flatMap((leaf, at) => {
    if (!idsIn(leaf).some(mayBe)) return [];
    const parsed = parseLeaf(leaf);
    return is(parsed) ? [{ index: bundle * TILE_WIDTH + at, leaf, parsed }] : [];
  });

/** Finds leaves by the ids of their events. Each bundle is read once. */
export const createFinder = (
  db: Database,
  { leaves }: Pick<AuditTrees, 'leaves'>,
  schema: string,
): Pick<AuditTrees, 'findAll' | 'findCustomerEvent'> => {
  const sql = bundlesSql(schema);

  const find = async (tree: string, wanted: LeafQuery): Promise<readonly FoundLeaf[]> => {
    const { ranges, count } = wanted;
    const values = [tree, ranges.map(([first]) => first), ranges.map(([, last]) => last)];
    const { rows } = await db.query<{ bundle: number }>({ ...sql, values });
    const found: FoundLeaf[] = [];
    for (const { bundle } of rows) {
      if (found.length >= count) break;
      found.push(...foundIn(await leaves(tree, bundle, bundle + 1), bundle, wanted));
    }
    return found;
  };

  return {
    findAll: async (tree, eventIds) => {
      const wanted = new Set(eventIds);
      const found = await find(tree, {
        ranges: [...wanted].map((id) => [id, id]),
        mayBe: (id) => wanted.has(id),
        is: ({ id }) => wanted.has(id),
        count: wanted.size,
      });
      return new Map(found.map((leaf) => [leaf.parsed.id, leaf]));
    },

    findCustomerEvent: async (tree, id) => {
      const [first, last] = eventIdsOf(id);
      const [found = null] = await find(tree, {
        ranges: [[first, last]],
        mayBe: (eventId) => eventId >= first && eventId <= last,
        is: (leaf) => isCustomerEventOf(id, leaf),
        count: 1,
      });
      return found;
    },
  };
};
