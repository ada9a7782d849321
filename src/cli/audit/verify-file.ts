import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { readCheckpoint } from '../../domain/audit/verifier/checkpoints.ts';
import { type Disclosure, MalformedDisclosure, readDisclosure } from '../../domain/audit/verifier/disclosure.ts';
import type { BodyOptions } from '../../domain/audit/verifier/export-body.ts';
import { doubt, NOTHING as NO_FACTS, type Verdict, verdictBy } from '../../domain/audit/verifier/judgement.ts';
import { createExportVerifier, type ExportVerifier } from '../../domain/audit/verifier/verify-export.ts';
import { isReport, verifyReport } from '../../domain/audit/verifier/verify-report.ts';
import {
  MalformedNote,
  MalformedPolicy,
  NO_POLICY,
  parsePolicy,
  parseVerifierKey,
} from '../../lib/transparency/transparency.ts';

const CHUNK_BYTES = 1 << 18;

/** Reads the first bytes of a file, or the whole file if it is shorter. */
const headOf = async (path: string, bytes: number): Promise<Buffer> => {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
};

const GZIP = Buffer.from([0x1f, 0x8b]);

const isGzip = async (path: string): Promise<boolean> => (await headOf(path, GZIP.length)).equals(GZIP);

/** Opens a file that may be gzip-compressed and returns its plain bytes. */
const openFile = async (path: string): Promise<Readable> => {
  const gzip = await isGzip(path);
  const bytes = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  return gzip ? pipeline(bytes, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined) : bytes;
};

/** Reads disclosures from files: JSON Lines, or a file with a single disclosure over any number of lines. */

/** Fits a body of 25 MB with every character escaped twice. Longer texts approach the maximum string length. */
const TEXT_BYTES_MAX = 150_000_000;
/** Each disclosure takes a kilobyte of memory. */
const DISCLOSURES_MAX = 200_000;
/** Parts described in words, over all disclosures. */
const WORDS_MAX = 500;

const textOf = (pieces: readonly Buffer[]): string => {
  const bytes = Buffer.concat(pieces);
  if (!isUtf8(bytes)) throw new MalformedDisclosure('the text is not UTF-8');
  return bytes.toString();
};

const requireRoom = (bytes: number): void => {
  if (bytes > TEXT_BYTES_MAX) throw new MalformedDisclosure(`the text is larger than ${TEXT_BYTES_MAX} bytes`);
};

async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    let from = 0;
    for (let to = chunk.indexOf(LINE_FEED); to >= 0; to = chunk.indexOf(LINE_FEED, from)) {
      yield textOf([...pieces, chunk.subarray(from, to)]);
      [pieces, length, from] = [[], 0, to + 1];
    }
    pieces.push(chunk.subarray(from));
    length += chunk.length - from;
    requireRoom(length);
  }
  yield textOf(pieces);
}

interface Text {
  /** Number of the first line, from 1. */
  readonly line: number;
  readonly json: string;
}

async function* filled(lines: AsyncIterable<string>): AsyncGenerator<Text> {
  let line = 0;
  for await (const json of lines) {
    line += 1;
    if (json.trim() !== '') yield { line, json };
  }
}

/** Splits a file into JSON texts. If the first line is not a complete object, the whole file is one disclosure. */
async function* textsOf(lines: AsyncIterable<string>): AsyncGenerator<Text> {
  let whole: string[] | null = null;
  let length = 0;
  for await (const text of filled(lines)) {
    if (length === 0 && !text.json.trimEnd().endsWith('}')) whole = [];
    length += text.json.length;
    if (whole === null) yield text;
    else requireRoom(length);
    whole?.push(text.json);
  }
  if (whole !== null) yield { line: 1, json: whole.join('\n') };
}

/** @throws {MalformedDisclosure} with the place added to its message. */
const named = (place: string, error: unknown): Error =>
  error instanceof MalformedDisclosure
    ? new MalformedDisclosure(`${place} is not a valid disclosure: ${error.message}`)
    : (error as Error);

/** Reads at most one disclosure per event. @throws {MalformedDisclosure | Error} including file system errors. */
export const readDisclosures = async (paths: readonly string[]): Promise<readonly Disclosure[]> => {
  const all = new Map<string, Disclosure>();
  let words = WORDS_MAX;

  const take = (disclosure: Disclosure): void => {
    const { eventId } = disclosure;
    if (all.has(eventId))
      throw new MalformedDisclosure(`event ${eventId} is disclosed twice: check the files one at a time`);
    if (all.size === DISCLOSURES_MAX)
      throw new MalformedDisclosure(`too many disclosures: check at most ${DISCLOSURES_MAX} at once`);
    all.set(eventId, disclosure);
    words -= disclosure.words.length;
  };

  for (const path of paths) {
    const before = all.size;
    let place = path;
    try {
      for await (const { line, json } of textsOf(linesOf(await openFile(path)))) {
        place = `${path}, line ${line},`;
        take(readDisclosure(json, words));
        place = path;
      }
    } catch (error) {
      throw named(place, error);
    }
    if (all.size === before) throw new MalformedDisclosure(`${path} is empty: expected a disclosure`);
  }
  return [...all.values()];
};

/**
 * Verifies an export from a plain or gzip file as a stream, or verifies a report. It has no dependencies and runs on
 * Node 20 and later.
 */

interface VerifyArguments {
  readonly file: string;
  /** Verifier key in the vkey format. */
  readonly key?: string | undefined;
  /** Path of a tlog-policy file. */
  readonly policy?: string | undefined;
  /** Paths of earlier checkpoints. */
  readonly since: readonly string[];
  /** Number of the policy's witnesses that must have cosigned. Replaces the policy's own quorum. */
  readonly quorum?: number | undefined;
  /** Path of a file with expected ids. */
  readonly expect?: string | undefined;
  /** Paths of files with disclosures. */
  readonly disclosures: readonly string[];
}

