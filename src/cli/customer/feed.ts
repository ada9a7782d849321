import { setTimeout as sleep } from 'node:timers/promises';
import { CommandFailed } from '../failures.ts';
import { printableLine } from '../terminal.ts';
import { isRecord, parsed, Unreachable } from './answers.ts';
import { backOff, firstLine, type Service, waitAfter } from './service.ts';

/** The feed as it grows, by server-sent events (WHATWG HTML §9.2); it goes on over every cut, by its cursor. */

/** The service writes a line every 15 s. */
const SILENCE_MS = 45_000;
/** An event is some 100 kB at most. */
const FRAME_CHARACTERS_MAX = 4_000_000;

/** What all events have; `data` differs. */
export interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface StreamedEvent {
  /** The feed goes on after it without a gap. */
  readonly cursor: string;
  readonly event: FeedEvent;
}

interface Frame {
  readonly id: string | undefined;
  readonly event: FeedEvent | undefined;
}

const FIELD = /^([^:]+): ?(.*)$/;

const isEvent = (value: unknown): value is FeedEvent =>
  isRecord(value) && typeof value.id === 'string' && typeof value.type === 'string' && isRecord(value.data);

const frameOf = (block: string): Frame => {
  const fields = block.split('\n').flatMap((line) => {
    const [, name, value = ''] = FIELD.exec(line) ?? [];
    return name === undefined ? [] : [[name, value] as const];
  });
  const event = parsed(fields.flatMap(([name, value]) => (name === 'data' ? [value] : [])).join('\n'));
  // The last frame of a stream (`event: end`) says where to go on, and is none of the feed.
  return { id: new Map(fields).get('id'), event: isEvent(event) ? event : undefined };
};

/** Frames as they end, in whatever pieces they come. @throws {Unreachable} a frame without end. */
async function* framesOf(body: AsyncIterable<Uint8Array>, heard: () => void): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    heard();
    const blocks = (rest + decoder.decode(chunk, { stream: true })).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > FRAME_CHARACTERS_MAX) throw new Unreachable('the stream has a frame without end');
    yield* blocks.map(frameOf);
  }
}

type Query = Readonly<Record<string, string | undefined>>;

/** One connection, until it is cut. @throws {CommandFailed} */
async function* connection(service: Service, query: Query): AsyncGenerator<Frame> {
  const silence = new AbortController();
  const listen = (): NodeJS.Timeout => setTimeout(() => silence.abort(), SILENCE_MS);
  let timer = listen();
  const heard = (): void => {
    clearTimeout(timer);
    timer = listen();
  };
  try {
    const { body } = await service.open('/v1/events', query, 'text/event-stream', silence.signal);
    if (body !== null) yield* framesOf(body, heard);
  } catch (error) {
    throw error instanceof CommandFailed ? error : new Unreachable(`${service.place}: the stream was cut`);
  } finally {
    clearTimeout(timer);
    // Ends the connection also where the reader has seen enough.
    silence.abort();
  }
}

/** Milliseconds until the next connection. @throws what no waiting changes. */
const waitAfterCut = (error: unknown, tried: number, { note }: Service): number => {
  const wait = waitAfter(error, Math.max(tried, 1), true);
  if (wait === null) throw error;
  note(`${firstLine(error)}: connecting again`);
  return wait;
};

/**
 * Events as they happen. Ends when the service's signal aborts.
 * @param after a cursor, or `start`; undefined: from now on.
 * @throws {ServiceRefused} what no waiting changes.
 */
export async function* followFeed(
  service: Service,
  query: Query,
  after: string | undefined,
): AsyncGenerator<StreamedEvent> {
  const { signal } = service;
  let cursor = after;

  async function* untilCut(): AsyncGenerator<StreamedEvent> {
    for await (const { id, event } of connection(service, { ...query, after: cursor })) {
      cursor = id ?? cursor;
      if (event !== undefined && cursor !== undefined) yield { cursor, event };
    }
  }

  for (let tried = 1; !signal.aborted; tried += 1) {
    const before = cursor;
    let wait = backOff(1);
    try {
      yield* untilCut();
    } catch (error) {
      if (signal.aborted) return;
      wait = waitAfterCut(error, tried, service);
    }
    if (cursor !== before) tried = 0;
    await sleep(wait, undefined, { signal }).catch(() => undefined);
  }
}

const shown = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : null;

/** Code and text of a reply. */
const replyOf = (smtp: unknown): string | null =>
  isRecord(smtp) ? [smtp.code, smtp.enhanced, smtp.text].map(shown).filter(Boolean).join(' ') : null;

/** `2026-01-31T12:00:00.000Z message.delivered msg_… you@example.net 250 2.0.0 Ok`, with nothing a terminal obeys. */
export const eventLine = ({ timestamp, type, id, data }: FeedEvent): string => {
  const [, about] = Object.entries(data).find(([name]) => name.endsWith('_id')) ?? [];
  const recipient = isRecord(data.recipient) ? shown(data.recipient.address) : null;
  const parts = [timestamp, type.padEnd(18), shown(about) ?? id, recipient, replyOf(data.smtp), shown(data.reason)];
  return printableLine(parts.filter((part) => part !== null && part !== '').join('  '));
};
