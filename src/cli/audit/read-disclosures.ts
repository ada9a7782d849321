import { isUtf8 } from 'node:buffer';
import { type Disclosure, MalformedDisclosure, readDisclosure } from '../../domain/audit/verifier/disclosure.ts';
import { openFile } from './open-file.ts';

/** Reads disclosures from files: JSON Lines, or a file with a single disclosure over any number of lines. */

/** Fits a body of 25 MB with every character escaped twice. Longer texts approach the maximum string length. */
const TEXT_BYTES_MAX = 150_000_000;
/** Each disclosure takes a kilobyte of memory. */
const DISCLOSURES_MAX = 200_000;
/** Parts described in words, over all disclosures. */
const WORDS_MAX = 500;
const LINE_FEED = 0x0a;

const textOf = (pieces: readonly Buffer[]): string => {
  const bytes = Buffer.concat(pieces);
  if (!isUtf8(bytes)) throw new MalformedDisclosure('it is not UTF-8');
  return bytes.toString();
};

const requireRoom = (bytes: number): void => {
  if (bytes > TEXT_BYTES_MAX) throw new MalformedDisclosure(`it has more than ${TEXT_BYTES_MAX} bytes`);
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
    ? new MalformedDisclosure(`${place} is no disclosure: ${error.message}`)
    : (error as Error);

/** Reads at most one disclosure per event. @throws {MalformedDisclosure | Error} including file system errors. */
export const readDisclosures = async (paths: readonly string[]): Promise<readonly Disclosure[]> => {
  const all = new Map<string, Disclosure>();
  let words = WORDS_MAX;

  const take = (disclosure: Disclosure): void => {
    const { eventId } = disclosure;
    if (all.has(eventId))
      throw new MalformedDisclosure(`event ${eventId} was disclosed before: check the files one at a time`);
    if (all.size === DISCLOSURES_MAX) throw new MalformedDisclosure(`${DISCLOSURES_MAX} are checked at once at most`);
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
    if (all.size === before) throw new MalformedDisclosure(`${path} is empty: there is no disclosure in it`);
  }
  return [...all.values()];
};
