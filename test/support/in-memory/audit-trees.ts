import { hashesOf, leafOf, parseLeaf, sealState, treeOf } from '../../../src/domain/audit/leaf.ts';
import { foreignEvents } from '../../../src/domain/kernel/event-macs.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { AuditTrees } from '../../../src/domain/ports/requests.ts';
import {
  EMPTY_RANGE,
  extended,
  joined,
  leafHash,
  rootOfComplete,
  subtreesOf,
} from '../../../src/lib/transparency/transparency.ts';

/** The trees of a log, rebuilt from all of it on each query. */
export const createAuditTreesOf = (
  store: Pick<EventStore, 'readAll' | 'isAuthentic' | 'seals'>,
): Pick<AuditTrees, 'size' | 'root' | 'state' | 'findAll'> => {
  const textsOf = async (tree: string): Promise<readonly string[]> => {
    const { events } = await store.readAll({ limit: 1_000_000 });
    return events.filter((event) => treeOf(event) === tree).map(leafOf);
  };
  const leavesOf = async (tree: string): Promise<readonly Buffer[]> => (await textsOf(tree)).map(leafHash);
  return {
    state: async (tree) => {
      const all = await store.readAll({ limit: 1_000_000 });
      const events = all.events.filter((event) => treeOf(event) === tree);
      const foreign = foreignEvents(all.events, store.isAuthentic).events.find((event) => treeOf(event) === tree);
      const range = events.map(leafOf).reduce((sum, leaf) => extended(sum, leafHash(leaf)), EMPTY_RANGE);
      const state = {
        ...{ tree, size: events.length, hashes: hashesOf(range) },
        foreignLeaf: foreign === undefined ? null : events.indexOf(foreign),
        foreignEvent: foreign?.id ?? null,
      };
      const { seals } = store;
      return { ...state, seal: seals === undefined ? null : sealState(state, seals), isOutdated: false };
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
