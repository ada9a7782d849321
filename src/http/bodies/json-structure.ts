import { DomainError } from '../../domain/kernel/errors.ts';
import { notJson } from './content-string.ts';

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
export interface JsonStructure {
  /** A byte outside strings. @throws {DomainError} a bound is broken. */
  addByte(byte: number): void;
  /** Whether the next string is the name of a member. */
  awaitsName(): boolean;
  /** Appends part of a name. @throws {DomainError} it is too long. */
  addToName(text: string): void;
  /** @throws {DomainError} `invalid_json`. */
  endName(): void;
  /** Whether the next string is a value at this path, with `null` for any item. */
  isAt(path: readonly (string | null)[]): boolean;
}

const outOfBounds = (field: string, problem: string): DomainError =>
  new DomainError('invalid_request', 'the request is invalid: see details', { details: { [field]: [problem] } });

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
export const createJsonStructure = (valuesMax: number): JsonStructure => {
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
  const refuse = (level: number, problem: string): DomainError => {
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
        throw new DomainError('invalid_json', 'the body names a field __proto__');
      }
      names[depth] = name;
      name = '';
    },
    isAt: (path) => depth === path.length && path.every((step, index) => isStep(step, index + 1)),
  };
};
