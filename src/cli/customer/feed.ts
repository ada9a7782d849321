import { setTimeout as sleep } from 'node:timers/promises';
import { CommandFailed } from '../failures.ts';
import { printableLine } from '../terminal.ts';
import { isRecord, parsed, Unreachable } from './answers.ts';
import { backOff, firstLine, type Service, waitAfter } from './service.ts';

/**
 * Follows the event feed over server-sent events (WHATWG HTML §9.2) and resumes after each disconnection from its
 * cursor.
 */

/** Three times the heartbeat interval of 15 s, after which the connection is closed. */
const SILENCE_MS = 45_000;
/** Well above the size of an event, at most about 100 kB. */
const FRAME_CHARACTERS_MAX = 4_000_000;

/** Fields that all events share; `data` differs by type. */
export interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface StreamedEvent {
  /** Resumes the feed after this event without a gap. */
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
  // The last frame of a stream (`event: end`) only carries a cursor and is not an event.
  return { id: new Map(fields).get('id'), event: isEvent(event) ? event : undefined };
};

/** Yields frames from chunks of any size. @throws {Unreachable} if a frame exceeds its limit. */
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

/** Reads from one connection until it closes. @throws {CommandFailed} */
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
    // Also closes the connection if the consumer stops early.
    silence.abort();
  }
}

/** Milliseconds until the next connection. @throws the error if waiting cannot help. */
const waitAfterCut = (error: unknown, tried: number, { note }: Service): number => {
  const wait = waitAfter(error, Math.max(tried, 1), true);
  if (wait === null) throw error;
  note(`${firstLine(error)}: connecting again`);
  return wait;
};

/**
 * Yields events as they happen. Ends when the service's signal aborts.
 * @param after a cursor, or `start`; undefined: only new events.
 * @throws {ServiceRefused} if waiting cannot help.
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

/** Status code and text of an SMTP reply. */
const replyOf = (smtp: unknown): string | null =>
  isRecord(smtp) ? [smtp.code, smtp.enhanced, smtp.text].map(shown).filter(Boolean).join(' ') : null;

/**
 * Formats `2026-01-31T12:00:00.000Z message.delivered msg_… you@example.net 250 2.0.0 Ok`, without control characters.
 */
export const eventLine = ({ timestamp, type, id, data }: FeedEvent): string => {
  const [, about] = Object.entries(data).find(([name]) => name.endsWith('_id')) ?? [];
  const recipient = isRecord(data.recipient) ? shown(data.recipient.address) : null;
  const parts = [timestamp, type.padEnd(18), shown(about) ?? id, recipient, replyOf(data.smtp), shown(data.reason)];
  return printableLine(parts.filter((part) => part !== null && part !== '').join('  '));
};
