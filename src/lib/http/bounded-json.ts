import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Scans JSON as its bytes arrive and refuses it at the first byte that breaks a bound, so that nothing too deep, too
 * wide or too long is ever parsed. Contents of attachments are removed during the scan, so that the parser never sees
 * a string of megabytes. A body of 2 kB costs 8 µs.
 */

/** A body that breaks a bound or is not JSON. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  readonly code: 'invalid_json' | 'body_too_large' | 'invalid_request';
  /** Problems by field. */
  readonly details: Readonly<Record<string, readonly string[]>> | undefined;

  constructor(code: BodyError['code'], message: string, details?: BodyError['details']) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/**
 * Collects bytes that arrive in pieces, in at most twice their memory: kept one by one, a piece costs a hundred bytes.
 */
interface Bytes {
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

export const notJson = (): BodyError => new BodyError('invalid_json', 'the body is not well-formed JSON in UTF-8');

/** Decodes the content of an attachment, a JSON string or a list of bytes, while it arrives. */
interface ContentReader {
  /** @returns offset of the closing quote or bracket in the chunk; -1: not in this chunk. @throws {BodyError} `invalid_json`. */
  take(chunk: Buffer, from: number): number;
  /** @throws {BodyError} `invalid_json`. */
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
const createContentString = (joinsLines: boolean): ContentReader => {
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

const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const BYTE_MAX = 255;
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** A list of bytes, as `JSON.stringify` writes the `data` of a `Buffer`. It ends as base64. */
const createContentList = (): ContentReader => {
  const bytes = createBytes();
  /** The number that is being read; -1: none. */
  let value = -1;
  let isEnded = false;
  let isEmpty = true;

  const addDigit = (digit: number): void => {
    if (isEnded || value === 0) throw notJson();
    value = Math.max(value, 0) * 10 + digit;
    if (value > BYTE_MAX)
      throw new BodyError('invalid_request', 'the data of a Buffer must be bytes: numbers from 0 to 255');
  };

  /** @returns the number that ends here. */
  const endNumber = (): number => {
    if (value < 0) throw notJson();
    const ended = value;
    value = -1;
    isEnded = false;
    isEmpty = false;
    return ended;
  };

  /** @returns the byte that ends before this one; -1: none. */
  const addByte = (byte: number): number => {
    if (byte >= DIGIT_0 && byte <= DIGIT_9) addDigit(byte - DIGIT_0);
    else if (byte === COMMA) return endNumber();
    else if (SPACES.has(byte)) isEnded = value >= 0;
    else throw notJson();
    return -1;
  };

  /** Bytes of the list in a part of a chunk. */
  const bytesIn = (part: Buffer): number[] => {
    const found: number[] = [];
    for (const character of part) {
      const byte = addByte(character);
      if (byte >= 0) found.push(byte);
    }
    return found;
  };

  return {
    take: (chunk, from) => {
      const end = chunk.indexOf(CLOSE_LIST, from);
      const found = bytesIn(chunk.subarray(from, end < 0 ? chunk.length : end));
      // `[]` has no number before its end.
      if (end >= 0 && (value >= 0 || !isEmpty)) found.push(endNumber());
      bytes.add(Buffer.from(found));
      return end;
    },
    end: () => bytes.view().toString('base64'),
    heldBytes: () => bytes.heldBytes(),
  };
};

/** A batch needs five. Each level costs a stack frame when the value is walked. */
const DEPTH_MAX = 16;
/** The longest list of addresses. Bounds the work per item of any list. */
const MEMBERS_MAX = 1_000;
/** The longest valid name, 256 characters, with each one escaped. */
const NAME_BYTES_MAX = 2_000;
/** Longer names are cut in error messages. */
const SHOWN_CHARACTERS_MAX = 100;

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_MAP = 0x7b;
const CLOSE_MAP = 0x7d;

/** Structure of a JSON text scanned so far: depth, members and names. Grammar is left to the parser. */
interface JsonStructure {
  /** A byte outside strings. @throws {BodyError} a bound is broken. */
  addByte(byte: number): void;
  /** Whether the next string is the name of a member. */
  awaitsName(): boolean;
  /** Appends part of a name. @throws {BodyError} it is too long. */
  addToName(text: string): void;
  /** @throws {BodyError} `invalid_json`. */
  endName(): void;
  /** Whether the next string is a value at this path, with `null` for any item. */
  isAt(path: readonly (string | null)[]): boolean;
}

const outOfBounds = (field: string, problem: string): BodyError =>
  new BodyError('invalid_request', 'the request is invalid: see details', { [field]: [problem] });

/** @param name UTF-8, one character for each byte. */
const truncated = (name: string): string => {
  const decoded = Buffer.from(name, 'latin1').toString();
  return decoded.length > SHOWN_CHARACTERS_MAX ? `${decoded.slice(0, SHOWN_CHARACTERS_MAX)}…` : decoded;
};

const unescaped = (name: string): unknown => {
  try {
    return JSON.parse(`"${name}"`);
  } catch {
    throw notJson();
  }
};

/** @param valuesMax in the whole text. */
const createJsonStructure = (valuesMax: number): JsonStructure => {
  // By depth, from 1: whether it is an object, its commas so far, and the name of the current member.
  const isMap: boolean[] = [];
  const commas: number[] = [];
  const names: string[] = [];
  let depth = 0;
  let values = 0;
  let awaitsName = false;
  let name = '';

  const stepAt = (level: number): string => {
    if (isMap[level] !== true) return `[${commas[level]}]`;
    return level === 1 ? truncated(names[1] ?? '') : `.${truncated(names[level] ?? '')}`;
  };

  /** @param level depth of the path in the message: `messages[3].to`. */
  const refuse = (level: number, problem: string): BodyError => {
    const place = Array.from({ length: level }, (_, index) => stepAt(index + 1)).join('') || 'body';
    const field = level > 0 && isMap[1] === true ? stepAt(1) : 'body';
    return outOfBounds(field, `${place} ${problem}`);
  };

  const countValue = (): void => {
    values += 1;
    if (values > valuesMax) throw outOfBounds('body', `body must have at most ${valuesMax} values in all`);
  };

  const open = (map: boolean): void => {
    countValue();
    if (depth >= DEPTH_MAX) throw refuse(depth, `must not be nested deeper than ${DEPTH_MAX} levels`);
    depth += 1;
    isMap[depth] = map;
    commas[depth] = 0;
    names[depth] = '';
    awaitsName = map;
  };

  const close = (map: boolean): void => {
    if (depth === 0 || isMap[depth] !== map) throw notJson();
    depth -= 1;
    awaitsName = false;
  };

  const separate = (): void => {
    if (depth === 0) throw notJson();
    countValue();
    const map = isMap[depth] === true;
    const members = (commas[depth] ?? 0) + 1;
    if (members === MEMBERS_MAX) throw refuse(depth - 1, `must have at most ${MEMBERS_MAX} ${map ? 'keys' : 'items'}`);
    commas[depth] = members;
    awaitsName = map;
  };

  const isStep = (step: string | null, level: number): boolean =>
    step === null ? isMap[level] === false : isMap[level] === true && names[level] === step;

  return {
    addByte: (byte) => {
      switch (byte) {
        case COMMA:
          return separate();
        case COLON:
          awaitsName = false;
          return undefined;
        case OPEN_MAP:
        case OPEN_LIST:
          return open(byte === OPEN_MAP);
        case CLOSE_MAP:
        case CLOSE_LIST:
          return close(byte === CLOSE_MAP);
        default:
          return undefined;
      }
    },
    awaitsName: () => awaitsName,
    addToName: (text) => {
      name += text;
      if (name.length <= NAME_BYTES_MAX) return;
      throw refuse(depth - 1, `must not have a key longer than ${NAME_BYTES_MAX} bytes`);
    },
    endName: () => {
      // Assigning it changes an object's prototype.
      if ((name.includes('\\') ? unescaped(name) : name) === '__proto__') {
        throw new BodyError('invalid_json', 'the body names a field __proto__');
      }
      names[depth] = name;
      name = '';
    },
    isAt: (path) => depth === path.length && path.every((step, index) => isStep(step, index + 1)),
  };
};

export interface JsonBounds {
  readonly bytesMax: number;
  /** Without the contents of attachments. */
  readonly restBytesMax: number;
  readonly valuesMax: number;
  /** Path of the contents of attachments, with `null` for any item; absent: none. */
  readonly contentsAt?: readonly (string | null)[];
  /** Contents may be a `Buffer` as `JSON.stringify` writes it. Its `data` becomes base64. */
  readonly takesBuffers?: boolean;
  /** Line breaks in these contents are left out: clients of other services write base64 in lines. */
  readonly joinsLines?: boolean;
  /** The body may be a form. */
  readonly takesForms?: boolean;
}

/** A body that is read within bounds. */
export interface BoundedBody {
  /** @throws {BodyError} by the catalogue. */
  add(chunk: Buffer): void;
  /** The value; undefined for an empty body. @throws {BodyError} by the catalogue. */
  end(): Promise<unknown>;
  heldBytes(): number;
  /** The bytes added so far, as they were sent; null: they are not kept, because they are no JSON. */
  readonly sent: SentJson | null;
  /** Releases the added bytes except for the beginning. */
  release(): void;
}

export interface BoundedJson extends BoundedBody {
  readonly sent: SentJson;
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

export const tooLarge = (what: string, maximum: number): BodyError =>
  new BodyError('body_too_large', `${what} is larger than ${maximum} bytes`);

/** @throws {BodyError} `invalid_json`. */
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
  const { bytesMax, restBytesMax, valuesMax, contentsAt, joinsLines = false, takesBuffers = false } = bounds;
  const listAt = takesBuffers && contentsAt !== undefined ? [...contentsAt, 'data'] : undefined;
  const structure = createJsonStructure(valuesMax);
  const rest = createBytes();
  const contents: string[] = [];
  /** Sizes of the contents as sent. */
  const sentBytes: number[] = [];
  let received = 0;
  let contentBytes = 0;
  let within: 'nothing' | 'name' | 'string' = 'nothing';
  let isEscaped = false;
  let content: ContentReader | null = null;
  /** A list is written as a string. */
  let quote = '';
  /** Once the rest is let go of. */
  let released: ReturnType<SentJson['beginning']> | null = null;
  /** Bytes of the chunk before this are already kept or taken out. */
  let kept = 0;

  const keep = (piece: Buffer): void => {
    rest.add(piece);
    if (rest.length() > restBytesMax) throw tooLarge('the body without the contents of its attachments', restBytesMax);
  };

  const beginContent = (chunk: Buffer, at: number, reader: ContentReader): void => {
    content = reader;
    sentBytes.push(0);
    keep(chunk.subarray(kept, at));
    kept = at;
  };

  const beginString = (chunk: Buffer, at: number): void => {
    if (structure.awaitsName()) within = 'name';
    else if (contentsAt === undefined || !structure.isAt(contentsAt)) within = 'string';
    else beginContent(chunk, at, createContentString(joinsLines));
  };

  const isBufferList = (byte: number): boolean => byte === OPEN_LIST && listAt !== undefined && structure.isAt(listAt);

  /** @returns offset to continue at, as all scan functions. */
  const scanBetween = (chunk: Buffer, from: number): number => {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (byte === QUOTE) {
        beginString(chunk, at + 1);
        return at + 1;
      }
      if (isBufferList(byte)) {
        beginContent(chunk, at, createContentList());
        kept = at + 1;
        quote = '"';
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

  const scanContent = (chunk: Buffer, from: number, taking: ContentReader): number => {
    const end = taking.take(chunk, from);
    kept = end < 0 ? chunk.length : end + quote.length;
    sentBytes.push((sentBytes.pop() ?? 0) + (end < 0 ? chunk.length : end) - from);
    if (end < 0) return chunk.length;
    const text = taking.end();
    contents.push(text);
    contentBytes += text.length;
    content = null;
    keep(Buffer.from(`${quote}${marker}${contents.length - 1}${quote}`));
    quote = '';
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
      for (const path of [contentsAt, listAt].filter((one) => one !== undefined))
        restore(value, path, (text) => (text.startsWith(marker) ? contents[Number(text.slice(marker.length))] : text));
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
