import { hash } from 'node:crypto';

/**
 * Maps millions of texts to numbers, in 16 to 32 bytes each. A `Map` needs ten times that and is limited to 16.7
 * million entries. Texts are stored as 64 bits of their SHA-256: among 10 million texts, a collision happens once in
 * 370,000 logs.
 */
export interface Fingerprints {
  /** Null if the text was not set. */
  get(text: string): number | null;
  /** Stores a number for the text. @param value from 0 to 2^32 - 2. */
  set(text: string, value: number): void;
}

const SLOTS_AT_FIRST = 1 << 12;
/** Higher: longer searches. Lower: more memory. */
const FILL_MAX = 0.75;

interface Table {
  readonly mask: number;
  readonly high: Uint32Array;
  readonly low: Uint32Array;
  /** The value plus one; 0 if the slot is free. */
  readonly values: Uint32Array;
}

const tableOf = (slots: number): Table => ({
  mask: slots - 1,
  high: new Uint32Array(slots),
  low: new Uint32Array(slots),
  values: new Uint32Array(slots),
});

/** The slot of a key, or the free slot for it. */
const slotOf = ({ mask, high, low, values }: Table, a: number, b: number): number => {
  let slot = a & mask;
  while (values[slot] !== 0 && (high[slot] !== a || low[slot] !== b)) slot = (slot + 1) & mask;
  return slot;
};

const put = (table: Table, a: number, b: number, stored: number): boolean => {
  const slot = slotOf(table, a, b);
  const isNew = table.values[slot] === 0;
  table.high[slot] = a;
  table.low[slot] = b;
  table.values[slot] = stored;
  return isNew;
};

const doubled = (before: Table): Table => {
  const table = tableOf(2 * (before.mask + 1));
  for (const [slot, stored] of before.values.entries()) {
    if (stored !== 0) put(table, before.high[slot] as number, before.low[slot] as number, stored);
  }
  return table;
};

export const createFingerprints = (): Fingerprints => {
  let table = tableOf(SLOTS_AT_FIRST);
  let count = 0;
  return {
    get: (text) => {
      const bytes = hash('sha256', text, 'buffer');
      const stored = table.values[slotOf(table, bytes.readUInt32LE(0), bytes.readUInt32LE(4))] as number;
      return stored === 0 ? null : stored - 1;
    },
    set: (text, value) => {
      const bytes = hash('sha256', text, 'buffer');
      if (put(table, bytes.readUInt32LE(0), bytes.readUInt32LE(4), value + 1)) count += 1;
      if (count > FILL_MAX * (table.mask + 1)) table = doubled(table);
    },
  };
};
