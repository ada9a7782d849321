import type { Violation } from '../harness/violation.ts';
import { createGround, type Ground } from './ground.ts';
import { type AttemptInFlight, watchAttempts } from './parts/attempts-in-flight.ts';
import { createLog, type Log } from './parts/log.ts';
import { createOperators, type Operators } from './parts/operators.ts';
import { createPendingDeliveries, type PendingDeliveries } from './parts/owed.ts';
import { createPostOffice, type PostOffice } from './parts/post-office.ts';
import { createQueueEngine, type QueueEngine } from './parts/queue.ts';
import { createReadModels, type ReadModels } from './parts/read-models.ts';
import { createReceiver, type Receiver } from './parts/receiver.ts';
import { watchUnlisted } from './parts/unlisted.ts';
import { createVault, type Vault } from './parts/vault.ts';
import type { Process } from './process.ts';

/** Everything that outlives a process. */
export interface World {
  readonly ground: Ground;
  readonly log: Log;
  readonly vault: Vault;
  readonly engine: QueueEngine;
  /** Without Redis: sessions by which workers know each other, with the time of their last look. */
  readonly sessions: Map<Process, number> | undefined;
  readonly office: PostOffice;
  readonly operators: Operators;
  readonly receiver: Receiver;
  /** Attempts in flight by recipient id. */
  readonly attempts: ReadonlyMap<string, AttemptInFlight>;
  readonly owed: PendingDeliveries;
  /** Digests of addresses that have bounced permanently and are not on the list yet. */
  readonly unlisted: ReadonlySet<string>;
  readonly readModels: ReadModels;
  /** Unanswered client requests and the processes that handle them. */
  readonly requests: Map<object, Process>;
  readonly violations: readonly Violation[];
  violate(promise: Violation['promise'], what: string): void;
}

/** More violations of one run add no information. */
const VIOLATIONS_MAX = 10;

export const createWorld = (seed: number, options: { readonly keepTrace: boolean }): World => {
  const ground = createGround(seed, options);
  const plainVault = createVault();
  const log = createLog(ground, plainVault.contents);
  const owed = createPendingDeliveries(ground, log);
  const vault = { ...plainVault, webhookDeliveries: owed.noticing(plainVault.webhookDeliveries) };
  const operators = createOperators(ground, log);
  const violations: Violation[] = [];
  return {
    ground,
    vault,
    log,
    owed,
    violations,
    requests: new Map(),
    engine: createQueueEngine(),
    sessions: seed % 2 === 0 ? undefined : new Map(),
    operators,
    attempts: watchAttempts(log),
    unlisted: watchUnlisted(log),
    office: createPostOffice(ground, operators),
    receiver: createReceiver(),
    readModels: createReadModels(ground, log),
    violate: (promise, what) => {
      ground.trace.note(ground.scheduler.nowMs(), `VIOLATION ${promise}: ${what}`);
      if (violations.length < VIOLATIONS_MAX) violations.push({ promise, what });
    },
  };
};
