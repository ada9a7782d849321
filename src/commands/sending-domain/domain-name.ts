import { DomainError } from '../../domain/domain-error.ts';
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
import { execute, executeOnce, type Loaded, load } from '../execute.ts';

export interface NameHolder {
  readonly holder: Loaded<DomainName>;
  /** The domain that last proved the name, where it has been deleted since. */
  readonly formerHolder: string | null;
}

/** Who holds a name: the last domain that proved it, unless that was deleted; one that failed has released it. */
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

/** Others who prove the same name at the same moment are few. */
const TRIES_MAX = 5;

/** Takes the name for a domain that has proved it. @throws {DomainError} `domain_already_exists`, `resource_conflict`. */
export const takeName = async (
  context: Tools,
  origin: Origin,
  { name, domainId, method }: Named & { readonly method: VerificationMethod },
): Promise<void> => {
  const metadata = eventContext({ ...origin, environment: null }, context.system.now().toISOString());
  for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
    const { holder, formerHolder } = await nameHolder(context.store, name);
    // A name that nobody ever proved has no former holder, whoever proves it meanwhile.
    const append = holder.revision === 'no-stream' ? execute : executeOnce;
    const taken = await append(context, {
      aggregate: domainName,
      stream: domainNameStream(name),
      context: metadata,
      known: holder,
      decide: (state) => decideTakeName(state, { name, domainId, method, formerHolder }),
    });
    if (taken !== null) return;
  }
  throw new DomainError('resource_conflict', 'others prove this name at the same moment');
};

/** Lets others prove the name of a domain that failed, where it still holds it. */
export const leaveName = async (context: Tools, origin: Origin, { name, domainId }: Named): Promise<void> => {
  await execute(context, {
    aggregate: domainName,
    stream: domainNameStream(name),
    context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
    decide: (state) => releaseName(state, { name, domainId }),
  });
};
