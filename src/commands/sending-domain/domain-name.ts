import type { EventStore } from '../../domain/ports/event-store.ts';
import {
  type DomainName,
  takeName as decideTakeName,
  domainName,
  releaseName,
} from '../../domain/sending-domain/domain-name.ts';
import type { VerificationMethod } from '../../domain/sending-domain/events.ts';
import { type ExistingSendingDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { domainNameStream, sendingDomainStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute, executeOnce, type Loaded, load, retryConflicts } from '../execute.ts';

export interface NameHolder {
  readonly holder: Loaded<DomainName>;
  /** The domain that last verified the name and has since been deleted or failed. */
  readonly formerHolder: string | null;
}

/** The holder of a name: the last domain that verified it. A failed domain has released it. */
export const nameHolder = async (store: EventStore, name: string): Promise<NameHolder> => {
  const holder = await load(store, domainName, domainNameStream(name));
  if (holder.state.status === 'free') return { holder, formerHolder: null };
  const { domainId } = holder.state;
  const { state } = await load(store, sendingDomain, sendingDomainStream(domainId));
  const holds = state.status === 'registered' && state.verification !== null;
  return { holder, formerHolder: holds ? null : domainId };
};

type Tools = Pick<CommandContext, 'store' | 'system'>;
type Named = Pick<ExistingSendingDomain, 'name' | 'domainId'>;

/** Takes the name for a domain that has verified it. @throws {DomainError} `domain_already_exists`, `resource_conflict`. */
export const takeName = async (
  context: Tools,
  origin: Origin,
  { name, domainId, method }: Named & { readonly method: VerificationMethod },
): Promise<void> => {
  const metadata = eventContext({ ...origin, environment: null }, context.system.now().toISOString());
  await retryConflicts(async () => {
    const { holder, formerHolder } = await nameHolder(context.store, name);
    // A name that was never verified has no former holder, so a conflict needs no new facts.
    const append = holder.revision === 'no-stream' ? execute : executeOnce;
    return append(context, {
      aggregate: domainName,
      stream: domainNameStream(name),
      context: metadata,
      known: holder,
      decide: (state) => decideTakeName(state, { name, domainId, method, formerHolder }),
    });
  });
};

/** Releases the name of a domain that failed, if it still holds it. */
export const leaveName = async (context: Tools, origin: Origin, { name, domainId }: Named): Promise<void> => {
  await execute(context, {
    aggregate: domainName,
    stream: domainNameStream(name),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (state) => releaseName(state, { name, domainId }),
  });
};
