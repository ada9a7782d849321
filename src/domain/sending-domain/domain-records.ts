import type { Aggregate } from '../decider.ts';
import type { StreamName } from '../event-store.ts';
import type { DomainRecordsEvent } from '../events.ts';
import type { RecordState } from './events.ts';

/** What the DNS says of a domain's mail, beside the proof that the name is its owner's. */
export interface DomainRecords {
  readonly spf: RecordState;
  readonly dkim: RecordState;
  readonly dmarc: RecordState;
}

/** Nobody has looked yet. */
export const RECORDS_UNKNOWN: DomainRecords = { spf: 'unknown', dkim: 'unknown', dmarc: 'unknown' };

export const domainRecordsStream = (domainId: string): StreamName => `domainRecords-${domainId}`;

export const domainRecords: Aggregate<DomainRecords, DomainRecordsEvent> = {
  category: 'domainRecords',
  initial: RECORDS_UNKNOWN,
  evolve: (_state, event) => {
    switch (event.type) {
      case 'DomainRecordsChecked': {
        const { domainId: _, ...records } = event.data;
        return records;
      }
      default:
        return event.type satisfies never;
    }
  },
};

/** RFC 7208 §4.5: the version, and nothing or a space behind it. */
const SPF = /^v=spf1(?: |$)/i;
/** RFC 7489 §6.3: the version comes first, and a policy is required. */
const DMARC = /^v=DMARC1\s*(?:;|$)/;
const DMARC_POLICY = /;\s*p\s*=\s*(?:none|quarantine|reject)\s*(?:;|$)/i;

/** Several records of one kind are as bad as none: whoever checks takes neither (RFC 7208 §4.5, RFC 7489 §6.6.3). */
const only = (records: readonly string[], isGood: (record: string) => boolean): RecordState => {
  const [first, ...others] = records;
  if (first === undefined) return 'missing';
  return others.length === 0 && isGood(first) ? 'valid' : 'invalid';
};

/** @param texts TXT records of the domain. */
export const spfState = (texts: readonly string[]): RecordState =>
  only(
    texts.filter((text) => SPF.test(text)),
    () => true,
  );

/** @param texts TXT records of `_dmarc.<domain>`. */
export const dmarcState = (texts: readonly string[]): RecordState =>
  only(
    texts.filter((text) => DMARC.test(text)),
    (text) => DMARC_POLICY.test(text),
  );

/** Notes what was seen where it is not what was seen before. */
export const checkRecords = (
  state: DomainRecords,
  { domainId, ...seen }: DomainRecords & { readonly domainId: string },
): readonly DomainRecordsEvent[] =>
  state.spf === seen.spf && state.dkim === seen.dkim && state.dmarc === seen.dmarc
    ? []
    : [{ type: 'DomainRecordsChecked', data: { domainId, ...seen } }];