/** An export has no longer lines: a leaf and a note have at most 65,535 bytes each, and at most twice that in JSON. */
const LINE_BYTES_MAX = 262_144;
const LINE_FEED = 0x0a;
const NOTHING = Buffer.alloc(0);

const readOptions = async (args: VerifyArguments): Promise<BodyOptions> => {
  const { key, policy: path, since, quorum, expect, disclosures } = args;
  const policy = path === undefined ? NO_POLICY : parsePolicy(await readFile(path, 'latin1'));
  // Programs that save or copy a note add or drop an empty line at its end, which no signature covers.
  const noteIn = async (name: string): Promise<string> => `${(await readFile(name, 'utf8')).trimEnd()}\n`;
  const notes = since.map(async (name) => ({ name, signed: readCheckpoint(await noteIn(name)) }));
  const ids = expect === undefined ? '' : await readFile(expect, 'utf8');
  return {
    keys: [...policy.logs, ...(key === undefined ? [] : [parseVerifierKey(key)])],
    quorum: { policy, count: quorum ?? null },
    since: await Promise.all(notes),
    expected: ids.split(/\s+/).filter((id) => id !== ''),
    disclosures: await readDisclosures(disclosures),
  };
};

/** Passes complete lines to the verifier. @returns the bytes after the last line feed. */
const takeLines = (verifier: ExportVerifier, bytes: Buffer, digest: Hash): Buffer => {
  let from = 0;
  for (let to = bytes.indexOf(LINE_FEED); to >= 0; to = bytes.indexOf(LINE_FEED, from)) {
    const line = bytes.subarray(from, to);
    verifier.line(line.length <= LINE_BYTES_MAX && isUtf8(line) ? line.toString() : null);
    digest.update(bytes.subarray(from, to + 1));
    from = to + 1;
  }
  return bytes.subarray(from);
};

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Ends where gzip data is damaged or cut off. The verifier then reports the missing rest. */
async function* undamaged(bytes: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* bytes;
  } catch (error) {
    if (!codeOf(error).startsWith('Z_')) throw error;
  }
}

/** @param bytes the export, in chunks of any size. */
export const verifyBytes = async (
  bytes: AsyncIterable<Buffer> | Iterable<Buffer>,
  options: BodyOptions,
): Promise<Verdict> => {
  const digest = createHash('sha256');
  const checksum = (text: string): string => digest.copy().update(text).digest('hex');
  const verifier = createExportVerifier({ ...options, checksum });
  let rest: Buffer = NOTHING;
  for await (const chunk of undamaged(bytes)) {
    rest = takeLines(verifier, rest.length === 0 ? chunk : Buffer.concat([rest, chunk]), digest);
    if (rest.length > LINE_BYTES_MAX) break;
  }
  if (rest.length > 0) verifier.line(null);
  return verifier.end();
};

const MALFORMED = [MalformedNote, MalformedPolicy, MalformedDisclosure];

/** True for problems with the input (files, keys, notes, policies, disclosures), which leave the verdict open. */
const isProblem = (error: unknown): error is Error =>
  MALFORMED.some((kind) => error instanceof kind) || codeOf(error) !== '';

const undecided = (sentence: string): Verdict => verdictBy([doubt(sentence)], 0, NO_FACTS);

const HEAD_BYTES = 64;
/** Reports have some hundred kB. */
const REPORT_BYTES_MAX = 20_000_000;

const verifyReportFile = async (path: string, options: BodyOptions): Promise<Verdict> => {
  if ((await stat(path)).size > REPORT_BYTES_MAX)
    return undecided(`${path} is too large to be a report: the limit is ${REPORT_BYTES_MAX} bytes`);
  return verifyReport(await readFile(path, 'utf8'), options);
};

/** The beginning of a PDF, of an HTML page, and of the CSV of each kind of report. */
const FOR_READING = /^(?:%PDF-|<!doctype html|"?at"?,"?sentence|"?kind"?,"?id)/;

const NOT_JSON =
  'CSV, HTML and the pages of a PDF are for reading, and prove nothing: pass the JSON of the report, which is attached to its PDF (`pdfdetach -saveall`)';

/** Returns an undecided verdict if an input cannot be read. */
export const verifyFile = async (args: VerifyArguments): Promise<Verdict> => {
  try {
    const options = await readOptions(args);
    const head = (await headOf(args.file, HEAD_BYTES)).toString('latin1');
    if (FOR_READING.test(head)) return undecided(NOT_JSON);
    if (isReport(head)) return await verifyReportFile(args.file, options);
    return await verifyBytes(await openFile(args.file), options);
  } catch (error) {
    if (!isProblem(error)) throw error;
    return undecided(error.message);
  }
};

const CODES = { verified: 0, 'not verified': 1, undecided: 2, consistent: 2 } as const;

export const exitCodeOf = ({ verdict }: Verdict): number => CODES[verdict];

export const verdictText = (result: Verdict): string => {
  const { verdict, origin, size, root, faults, doubts, notices, disclosed, checkpoints, cosigners } = result;
  const lines = [...faults, ...doubts, ...notices, ...disclosed];
  if (origin !== '') lines.push(`${size} leaves of ${origin}`, `root ${root}`);
  if (checkpoints > 0) lines.push(`compared with ${checkpoints} other checkpoint${checkpoints === 1 ? '' : 's'}`);
  if (cosigners.length > 0) lines.push(`cosigned by ${cosigners.join(', ')}`);
  const heading = verdict === 'consistent' ? 'consistent in itself; not compared with anything you kept' : verdict;
  return [heading, ...lines.map((line) => `  ${line}`)].join('\n');
};
