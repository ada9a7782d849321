import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { z } from 'zod';
import {
  type EventStore,
  LOG_START,
  type Position,
  type Revision,
  readPages,
  type StoredEvent,
  type StreamName,
} from '../../domain/kernel/event-store.ts';
import { digesting } from './digest.ts';

/**
 * The log of an engine other than the database, as files of a backup: one line of JSON for each event in its stored form, in the
 * order of the log, compressed (zstd). Events never change, so a later backup takes over the files of an earlier one and adds
 * one with the events since.
 */

export const logFileSchema = z.object({
  file: z.string().regex(/^[a-z0-9_.]+$/),
  /** Exclusive. */
  from: z.string(),
  to: z.string(),
  events: z.int(),
  bytes: z.int(),
  sha256: z.string(),
});
export type LogFile = z.infer<typeof logFileSchema>;

/** An event with its place in the log that was backed up. */
export interface BackedUpEvent {
  readonly stream: StreamName;
  readonly revision: Revision;
  readonly position: Position;
  readonly stored: StoredEvent;
}

/** Events of one read. Higher: more memory. Lower: more round trips. */
const PAGE_EVENTS = 2_000;

interface WriteLogFile {
  readonly log: Pick<EventStore, 'readAll'>;
  readonly folder: string;
  /** Number of the file in its backup. */
  readonly number: number;
  readonly from: Position;
  readonly to: Position;
  onEvents(events: number): void;
}

const lineOf = ({ stream, revision, position, stored }: BackedUpEvent): string =>
  `${JSON.stringify({ stream, revision, position, stored })}\n`;

export const writeLogFile = async ({ folder, number, onEvents, log, from, to }: WriteLogFile): Promise<LogFile> => {
  const file = `event_log.${String(number).padStart(4, '0')}.ndjson.zst`;
  let events = 0;
  async function* pages(): AsyncGenerator<string> {
    for await (const page of readPages(log, { from, to, limit: PAGE_EVENTS })) {
      const wanted = page.events.filter(({ position }) => position <= to);
      events += wanted.length;
      onEvents(events);
      yield wanted.map(lineOf).join('');
    }
  }
  const digest = digesting();
  const target = createWriteStream(join(folder, file), { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(Readable.from(pages()), createZstdCompress(), digest.pass, target);
  return { file, from, to, events, ...digest.end() };
};

/** The events of a backup, page by page. */
export async function* readLogFiles(
  folder: string,
  files: readonly LogFile[],
): AsyncGenerator<readonly BackedUpEvent[]> {
  for (const { file } of files) {
    let page: BackedUpEvent[] = [];
    const input = createReadStream(join(folder, file)).pipe(createZstdDecompress());
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      page.push(JSON.parse(line) as BackedUpEvent);
      if (page.length < PAGE_EVENTS) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }
}

/** Position after the last of these files. */
export const endOf = (files: readonly LogFile[]): Position => files.at(-1)?.to ?? LOG_START;
