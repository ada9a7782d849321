import { type ExportRecord, fail } from './export-record.ts';

/** Fits a template, which contains its HTML at most twice. A longer object is not an export record. */
const RECORD_CHARACTERS_MAX = 4_000_000;
/** Names of the members that hold the list in exports. */
const LISTS: ReadonlySet<string> = new Set([
  'data',
  'result',
  'results',
  'templates',
  'Suppressions',
  'Templates',
  'Domains',
]);
/** A complete string, the start of an incomplete string, or a structural character outside strings. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|["{}[\]:\n]/gs;

const parseRecord = ({ text, line }: { readonly text: string; readonly line: number }): ExportRecord => {
  try {
    return { line, fields: JSON.parse(text) as ExportRecord['fields'] };
  } catch {
    throw fail(line, 'is not well-formed JSON');
  }
};

/** Finds records in chunks of JSON: the objects of a list, or an object without a list of a known name. */
export const createJsonScan = () => {
  /** Start of an incomplete string. */
  let rest = '';
  let line = 1;
  let depth = 0;
  /** Depth at which an object is a record; 0: no object is a record. */
  let recordDepth = 1;
  /** The last string, and the root member that it named. */
  let string = '';
  let member = '';
  let record: { readonly line: number; text: string } | null = null;

  const requireShort = (text: string, at: number): void => {
    if (text.length > RECORD_CHARACTERS_MAX)
      throw fail(at, `has a record of more than ${RECORD_CHARACTERS_MAX} characters`);
  };

  const keep = (part: string): void => {
    if (record === null) return;
    record.text += part;
    requireShort(record.text, record.line);
  };

  const beginList = (): null => {
    depth += 1;
    if (depth === 1) recordDepth = 2;
    const isList = depth === 2 && recordDepth <= 1 && LISTS.has(member);
    if (!isList) return null;
    recordDepth = 3;
    record = null; // the root is not a record itself
    return null;
  };

  const leave = (): void => {
    depth -= 1;
    if (depth === 0) recordDepth = 1;
    if (depth === 1 && recordDepth === 3) recordDepth = 0; // the list has ended
  };

  const end = (): ExportRecord | null => {
    if (depth === 0) throw fail(line, 'is not well-formed JSON');
    const ended = depth === recordDepth ? record : null;
    leave();
    if (ended === null) return null;
    record = null;
    return parseRecord(ended);
  };

  /** Handlers for structural characters. */
  const signs: Readonly<Record<string, () => ExportRecord | null>> = {
    '\n': () => {
      line += 1;
      return null;
    },
    ':': () => {
      if (depth === 1) member = string;
      return null;
    },
    '{': () => {
      depth += 1;
      if (depth === recordDepth) record ??= { line, text: '{' };
      return null;
    },
    '[': beginList,
    '}': end,
    ']': end,
  };

  /** @returns the record that ends with the token, if any. */
  const take = (token: string, part: string): ExportRecord | null => {
    keep(part);
    const sign = signs[token];
    if (sign === undefined) string = token.slice(1, -1);
    return sign?.() ?? null;
  };

  return {
    add: function* (text: string): Generator<ExportRecord> {
      const buffer = rest + text;
      let from = 0;
      for (const { 0: token, index } of buffer.matchAll(TOKEN)) {
        if (token === '"') break;
        const to = index + token.length;
        const ended = take(token, buffer.slice(from, to));
        from = to;
        if (ended !== null) yield ended;
      }
      rest = buffer.slice(from);
      requireShort(rest, line);
    },
    end: (): readonly ExportRecord[] => {
      if (depth > 0 || rest.includes('"')) throw fail(line, 'the file ends in the middle of a record');
      return [];
    },
  };
};
