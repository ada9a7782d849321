/** Bytes that arrive in pieces of any size, in memory that is at most twice as much: a piece alone can cost a hundred. */
export interface Bytes {
  add(piece: Buffer): void;
  length(): number;
  /** Memory in use. */
  heldBytes(): number;
  /** All of them; valid until the next change. */
  view(): Buffer;
  clear(): void;
}

const FIRST_BYTES = 4_096;

export const createBytes = (): Bytes => {
  /** What came in one piece is never copied. */
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
