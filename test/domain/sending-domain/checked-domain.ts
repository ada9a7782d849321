import { fold } from '../../../src/domain/kernel/aggregate.ts';
import type { SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import { settleDomain } from '../../../src/domain/sending-domain/domain-records.ts';
import type { DkimKey, RecordState, SeenRecord } from '../../../src/domain/sending-domain/events.ts';
import {
  dkimHost,
  type ExistingSendingDomain,
  sendingDomain,
} from '../../../src/domain/sending-domain/sending-domain.ts';
import { contextAt, NOW, recordedAs } from '../../support/specification.ts';

export const NAME = 'example.test';
export const TOKEN = 'token';
export const OWNERSHIP = `_outbox.${NAME}`;

/** A pair of keys with selectors `r<number>` and `e<number>`. */
export const pair = (number: number): DkimKey[] => [
  { selector: `r${number}`, algorithm: 'rsa-sha256', publicKey: `R${number}`, secretId: `sr${number}` },
  { selector: `e${number}`, algorithm: 'ed25519-sha256', publicKey: `E${number}`, secretId: `se${number}` },
];

export const after = (ms: number): string => new Date(Date.parse(NOW) + ms).toISOString();

const base = { domainId: 'dom_1', name: NAME };
export const registered: SendingDomainEvent = {
  type: 'DomainRegistered',
  data: { ...base, token: TOKEN, dkim: pair(1) },
};
export const verified: SendingDomainEvent = { type: 'DomainVerified', data: { ...base, method: 'dns' } };
export const captured: SendingDomainEvent = { type: 'DomainVerified', data: { ...base, method: 'capture' } };
export const failed: SendingDomainEvent = { type: 'DomainFailed', data: base };
export const degraded = (failsAt: string, ...records: string[]): SendingDomainEvent => ({
  type: 'DomainDegraded',
  data: { ...base, failsAt, records },
});
export const added = (number: number): SendingDomainEvent => ({
  type: 'DkimKeysAdded',
  data: { domainId: 'dom_1', keys: pair(number) },
});
export const activated = (selectors: string[], safeToRemoveAt: string | null = null): SendingDomainEvent => ({
  type: 'DkimKeysActivated',
  data: { domainId: 'dom_1', selectors, safeToRemoveAt },
});

/** A domain after these events, which all happen at one time. */
export const domainAfter = (events: readonly SendingDomainEvent[], at = NOW): ExistingSendingDomain => {
  const recorded = events.map((event, revision) =>
    recordedAs(event, { stream: 'domain-dom_1', revision }, contextAt(at)),
  );
  const state = fold(sendingDomain, recorded);
  if (state.status === 'absent') throw new Error('there is no domain');
  return state;
};

/** States by host or by selector. Records without an entry are missing. */
export const look = (states: Readonly<Record<string, RecordState>>, now = NOW) => {
  const hosts = [OWNERSHIP, ...[1, 2, 3].flatMap((number) => pair(number).map(({ selector }) => selector))];
  const records = hosts.map((host): SeenRecord => {
    const isOwnership = host === OWNERSHIP;
    return {
      kind: isOwnership ? 'ownership' : 'dkim',
      host: isOwnership ? host : dkimHost(NAME, host),
      state: states[host] ?? 'missing',
      problem: null,
      seen: [],
    };
  });
  return { records, token: TOKEN, now };
};

export const settled = (
  events: readonly SendingDomainEvent[],
  states: Readonly<Record<string, RecordState>>,
  now = NOW,
): readonly SendingDomainEvent[] => settleDomain(domainAfter(events), look(states, now));
