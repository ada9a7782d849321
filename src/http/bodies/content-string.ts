import { DomainError } from '../../domain/kernel/errors.ts';

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
  /** Its memory is used again. */
  clear(): void;
  /** Its memory is let go of. */
  free(): void;
}

const FIRST_BYTES = 4_096;
const NONE = Buffer.alloc(0);

export const createBytes = (): Bytes => {
  /** A single piece is not copied. */
  let only: Buffer | null = null;
  let bytes: Buffer = NONE;
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
    free: () => {
      only = null;
      bytes = NONE;
      length = 0;
    },
  };
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
/** Digits after `\u`. */
const DIGITS = 4;
/** Strings of this length live outside the heap. Less is copied more often, more is held longer. */
const PIECE_BYTES = 1_048_576;

export const notJson = (): DomainError => new DomainError('invalid_json', 'the body is not well-formed JSON in UTF-8');

/** Decodes the content of an attachment, a JSON string, while its bytes arrive. */
export interface ContentString {
  /** @returns offset of the closing quote in the chunk; -1: not in this chunk. @throws {DomainError} `invalid_json`. */
  take(chunk: Buffer, from: number): number;
  /** @throws {DomainError} `invalid_json`. */
  end(): string;
  heldBytes(): number;
}

/** Finds successive occurrences of a byte, searching each part of the chunk once. */
const finder = (chunk: Buffer, byte: number) => {
  let found = -2;
  return (from: number): number => {
    if (found === -2 || (found >= 0 && found < from)) found = chunk.indexOf(byte, from);
    return found < 0 ? chunk.length : found;
  };
};

/** @param joinsLines line breaks are left out. */
export const createContentString = (joinsLines: boolean): ContentString => {
  const bytes = createBytes();
  let text = '';
  let hasEscapes = false;
  /** Bytes left of an escape sequence. */
  let missing = 0;

  /** A line break has an escape: in JSON it cannot stand as it is. @throws {SyntaxError} */
  const unescaped = (piece: string): string => {
    const decoded = JSON.parse(`"${piece}"`) as string;
    return joinsLines ? decoded.replaceAll(/[\r\n]+/g, '') : decoded;
  };

  const flush = (): void => {
    const piece = bytes.view().toString('latin1');
    bytes.clear();
    try {
      text += hasEscapes ? unescaped(piece) : piece;
    } catch {
      throw notJson();
    }
    hasEscapes = false;
  };

  const skipEscape = (chunk: Buffer, from: number): number => {
    let at = from;
    for (; missing > 0 && at < chunk.length; at += 1) {
      missing = missing === 1 && chunk[at] === LETTER_U ? DIGITS : missing - 1;
    }
    return at;
  };

  /** Finds the end of the string, or of the chunk. PHP and .NET escape some letters of base64. */
  const endIn = (chunk: Buffer, from: number): number => {
    const nextQuote = finder(chunk, QUOTE);
    const nextBackslash = finder(chunk, BACKSLASH);
    let at = skipEscape(chunk, from);
    while (at < chunk.length) {
      const backslash = nextBackslash(at);
      const quote = nextQuote(at);
      if (quote <= backslash) return quote;
      hasEscapes = true;
      missing = 1;
      at = skipEscape(chunk, backslash + 1);
    }
    return at;
  };

  return {
    take: (chunk, from) => {
      const end = endIn(chunk, from);
      bytes.add(chunk.subarray(from, end));
      if (bytes.length() >= PIECE_BYTES && missing === 0) flush();
      return end < chunk.length ? end : -1;
    },
    end: () => {
      if (bytes.length() > 0) flush();
      return text;
    },
    heldBytes: () => text.length + bytes.heldBytes(),
  };
};
