import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { Evidence } from '../evidence.ts';
import { signaturesOf } from '../received-mail.ts';
import type { Violation } from '../violation.ts';

const violation = (what: string): Violation => ({ promise: 'domains', what });

/** A key without its private half cannot sign, so its mail would wait forever. */
const keysWithoutSecrets = ({ keys }: Evidence): readonly Violation[] =>
  keys
    .filter(({ fits, isDestroyed }) => !fits && !isDestroyed)
    .map(({ selector }) => violation(`the vault does not hold the private half of the key ${selector}`));

/** A key recorded as destroyed must really be gone. */
const destroyedInName = ({ keys }: Evidence): readonly Violation[] =>
  keys
    .filter(({ fits, isDestroyed }) => fits && isDestroyed)
    .map(({ selector }) => violation(`the vault holds the private half of the key ${selector}, which is destroyed`));

/** Every mail must be signed with keys from the log. */
const unsigned = ({ keys, mails }: Evidence): readonly Violation[] => {
  const known = new Set(keys.map(({ selector }) => selector));
  return mails.flatMap((mail) => {
    const selectors = signaturesOf(mail);
    if (selectors.length === 0) return [violation('a mail arrived without a signature')];
    const strange = selectors.filter((selector) => !known.has(selector));
    return strange.map((selector) => violation(`a mail is signed by ${selector}, a key of no domain`));
  });
};

/** A name belongs to one verified domain, even if several domains prove it. */
const namesOfOthers = (events: readonly RecordedEvent[]): readonly Violation[] => {
  const holders = new Map<string, string>();
  return events.flatMap(({ type, data }) => {
    if (type === 'DomainNameTaken') holders.set(data.name, data.domainId);
    if (type === 'DomainNameReleased') holders.delete(data.name);
    if (type !== 'DomainVerified' || holders.get(data.name) === data.domainId) return [];
    return [violation(`${data.domainId} was verified, and ${data.name} was not its own`)];
  });
};

/** Keys have both halves until they are destroyed, mail is signed, and a verified name belongs to one domain. */
export const domainsAreWhole = (evidence: Evidence): readonly Violation[] => [
  ...keysWithoutSecrets(evidence),
  ...destroyedInName(evidence),
  ...unsigned(evidence),
  ...namesOfOthers(evidence.events),
];
