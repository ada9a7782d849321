import type { OutboxEvent, ReadEventsAnswer, ReadEventsQuery } from './api/schemas.ts';
import type { Call } from './call.ts';
import { createDeadline, type Deadline } from './deadline.ts';
import { ConnectionError, OutboxError } from './errors.ts';
import type { RequestOptions } from './request.ts';
import { backOff, pause, TIMER_MS_MAX, waitBefore } from './retry.ts';

/** Follows the event feed over server-sent events (WHATWG HTML §9.2). After an interruption, it resumes at its cursor. */

export interface StreamedEvent {
  /** Store it and pass it as `after` to resume without a gap. */
  readonly cursor: string;
  readonly event: OutboxEvent;
}

export type StreamQuery = Omit<ReadEventsQuery, 'limit' | 'wait' | 'until' | 'types'> & {
  /** Types or families such as `message.*`. Default: all. */
  readonly types?: readonly string[] | string | undefined;
};

export interface StreamOptions extends Pick<RequestOptions, 'signal'> {
  /** Milliseconds of silence after which it reconnects. The service writes a line every 15 s. Default 45,000. */
  readonly silenceMs?: number | undefined;
}

const SILENCE_MS = 45_000;
/** An event has at most about 100 kB. A longer frame does not come from the event stream. */
const FRAME_CHARACTERS_MAX = 4_000_000;

interface Frame {
  readonly id: string | null;
  readonly type: string;
  readonly data: string;
}

const FIELD = /^([^:]+): ?(.*)$/;

/** @param block lines of the frame. */
const frameOf = (block: string): Frame => {
  const fields = block.split('\n').flatMap((line) => {
    const [, name = '', value = ''] = FIELD.exec(line) ?? [];
    return name === '' ? [] : [[name, value] as const];
  });
  const last = new Map(fields);
  const data = fields.filter(([name]) => name === 'data').map(([, value]) => value);
  return { id: last.get('id') ?? null, type: last.get('event') ?? 'message', data: data.join('\n') };
};

/** Splits chunks into frames. @throws {ConnectionError} if a frame is too long. */
async function* framesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > FRAME_CHARACTERS_MAX)
      throw new ConnectionError('the event stream sent an event that is too long');
    yield* blocks.map(frameOf);
  }
}

/** Chunks of a body. The time-out runs while it waits for data, not while the reader works. */
async function* chunksOf(body: ReadableStream<Uint8Array>, silence: Deadline): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const next = (): ReturnType<typeof reader.read> => {
    silence.start();
    return reader.read().finally(silence.stop);
  };
  try {
    for (let read = await next(); !read.done; read = await next()) yield read.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** @throws errors that a retry cannot fix. */
const waitAfter = (error: unknown, tried: number): number => {
  const wait = error instanceof OutboxError ? waitBefore(error, tried, true) : backOff(tried);
  if (wait === null) throw error;
  return wait;
};

/** Cursor of the current end of the feed, so that no event between two connections is missed. */
const endOfFeed = async (call: Call, signal: AbortSignal | undefined): Promise<string> => {
  const query = { limit: 1 };
  const page = await call.json<ReadEventsAnswer>({ method: 'GET', path: '/v1/events', query }, { signal });
  return page.next_cursor ?? 'start';
};

const eventOf = (data: string): OutboxEvent => {
  try {
    return JSON.parse(data) as OutboxEvent;
  } catch (cause) {
    throw new OutboxError('the event stream sent an event that is not JSON', { cause });
  }
};

interface ConnectionRequest {
  readonly call: Call;
  readonly query: object;
  readonly options: StreamOptions;
}

const EVENT_STREAM = 'text/event-stream';

/** Frames of one connection, until it ends. */
async function* connection({ call, query, options }: ConnectionRequest): AsyncGenerator<Frame> {
  const silence = createDeadline(options.silenceMs ?? SILENCE_MS, options.signal);
  try {
    silence.start();
    const { body, headers } = await call.response(
      { method: 'GET', path: '/v1/events', query, accept: EVENT_STREAM },
      { signal: silence.signal, maxRetries: 0, timeoutMs: TIMER_MS_MAX, totalTimeoutMs: TIMER_MS_MAX },
    );
    if (body === null || headers.get('content-type')?.startsWith(EVENT_STREAM) !== true) {
      await body?.cancel();
      throw new ConnectionError('the response is not an event stream: check baseUrl');
    }
    yield* framesOf(chunksOf(body, silence));
  } finally {
    silence.end();
  }
}

/**
 * Events from now on, or `after` a cursor, for as long as it is iterated.
 * @throws {ApiError} for errors that a retry cannot fix, such as 401; or the reason of the signal.
 */
export async function* streamEvents(
  call: Call,
  { after, types, ...others }: StreamQuery = {},
  options: StreamOptions = {},
): AsyncGenerator<StreamedEvent> {
  const { signal } = options;
  const asked = { ...others, types: typeof types === 'object' ? types.join(',') : types };
  let cursor = after ?? (await endOfFeed(call, signal));

  /** Events of one connection. Each moves the cursor. */
  async function* untilCut(): AsyncGenerator<StreamedEvent> {
    for await (const { id, type, data } of connection({ call, query: { ...asked, after: cursor }, options })) {
      const events = data === '' || type === 'end' ? [] : [eventOf(data)];
      cursor = id ?? cursor;
      yield* events.map((event) => ({ cursor, event }));
    }
  }

  for (let tried = 1; ; tried++) {
    const before = cursor;
    let wait = backOff(tried);
    try {
      yield* untilCut();
    } catch (error) {
      signal?.throwIfAborted();
      wait = waitAfter(error, tried);
    }
    if (cursor !== before) tried = 0;
    await pause(wait, signal);
  }
}
