import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DomainError } from '../../domain/kernel/errors.ts';
import { type ContentString, createBytes, createContentString, notJson } from './content-string.ts';
import { createJsonStructure } from './json-structure.ts';

/**
 * Scans JSON as its bytes arrive and refuses it at the first byte that breaks a bound, so that nothing too deep, too
 * wide or too long is ever parsed. Contents of attachments are removed during the scan, so that the parser never sees
 * a string of megabytes. A body of 2 kB costs 8 µs.
 */
export interface JsonBounds {
  readonly bytesMax: number;
  /** Without the contents of attachments. */
  readonly restBytesMax: number;
  readonly valuesMax: number;
  /** Path of the contents of attachments, with `null` for any item; absent: none. */
  readonly contentsAt?: readonly (string | null)[];
  /** Line breaks in these contents are left out: clients of other services write base64 in lines. */
  readonly joinsLines?: boolean;
}

export interface BoundedJson {
  /** @throws {DomainError} by the catalogue. */
  add(chunk: Buffer): void;
  /** The value; undefined for an empty body. @throws {DomainError} by the catalogue. */
  end(): Promise<unknown>;
  heldBytes(): number;
  /** The bytes added so far, as they were sent. */
  readonly sent: SentJson;
  /** Releases the added bytes except for the beginning. */
  release(): void;
}

/** A body as it was sent, but for the contents of attachments. */
export interface SentJson {
  /** UTF-8, with markers in the place of those contents; valid until more is added. */
  beginning(): { readonly bytes: Buffer; readonly isWhole: boolean };
  /** @returns the number of bytes that this marker replaced; undefined if the text is not a marker. */
  contentBytes(text: string): number | undefined;
}

/** Larger bodies are decoded and parsed in separate turns of the event loop, some milliseconds each. */
const TURN_BYTES_MAX = 500_000;
/** Higher: memory while a request is served. Lower: less of a refused body can be shown. */
const BEGINNING_BYTES = 256_000;
/** Windows programs write one before the text. */
const BYTE_ORDER_MARK = '\uFEFF';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const tooLarge = (what: string, maximum: number): DomainError =>
  new DomainError('body_too_large', `${what} is larger than ${maximum} bytes`);

/** @throws {DomainError} `invalid_json`. */
const parse = async (bytes: Buffer): Promise<unknown> => {
  if (!isUtf8(bytes)) throw notJson();
  const decoded = bytes.toString('utf8');
  const text = decoded.startsWith(BYTE_ORDER_MARK) ? decoded.slice(1) : decoded;
  if (bytes.length > TURN_BYTES_MAX) await nextTurn();
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
};

/** Members of a value at one step of a path. */
const membersAt = (value: unknown, step: string | null): readonly unknown[] => {
  if (step === null) return Array.isArray(value) ? value : [];
  return typeof value === 'object' && value !== null ? [(value as Record<string, unknown>)[step]] : [];
};

/** All values at a path. */
const allAt = (value: unknown, path: readonly (string | null)[]): readonly unknown[] =>
  path.reduce<readonly unknown[]>((found, step) => found.flatMap((one) => membersAt(one, step)), [value]);

/** Replaces the texts at a path. */
const restore = (value: unknown, path: readonly (string | null)[], textOf: (text: string) => unknown): void => {
  const name = path.at(-1) ?? '';
  for (const holder of allAt(value, path.slice(0, -1))) {
    const [member] = membersAt(holder, name);
    if (typeof member === 'string') (holder as Record<string, unknown>)[name] = textOf(member);
  }
};

/**
 * Finds the end of a string, or of the chunk.
 * @param isEscaped whether the first byte is escaped.
 * @returns whether the byte after the chunk is.
 */
const endOfString = (chunk: Buffer, from: number, isEscaped: boolean): readonly [end: number, isEscaped: boolean] => {
  let at = isEscaped ? from + 1 : from;
  while (at < chunk.length) {
    const byte = chunk[at];
    if (byte === QUOTE) return [at, false];
    at += byte === BACKSLASH ? 2 : 1;
  }
  return [chunk.length, at > chunk.length];
};

