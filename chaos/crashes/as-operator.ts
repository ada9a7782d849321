import type { Origin } from '../../src/commands/context.ts';
import { readLog } from '../harness/evidence.ts';
import { type Observer, openObserver } from '../harness/observer.ts';
import type { World } from '../harness/world.ts';

/** The domain that the load is sent from. */
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
    ...{ actor: 'operator', organizationId, environment: 'live', requestId: null },
    ...{ correlationId: organizationId, causationId: organizationId },
  };
  return { domainId: registered.data.domainId, organizationId, origin };
};

/** Lets the operator do something beside the programs, or before the first of them is started. */
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
