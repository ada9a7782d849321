import { type ExportRecord, fail } from './export-record.ts';

/** A template has its html twice at most. More is no record of an export. */
const RECORD_CHARACTERS_MAX = 4_000_000;
/** Names of members in which exports keep their list. */
const LISTS: ReadonlySet<string> = new Set([
  'data',
  'result',
  'results',
  'templates',
  'Suppressions',
  'Templates',
  'Domains',
]);
/** A string, the beginning of one that has not ended yet, or a sign outside strings. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|["{}[\]:\n]/gs;

const parseRecord = ({ text, line }: { readonly text: string; readonly line: number }): ExportRecord => {
  try {
    return { line, fields: JSON.parse(text) as ExportRecord['fields'] };
  } catch {
    throw fail(line, 'is not well-formed JSON');
  }
};

/** Finds records in JSON that arrives in pieces: objects of a list, or an object that has no list of a known name. */
export const createJsonScan = () => {
  /** A string that has not ended yet. */
  let rest = '';
  let line = 1;
  let depth = 0;
  /** Depth at which an object is a record; 0: none is. */
  let recordDepth = 1;
  /** The last string, and the member of the root that it named. */
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
    record = null; // the root is none itself
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

  /** What a sign outside strings does. */
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

  /** @returns the record that ends with the token. */
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
