import type { EventStore } from '../../domain/ports/event-store.ts';
import { type DomainName, domainName, domainNameStream } from '../../domain/sending-domain/domain-name.ts';
import { sendingDomain, sendingDomainStream } from '../../domain/sending-domain/sending-domain.ts';
import { type Loaded, load } from '../execute.ts';

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
