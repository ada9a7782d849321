import { type AuditContext, LogContradiction, signCheckpoint } from '../../commands/audit.ts';
import type { AuditTrees } from '../../domain/ports/requests.ts';
import type { Logger } from '../../lib/async/async.ts';
import type { Leadership } from '../leadership.ts';
import { repeat, type Work } from '../supervise.ts';

/** Queries of the read model of the audit trees. */
export interface AuditQueries extends Pick<AuditTrees, 'size' | 'root'> {
  /** Trees that have grown by more than their own checkpoints since they were last signed, at most so many. */
  unsigned(limit: number): Promise<readonly { readonly tree: string; readonly grownTo: number }[]>;
}

export interface SignCheckpoints extends AuditContext {
  readonly trees: AuditQueries;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly logger: Logger;
  publicUrl(): string;
  /** How often a tree that grows is signed: what is not signed yet can be changed unseen. */
  readonly intervalMs: number;
}

/** Trees of one query. */
const TREES_MAX = 500;

/** Signs the checkpoints of trees that grow. */
export const signCheckpoints = (options: SignCheckpoints): Work => {
  const { trees, leadership, logger, system, intervalMs } = options;
  const host = (): string => new URL(options.publicUrl()).host;

  const sign = async (tree: string, grownTo: number): Promise<void> => {
    try {
      await signCheckpoint(options, { tree, trees, host: host(), grownTo });
    } catch (error) {
      if (!(error instanceof LogContradiction)) throw error;
      logger.error({ tree, alarm: 'audit' }, `no checkpoint is signed: ${error.message}`);
    }
  };

  /** A process signs an interval after its start: its read models follow by then. */
  let isBegun = false;

  return repeat(system, async () => {
    if (isBegun && leadership.isLeader())
      for (const { tree, grownTo } of await trees.unsigned(TREES_MAX)) await sign(tree, grownTo);
    isBegun = true;
    return intervalMs;
  });
};
