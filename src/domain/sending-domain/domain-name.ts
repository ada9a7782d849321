import type { Aggregate } from '../decider.ts';
import type { StreamName } from '../event-store.ts';
import type { DomainNameEvent } from '../events.ts';
import type { VerificationMethod } from './events.ts';

/** Which domain has proved the name; the latest proof counts. */
export type DomainName =
  | { readonly status: 'free' }
  | { readonly status: 'taken'; readonly domainId: string; readonly method: VerificationMethod };

export const domainNameStream = (name: string): StreamName => `domainName-${name}`;

/** A name taken while mail was captured is nobody's once it is not. */
export const isTakenByAnother = (name: DomainName, domainId: string, capturing: boolean): boolean =>
  name.status === 'taken' && name.domainId !== domainId && (capturing || name.method === 'dns');

export const domainName: Aggregate<DomainName, DomainNameEvent> = {
  category: 'domainName',
  initial: { status: 'free' },
  evolve: (_state, event) => {
    switch (event.type) {
      case 'DomainNameTaken':
        return { status: 'taken', domainId: event.data.domainId, method: event.data.method };
      default:
        return event.type satisfies never;
    }
  },
};
