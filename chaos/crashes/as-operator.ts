import { setTimeout as sleep } from 'node:timers/promises';
import type { Origin } from '../../src/commands/execute.ts';
import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import { readLog } from '../harness/evidence.ts';
import { type Observer, openObserver } from '../harness/observer.ts';
import type { World } from '../harness/world.ts';

/** The domain from which the load is sent. */
export interface OwnDomain {
  readonly domainId: string;
  readonly organizationId: string;
  readonly origin: Origin;
}

const ownDomain = async (operator: Observer): Promise<OwnDomain> => {
  const registered = (await readLog(operator)).find(({ type }) => type === 'DomainRegistered');
  if (registered?.type !== 'DomainRegistered') throw new Error('the world has no domain');
  const { organizationId } = registered.metadata;
  const origin: Origin = {
    actor: 'operator',
    organizationId,
    environment: 'live',
    requestId: null,
    correlationId: organizationId,
    causationId: organizationId,
  };
  return { domainId: registered.data.domainId, organizationId, origin };
};

/** Runs an operator's action next to the programs, or before the first one starts. */
export const asOperator = async <Result>(
  world: Pick<World, 'observed'>,
  work: (operator: Observer, own: OwnDomain) => Promise<Result>,
): Promise<Result> => {
  const operator = await openObserver(world);
  try {
    return await work(operator, await ownDomain(operator));
  } finally {
    await operator.close();
  }
};

const LOOK_MS = 200;

interface Looking {
  readonly looksMax: number;
  /** Error message if it never happens. */
  readonly never: string;
}

/** Waits for background work. @throws {Error} if the log still lacks it after the maximum number of looks. */
export const untilInLog = (
  world: Pick<World, 'observed'>,
  isSo: (log: readonly RecordedEvent[]) => boolean,
  { looksMax, never }: Looking,
): Promise<void> =>
  asOperator(world, async (operator) => {
    for (let look = 0; look < looksMax; look += 1) {
      if (isSo(await readLog(operator))) return;
      await sleep(LOOK_MS);
    }
    throw new Error(never);
  });
