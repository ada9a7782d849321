/** The only source of randomness in a simulation. The same seed gives the same sequence. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number between the bounds, both included. */
  between(from: number, to: number): number;
  /** True with this probability; 0 draws no number. */
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  bytes(length: number): Uint8Array;
  /** RFC 9562 §5.4. */
  uuid(): string;
}

const WARM_UP = 12;
const UINT32 = 2 ** 32;

/** sfc32: small, fast and statistically sound. */
const createGenerator = (seed: number): (() => number) => {
  let [a, b, c, counter] = [seed >>> 0, Math.floor(seed / UINT32) >>> 0, 0x9e3779b9, 1];
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let index = 0; index < WARM_UP; index += 1) next();
  return next;
};

const asUuid = (bytes: Uint8Array): string => {
  const stamped = Buffer.from(bytes);
  stamped.writeUInt8((stamped.readUInt8(6) & 0x0f) | 0x40, 6);
  stamped.writeUInt8((stamped.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = stamped.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
};

export const createRandom = (seed: number): Random => {
  const uint32 = createGenerator(seed);
  const next = (): number => uint32() / UINT32;

  const bytes = (length: number): Uint8Array => {
    const filled = Buffer.alloc(length);
    for (let at = 0; at < length; at += 1) filled[at] = uint32() & 0xff;
    return filled;
  };

  return {
    next,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    chance: (probability) => probability > 0 && next() < probability,
    pick: (items) => {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new RangeError('cannot pick from an empty list');
      return item;
    },
    bytes,
    uuid: () => asUuid(bytes(16)),
  };
};
