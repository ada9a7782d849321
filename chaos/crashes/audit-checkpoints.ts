import { leafOf, treeOf } from '../../src/domain/audit/leaf.ts';
import { categoryOf, type RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import { CATEGORIES } from '../../src/domain/kernel/streams.ts';
import { type CompactRange, EMPTY_RANGE, extended, joined, leafHash } from '../../src/lib/transparency/transparency.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import { untilInLog } from './as-operator.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

const EVERY_SECOND = { AUDIT_INTERVAL: '1' };
const LOOKS_MAX = 150;

/** True if a checkpoint of the load's organization covers every event that is not about checkpoints itself. */
const isAllSigned = (log: readonly RecordedEvent[]): boolean => {
  const sent = log.findLast(({ type }) => type === 'MessageAccepted');
  const own = log.filter((event) => sent !== undefined && treeOf(event) === treeOf(sent));
  const grownTo = own.findLastIndex(({ stream }) => categoryOf(stream) !== CATEGORIES.audit) + 1;
  const last = own.findLast(({ type }) => type === 'CheckpointSigned');
  return last?.type === 'CheckpointSigned' && last.data.size >= grownTo;
};

/** Every checkpoint must have the root of the leaves it covers, and the sizes within a tree must increase. */
const eachIsOfTheLog = ({ events }: Pick<Evidence, 'events'>): readonly Violation[] => {
  const trees = new Map<string, { range: CompactRange; roots: string[]; signed: number }>();
  const violations: Violation[] = [];
  for (const event of events) {
    const tree = trees.get(treeOf(event)) ?? { range: EMPTY_RANGE, roots: [], signed: 0 };
    trees.set(treeOf(event), tree);
    if (event.type === 'CheckpointSigned') {
      const { size, root } = event.data;
      const isRight = size > tree.signed && tree.roots[size - 1] === root;
      if (!isRight) violations.push({ promise: 'scenario', what: `a checkpoint of ${size} leaves is not of the log` });
      tree.signed = size;
    }
    tree.range = extended(tree.range, leafHash(leafOf(event)));
    tree.roots.push(joined(tree.range.hashes).toString('base64'));
  }
  return violations;
};

const diesOfSigning = (point: FailPointName): Scenario => ({
  name: `killed ${point} by a checkpoint of the log`,
  run: () =>
    inWorld(
      {},
      async (world) => {
        const { programs, load } = world;
        await programs.startToDie({ OUTBOX_FAIL_POINT: point, ...EVERY_SECOND });
        await programs.died();
        await programs.start(EVERY_SECOND);
        await sendAll(load);
        await untilInLog(world, isAllSigned, {
          looksMax: LOOKS_MAX,
          never: 'the log was not signed',
        });
      },
      { more: eachIsOfTheLog },
    ),
});

/**
 * A checkpoint is one append at an expected revision, so a crash leaves it complete or absent. Only appended
 * checkpoints are published.
 */
export const AUDIT_CRASHES: readonly Scenario[] = [
  diesOfSigning('before-append-checkpoint'),
  diesOfSigning('after-append-checkpoint'),
];
