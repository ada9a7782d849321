import { crc32 } from 'node:zlib';
import type { System } from '../../lib/async/async.ts';
import { type Leadership, repeat, type Work } from '../supervise.ts';

/**
 * Which of the due mail a process queues. A queue on Redis distributes jobs among all workers, so one of them queues
 * everything. Without Redis each worker works its own jobs, so each queues its share: for a moment two may believe that a
 * message is theirs, and one of them loses the claim.
 */
export interface Share {
  /** Nothing belongs to this process. */
  isEmpty(): boolean;
  has(messageId: string): boolean;
}

/** Workers that are running, and the place of this one among them, from 0. */
export interface WorkerPlace {
  readonly place: number;
  readonly workers: number;
}

/** Longer: mail of a worker that has ended waits longer. Each look is a small query. */
const LOOK_EVERY_MS = 1_000;

interface ShareParts {
  /** Absent: the queue distributes jobs. */
  readonly workerPlace?: (() => Promise<WorkerPlace>) | undefined;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
}

/** A share is empty until the first look, and stays as it was after a failed one. @returns it, and what keeps it up to date. */
export const createShare = ({
  workerPlace,
  leadership: { isLeader },
  system,
}: ShareParts): { readonly share: Share; readonly jobs: Readonly<Record<string, Work>> } => {
  if (workerPlace === undefined) return { share: { isEmpty: () => !isLeader(), has: isLeader }, jobs: {} };
  let known: WorkerPlace | null = null;
  const look = async (): Promise<number> => {
    known = await workerPlace();
    return LOOK_EVERY_MS;
  };
  return {
    share: {
      isEmpty: () => known === null,
      has: (messageId) => known !== null && crc32(messageId) % known.workers === known.place,
    },
    jobs: { 'watch of other workers': repeat(system, look) },
  };
};
