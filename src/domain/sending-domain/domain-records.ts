import type { Aggregate } from '../decider.ts';
import type { DomainRecordsEvent } from '../events.ts';
import type { StreamName } from '../ports/event-store.ts';
import type { RecordKind, RecordSeen, RecordState } from './events.ts';

/** What the DNS says of a domain's mail. */
export interface DomainRecords {
  readonly spf: RecordState;
  /** Of the RSA key that signs, or is to. */
  readonly dkim: RecordState;
  readonly dmarc: RecordState;
  /** Each record by itself. */
  readonly records: readonly RecordSeen[];
  /** When this was first seen, or seen again by somebody who asked; null: nobody has looked yet. */
  readonly checkedAt: string | null;
}

/** Nobody has looked yet. */
export const RECORDS_UNKNOWN: DomainRecords = {
  ...{ spf: 'unknown', dkim: 'unknown', dmarc: 'unknown' },
  ...{ records: [], checkedAt: null },
};

export const domainRecordsStream = (domainId: string): StreamName => `domainRecords-${domainId}`;

export const domainRecords: Aggregate<DomainRecords, DomainRecordsEvent> = {
  category: 'domainRecords',
  initial: RECORDS_UNKNOWN,
  evolve: (_state, event, { occurredAt }) => {
    switch (event.type) {
      case 'DomainRecordsChecked': {
        const { domainId: _, ...seen } = event.data;
        return { ...seen, checkedAt: occurredAt };
      }
      default:
        return event.type satisfies never;
    }
  },
};

export interface CheckRecords {
  readonly domainId: string;
  readonly records: readonly RecordSeen[];
  /** Host of the key record that counts; null: there is none. */
  readonly dkimHost: string | null;
  /** Somebody asked: that it was looked at is worth a note although nothing is new. */
  readonly isAsked: boolean;
  readonly now: string;
}

/** Whoever asks more often gets the same answer without another note. Shorter lets one who polls fill the log. */
const NOTED_AGAIN_MS = 60_000;

const same = (a: readonly RecordSeen[], b: readonly RecordSeen[]): boolean => JSON.stringify(a) === JSON.stringify(b);

const isOld = (checkedAt: string | null, now: string): boolean =>
  checkedAt === null || Date.parse(now) - Date.parse(checkedAt) >= NOTED_AGAIN_MS;

/** Answers come in any order; a name server that turns them round says nothing new. */
const inOrder = (records: readonly RecordSeen[]): RecordSeen[] =>
  records.map((record) => ({ ...record, seen: record.seen.toSorted() }));

/** Notes what was seen where it is not what was seen before. */
export const checkRecords = (
  state: DomainRecords,
  { domainId, records, dkimHost, isAsked, now }: CheckRecords,
): readonly DomainRecordsEvent[] => {
  const seen = inOrder(records);
  if (same(state.records, seen) && !(isAsked && isOld(state.checkedAt, now))) return [];
  const stateOf = (isIt: (record: RecordSeen) => boolean): RecordState => seen.find(isIt)?.state ?? 'unknown';
  const ofKind = (kind: RecordKind): RecordState => stateOf((record) => record.kind === kind);
  const dkim = stateOf(({ host }) => host === dkimHost);
  return [
    {
      type: 'DomainRecordsChecked',
      data: { domainId, spf: ofKind('spf'), dkim, dmarc: ofKind('dmarc'), records: seen },
    },
  ];
};
