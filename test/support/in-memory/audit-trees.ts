import { leafOf, treeOf } from '../../../src/domain/audit/leaf.ts';
import { joined, leafHash, rootOfComplete, subtreesOf } from '../../../src/domain/audit/merkle-tree.ts';
import type { AuditTrees } from '../../../src/domain/ports/audit-trees.ts';
import type { EventStore } from '../../../src/domain/ports/event-store.ts';

/** The trees of a log, made anew from all of it whenever they are asked. */
export const createAuditTreesOf = (store: Pick<EventStore, 'readAll'>): Pick<AuditTrees, 'size' | 'root'> => {
  const leavesOf = async (tree: string): Promise<readonly Buffer[]> => {
    const { events } = await store.readAll({ limit: 1_000_000 });
    return events.filter((event) => treeOf(event) === tree).map((event) => leafHash(leafOf(event)));
  };
  return {
    size: async (tree) => (await leavesOf(tree)).length,
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
