import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

/** Errors of commands and the exit codes they cause. */

/** Exit codes other than 0 (docs/commands.md). Each command defines its own codes for differences and conflicts. */
export const EXIT = {
  failed: 1,
  different: 2,
  conflict: 3,
  unauthorized: 4,
  unavailable: 5,
  /** The command line is wrong, for commands whose codes 1 and 2 are answers (`EX_USAGE` of sysexits.h). */
  usage: 64,
  /** 128 plus the number of SIGINT, by shell convention. */
  interrupted: 130,
} as const;

/** An invalid command line. The message says what to type. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command could not do its work. The message is for people. */
export class CommandFailed extends Error {
  override readonly name: string = 'CommandFailed';
  /** One of `EXIT`; undefined: the command's own failure code. */
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode?: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * The terminal of a command: output, questions and progress. Results go to standard output, all other text to standard
 * error. Text by others (subjects, names, server replies) is escaped before printing, because terminals obey control
 * characters.
 */

/**
 * Control characters except line ends and tabs, and invisible characters that change how text appears, such as its
 * direction. Joiners are excluded, because emoji contain them.
 */
const CONTROLS = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const visible = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

/** Escapes control characters as `\u001b`, so that a terminal obeys none. Line ends and tabs stay. */
export const printable = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(CONTROLS, visible);

/** Same as `printable`, on one line. */
export const printableLine = (text: string): string => printable(text).replaceAll(/[\n\t]/g, ' ');

/** Equivalent JSON without control characters. */
export const printableJson = (value: unknown): string => JSON.stringify(value).replaceAll(CONTROLS, visible);

/** Progress bar of a long operation. */
export interface Progress {
  /** @param of total; undefined: unknown. @param unit for example `events`. */
  at(done: number, of: number | undefined, unit: string): void;
  /** Removes the bar. */
  end(): void;
}

const BAR_CELLS = 24;
/** Shorter: more output without a visible difference. */
const REDRAW_MS = 100;
export const COLUMNS_DEFAULT = 80;
/** Erases from the cursor to the end of the line (ECMA-48 EL). */
const ERASE = '\r\u001b[K';
const NUMBER = new Intl.NumberFormat('en');

const isUtf8 = (environment: NodeJS.ProcessEnv): boolean => {
  const locale = environment.LC_ALL || environment.LC_CTYPE || environment.LANG || '';
  return /utf-?8/i.test(locale);
};

/** Formats `████░░░░ 12% 1,200 of 10,000 events`, within the width. */
export const progressLine = (
  label: string,
  { done, of, unit }: { readonly done: number; readonly of: number | undefined; readonly unit: string },
  { columns, unicode }: { readonly columns: number; readonly unicode: boolean },
): string => {
  const count = `${NUMBER.format(done)}${of === undefined ? '' : ` of ${NUMBER.format(Math.max(of, done))}`} ${unit}`;
  if (of === undefined || of <= 0) return `${label} ${count}`.slice(0, columns - 1);
  const share = Math.min(1, done / of);
  const [full, empty] = unicode ? ['█', '░'] : ['#', '.'];
  const cells = Math.round(share * BAR_CELLS);
  const bar = full.repeat(cells) + empty.repeat(BAR_CELLS - cells);
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  return `${label} ${bar} ${percent} ${count}`.slice(0, columns - 1);
};

export interface Terminal {
  /** True if results are printed as JSON. */
  readonly json: boolean;
  /** Width of the window. Infinite for output to a file or another program, so that nothing is cut. */
  readonly columns: number;
  /** True if the terminal shows characters beyond ASCII. */
  readonly unicode: boolean;
  /** True if a person can answer questions. */
  readonly canAsk: boolean;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  /** Prints one of many results. @param text its text, already printable. */
  print(value: object, text: () => string): void;
  /** Prints a line for people to standard error; silent with `--json`. */
  note(text: string): void;
  /** Shows a progress bar, but only on a terminal and without `--json`. */
  progress(label: string): Progress;
  /** @param hidden true: input is not echoed. @throws {UsageError} if no person can answer. */
  ask(question: string, options?: { readonly hidden?: boolean; readonly otherwise?: string }): Promise<string>;
}

const createProgress = (label: string, { columns, unicode }: Pick<Terminal, 'columns' | 'unicode'>): Progress => {
  let drawnMs = Number.NEGATIVE_INFINITY;
  return {
    at: (done, of, unit) => {
      const nowMs = performance.now();
      if (nowMs - drawnMs < REDRAW_MS && done !== of) return;
      drawnMs = nowMs;
      process.stderr.write(`${ERASE}${progressLine(label, { done, of, unit }, { columns, unicode })}`);
    },
    end: () => void (drawnMs > 0 && process.stderr.write(ERASE)),
  };
};

const SILENT: Progress = { at: () => undefined, end: () => undefined };

/** Discards what readline echoes while a secret is typed. */
const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

const answerTo = (lines: Interface, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason);
    lines.once('line', (line) => resolve(line));
    // Ctrl-D, or Ctrl-C in raw mode.
    lines.once('close', () => reject(new UsageError('nothing was entered')));
    lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });

