/**
 * Collects bytes that arrive in pieces, in at most twice their memory: kept one by one, a piece costs a hundred bytes.
 */
export interface Bytes {
  add(piece: Buffer): void;
  length(): number;
  /** Memory in use. */
  heldBytes(): number;
  /** All bytes; valid until the next change. */
  view(): Buffer;
  clear(): void;
}

const FIRST_BYTES = 4_096;

export const createBytes = (): Bytes => {
  /** A single piece is not copied. */
  let only: Buffer | null = null;
  let bytes = Buffer.alloc(0);
  let length = 0;

  const append = (piece: Buffer): void => {
    if (length + piece.length > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * bytes.length, length + piece.length));
      bytes.copy(larger, 0, 0, length);
      bytes = larger;
    }
    piece.copy(bytes, length);
    length += piece.length;
  };

  return {
    add: (piece) => {
      if (piece.length === 0) return;
      if (length === 0 && only === null) {
        only = piece;
        return;
      }
      if (only !== null) append(only);
      only = null;
      append(piece);
    },
    length: () => only?.length ?? length,
    heldBytes: () => only?.length ?? bytes.length,
    view: () => only ?? bytes.subarray(0, length),
    clear: () => {
      only = null;
      length = 0;
    },
  };
};
