/** One stored event. Commit and prepare position are the same number, as on a real node. */
export interface StoredRecord {
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly created: Date;
}

export type ProposedEvent = Pick<StoredRecord, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>;

export interface ProposedAppend {
  readonly stream: string;
  readonly expected: number | 'no-stream' | 'any' | 'stream-exists';
  readonly events: readonly ProposedEvent[];
}

export type AppendOutcome =
  | { readonly kind: 'written'; readonly revision: number | 'no-stream'; readonly position: number }
  | { readonly kind: 'wrong-revision'; readonly current: number | 'no-stream' }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'bad-request' };

/** The data, which alone survives a restart of the server. */
export interface StoredLog {
  readonly records: readonly StoredRecord[];
  append(append: ProposedAppend): AppendOutcome;
  stream(name: string): readonly StoredRecord[];
  /** Number of records at or before the position. */
  countTo(position: number): number;
  /** Calls the listener after every append. Returns a function that unsubscribes it. */
  watch(listener: () => void): () => void;
  /** Forgets the ids by which a repeated append with "any" is recognised. A restart does this. */
  forgetRecentIds(): void;
  /** Removes everything after the first `count` records, as restoring a backup does. */
  restoreTo(count: number): void;
}

/** Default of the server. */
export const MAX_APPEND_BYTES = 1024 * 1024;
/** Bytes of a record in addition to its data. The exact number does not matter: positions must only have gaps. */
const RECORD_BYTES = 117;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const systemEvent = (type: string): ProposedEvent => ({
  id: crypto.randomUUID(),
  type,
  contentType: 'application/json',
  data: Buffer.from('{}'),
  metadata: new Uint8Array(),
});

const isBadRequest = ({ stream, events }: ProposedAppend): boolean =>
  stream === '' || events.some(({ id, type }) => !UUID.test(id) || type === '');

const isTooLarge = ({ events }: ProposedAppend): boolean =>
  events.reduce((bytes, { data, metadata }) => bytes + data.length + metadata.length, 0) > MAX_APPEND_BYTES;

/** True if the events after `expected` have the same ids. Their data is not compared. */
const isRepeat = (existing: readonly StoredRecord[], expected: number, events: readonly ProposedEvent[]): boolean =>
  events.length > 0 && events.every(({ id }, index) => existing[expected + 1 + index]?.id === id);

const revisionOf = (existing: readonly StoredRecord[]): number | 'no-stream' =>
  existing.at(-1)?.revision ?? 'no-stream';

const countUpTo = (records: readonly StoredRecord[], position: number): number => {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records[middle]?.position ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
};

export const createStoredLog = (): StoredLog => {
  const records: StoredRecord[] = [];
  const streams = new Map<string, StoredRecord[]>();
  const listeners = new Set<() => void>();
  const recentIds = new Map<string, StoredRecord>();
  let end = 0;

  const store = (event: ProposedEvent, stream: string, existing: StoredRecord[]): void => {
    const record = { ...event, stream, revision: existing.length, position: end, created: new Date() };
    end += RECORD_BYTES + event.data.length;
    existing.push(record);
    records.push(record);
    recentIds.set(`${stream}/${event.id}`, record);
  };

  const write = (name: string, events: readonly ProposedEvent[]): AppendOutcome => {
    const existing = streams.get(name) ?? [];
    for (const event of events) store(event, name, existing);
    streams.set(name, existing);
    if (events.length === 0) end += RECORD_BYTES; // an empty append succeeds and uses a position
    for (const listener of listeners) listener();
    return { kind: 'written', revision: revisionOf(existing), position: records.at(-1)?.position ?? 0 };
  };

  const repeated = (last: StoredRecord): AppendOutcome => ({
    kind: 'written',
    revision: last.revision,
    position: last.position,
  });

  const appendAny = ({ stream, events }: ProposedAppend): AppendOutcome => {
    const known = events.map(({ id }) => recentIds.get(`${stream}/${id}`));
    const last = known.at(-1);
    if (last !== undefined && !known.includes(undefined)) return repeated(last);
    if (known.some((record) => record !== undefined)) return conflict(streams.get(stream) ?? []);
    return write(stream, events);
  };

  const conflict = (existing: readonly StoredRecord[]): AppendOutcome => ({
    kind: 'wrong-revision',
    current: revisionOf(existing),
  });

  const appendAt = (expected: number, { stream, events }: ProposedAppend): AppendOutcome => {
    const existing = streams.get(stream) ?? [];
    if (existing.length - 1 === expected) return write(stream, events);
    const last = existing[expected + events.length];
    return last !== undefined && isRepeat(existing, expected, events) ? repeated(last) : conflict(existing);
  };

  const appendExpected = (append: ProposedAppend): AppendOutcome => {
    if (append.expected === 'no-stream') return appendAt(-1, append);
    if (typeof append.expected === 'number') return appendAt(append.expected, append);
    const known = append.expected === 'any' || (streams.get(append.stream)?.length ?? 0) > 0;
    return known ? appendAny(append) : conflict([]);
  };

  const append = (append: ProposedAppend): AppendOutcome => {
    if (isBadRequest(append)) return { kind: 'bad-request' };
    return isTooLarge(append) ? { kind: 'too-large' } : appendExpected(append);
  };

  write('$$$settings', [systemEvent('$metadata')]);
  write('$users', [systemEvent('$User')]);

  return {
    records,
    append,
    stream: (name) => streams.get(name) ?? [],
    countTo: (position) => countUpTo(records, position),
    watch: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    forgetRecentIds: () => recentIds.clear(),
    restoreTo: (count) => {
      records.length = count;
      end = (records.at(-1)?.position ?? 0) + RECORD_BYTES;
      for (const [name, existing] of streams) {
        const kept = existing.filter((record) => record.position < end);
        streams.set(name, kept);
      }
    },
  };
};