const askFor = async (question: string, hidden: boolean, signal: AbortSignal): Promise<string> => {
  process.stderr.write(`${printableLine(question)} `);
  const output = hidden ? nowhere() : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  try {
    return (await answerTo(lines, signal)).trim();
  } finally {
    lines.close();
    process.stdin.pause();
    if (hidden) process.stderr.write('\n');
  }
};

export const createTerminal = ({
  json,
  signal,
}: {
  readonly json: boolean;
  readonly signal: AbortSignal;
}): Terminal => {
  const windowColumns = (process.stdout.columns ?? process.stderr.columns) || COLUMNS_DEFAULT;
  const columns = process.stdout.isTTY === true ? windowColumns : Number.POSITIVE_INFINITY;
  const unicode = isUtf8(process.env);
  const canAsk = process.stdin.isTTY === true && process.stderr.isTTY === true;
  const showsProgress = process.stderr.isTTY === true && !json;
  return {
    json,
    columns,
    unicode,
    canAsk,
    signal,
    print: (value, text) => void process.stdout.write(`${json ? printableJson(value) : text()}\n`),
    note: (text) => void (json || process.stderr.write(`${printable(text)}\n`)),
    progress: (label) => (showsProgress ? createProgress(label, { columns: windowColumns, unicode }) : SILENT),
    ask: (question, { hidden = false, otherwise } = {}) => {
      if (canAsk) return askFor(question, hidden, signal);
      const instead = otherwise === undefined ? '' : `: ${otherwise}`;
      return Promise.reject(new UsageError(`cannot prompt without a terminal${instead}`));
    },
  };
};

/** Input limit in bytes, larger than any body the service accepts. */
const STDIN_BYTES_MAX = 40_000_000;

/** Reads all piped input. @throws {UsageError} if standard input is a terminal. */
export const readStdin = async (): Promise<Buffer> => {
  if (process.stdin.isTTY) throw new UsageError('standard input is a terminal: pipe input into the command');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    size += chunk.length;
    if (size > STDIN_BYTES_MAX) throw new UsageError(`standard input is larger than ${STDIN_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** Formats a value within a line; null and an empty list become a dash. */
const valueText = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (value === null || (Array.isArray(value) && value.length === 0)) return '-';
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (typeof value !== 'object') return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, each]) => `${name} ${valueText(each)}`)
    .join(', ');
};

/** True for lists of sentences or objects, which get a line each. Words share a line. */
const isTall = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.some((each) => typeof each !== 'string' || /\s/.test(each));

/** Formats a result with one line per field. */
export const fieldLines = (result: Readonly<Record<string, unknown>>): string =>
  Object.entries(result)
    .map(([name, value]) =>
      isTall(value)
        ? [`${name}:`, ...value.map((each) => `  ${valueText(each)}`)].join('\n')
        : `${name}: ${valueText(value)}`,
    )
    .join('\n');

/** Formats a table. Each cell is printable and on one line; the last column takes the remaining width. */
export const table = (
  headings: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  columns: number,
): string => {
  const cells = [headings, ...rows].map((row) => row.map((cell) => printableLine(cell ?? '-')));
  const last = headings.length - 1;
  const widths = headings.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0);
  const room = Math.max(10, columns - before);
  const cut = (text: string): string => (text.length > room ? `${text.slice(0, room - 3)}...` : text);
  return cells
    .map((row) =>
      row
        .map((cell, at) => (at === last ? cut(cell) : cell.padEnd(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};
