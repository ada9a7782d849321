import { leafOf, parseLeaf, treeOf } from '../../../src/domain/audit/leaf.ts';
import { foreignEvents } from '../../../src/domain/kernel/event-macs.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { AuditTrees } from '../../../src/domain/ports/requests.ts';
import { joined, leafHash, rootOfComplete, subtreesOf } from '../../../src/lib/transparency/transparency.ts';

/** The trees of a log, rebuilt from all of it on each query. */
export const createAuditTreesOf = (
  store: Pick<EventStore, 'readAll' | 'isAuthentic'>,
): Pick<AuditTrees, 'size' | 'root' | 'foreignIn' | 'findAll'> => {
  const textsOf = async (tree: string): Promise<readonly string[]> => {
    const { events } = await store.readAll({ limit: 1_000_000 });
    return events.filter((event) => treeOf(event) === tree).map(leafOf);
  };
  const leavesOf = async (tree: string): Promise<readonly Buffer[]> => (await textsOf(tree)).map(leafHash);
  return {
    foreignIn: async (tree) => {
      const { events } = await store.readAll({ limit: 1_000_000 });
      const [first] = foreignEvents(events, store.isAuthentic).events.filter((event) => treeOf(event) === tree);
      if (first === undefined) return null;
      return { leaf: events.filter((event) => treeOf(event) === tree).indexOf(first), eventId: first.id };
    },
    size: async (tree) => (await leavesOf(tree)).length,
    findAll: async (tree, eventIds) => {
      const found = (await textsOf(tree)).map((leaf, index) => ({ index, leaf, parsed: parseLeaf(leaf) }));
      return new Map(found.filter(({ parsed }) => eventIds.includes(parsed.id)).map((leaf) => [leaf.parsed.id, leaf]));
    },
    root: async (tree, size) => {
      const leaves = await leavesOf(tree);
      return joined(
        subtreesOf({ from: 0, to: size }).map(({ level, index }) =>
          rootOfComplete(Buffer.concat(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))),
        ),
      );
    },
  };
};