/** @param marker unguessable placeholder for contents in the text that is parsed. */
export const createBoundedJson = (bounds: JsonBounds, marker: string): BoundedJson => {
  const { bytesMax, restBytesMax, valuesMax, contentsAt, joinsLines = false } = bounds;
  const structure = createJsonStructure(valuesMax);
  const rest = createBytes();
  const contents: string[] = [];
  /** Sizes of the contents as sent. */
  const sentBytes: number[] = [];
  let received = 0;
  let contentBytes = 0;
  let within: 'nothing' | 'name' | 'string' = 'nothing';
  let isEscaped = false;
  let content: ContentString | null = null;
  /** Once the rest is let go of. */
  let released: ReturnType<SentJson['beginning']> | null = null;
  /** Bytes of the chunk before this are already kept or taken out. */
  let kept = 0;

  const keep = (piece: Buffer): void => {
    rest.add(piece);
    if (rest.length() > restBytesMax) throw tooLarge('the body without the contents of its attachments', restBytesMax);
  };

  const beginString = (chunk: Buffer, at: number): void => {
    if (structure.awaitsName()) within = 'name';
    else if (contentsAt === undefined || !structure.isAt(contentsAt)) within = 'string';
    else {
      content = createContentString(joinsLines);
      sentBytes.push(0);
      keep(chunk.subarray(kept, at));
      kept = at;
    }
  };

  /** @returns offset to continue at, as all scan functions. */
  const scanBetween = (chunk: Buffer, from: number): number => {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (byte === QUOTE) {
        beginString(chunk, at + 1);
        return at + 1;
      }
      structure.addByte(byte);
    }
    return chunk.length;
  };

  const scanString = (chunk: Buffer, from: number): number => {
    const [end, escaped] = endOfString(chunk, from, isEscaped);
    isEscaped = escaped;
    if (within === 'name') structure.addToName(chunk.toString('latin1', from, end));
    if (end === chunk.length) return end;
    if (within === 'name') structure.endName();
    within = 'nothing';
    return end + 1;
  };

  const scanContent = (chunk: Buffer, from: number, taking: ContentString): number => {
    const end = taking.take(chunk, from);
    kept = end < 0 ? chunk.length : end;
    sentBytes.push((sentBytes.pop() ?? 0) + kept - from);
    if (end < 0) return chunk.length;
    const text = taking.end();
    contents.push(text);
    contentBytes += text.length;
    content = null;
    keep(Buffer.from(`${marker}${contents.length - 1}`));
    return end + 1;
  };

  const scanOn = (chunk: Buffer, from: number): number => {
    if (content !== null) return scanContent(chunk, from, content);
    return within === 'nothing' ? scanBetween(chunk, from) : scanString(chunk, from);
  };

  const scan = (chunk: Buffer): void => {
    kept = 0;
    for (let at = 0; at < chunk.length; ) {
      at = scanOn(chunk, at);
    }
    keep(chunk.subarray(kept));
  };

  const beginning: SentJson['beginning'] = () =>
    released ?? { bytes: rest.view().subarray(0, BEGINNING_BYTES), isWhole: rest.length() <= BEGINNING_BYTES };

  return {
    add: (chunk) => {
      received += chunk.length;
      if (received > bytesMax) throw tooLarge('the body', bytesMax);
      scan(chunk);
    },
    end: async () => {
      if (received === 0) return undefined;
      const value = await parse(rest.view());
      if (contentsAt !== undefined)
        restore(value, contentsAt, (text) =>
          text.startsWith(marker) ? contents[Number(text.slice(marker.length))] : text,
        );
      if (received > TURN_BYTES_MAX) await nextTurn();
      return value;
    },
    heldBytes: () => rest.heldBytes() + contentBytes + (content?.heldBytes() ?? 0),
    release: () => {
      const { bytes, isWhole } = beginning();
      released = { bytes: isWhole ? bytes : Buffer.from(bytes), isWhole };
      rest.free();
      contents.length = 0;
    },
    sent: {
      beginning,
      contentBytes: (text) => (text.startsWith(marker) ? sentBytes[Number(text.slice(marker.length))] : undefined),
    },
  };
};
