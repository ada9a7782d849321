import type { List } from '../../http/schemas/envelope.ts';
import type { FeedEvent } from '../../http/schemas/event.ts';
import { request, send } from './api.ts';
import type { Environment } from './location.ts';

/**
 * Reads `GET /v1/events` as a stream and resumes from the last cursor, so that a broken connection loses no event. If
 * streams keep failing, for example behind a buffering proxy, it falls back to long polling. `EventSource` is not used
 * because it cannot send an API key.
 */

/** A batch of events, oldest first, and the feed position after it; null: unknown. */
export interface Chunk {
  readonly events: readonly FeedEvent[];
  readonly cursor: string | null;
}

export interface Liveness {
  readonly state: 'live' | 'connecting' | 'off';
  /** Unix time in milliseconds when the feed stopped being live. */
  readonly since: number | null;
}

export interface EventSourceOptions {
  readonly environment: Environment;
  /** Stops the reader when it aborts. */
  readonly signal: AbortSignal;
  /** Starts after this cursor; null: starts with new events. */
  readonly cursor: string | null;
  take(chunk: Chunk): void;
  note(liveness: Liveness): void;
}

const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
/** Consecutive stream failures before the reader falls back to polling. */
const FAILURES_MAX = 3;
/** A stream that ends sooner is treated as failed. */
const STEADY_MS = 10_000;
/** The service starts each stream with a frame and sends a heartbeat every 15 s. */
const FIRST_FRAME_MS_MAX = 10_000;
const SILENCE_MS_MAX = 45_000;
/** Polls for this long before trying a stream again. */
const POLLING_MS = 120_000;
const POLL_SECONDS = 20;
const POLL_EVENTS = 100;

const fieldsOf = (frame: string): ReadonlyMap<string, string> =>
  new Map(
    frame.split('\n').map((line): [string, string] => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );

const chunkOf = (frames: readonly string[]): Chunk => {
  const read = frames.map(fieldsOf);
  return {
    events: read.flatMap((fields) => {
      const data = fields.get('data');
      return data === undefined || fields.get('event') === 'end' ? [] : [JSON.parse(data) as FeedEvent];
    }),
    cursor: read.findLast((fields) => fields.has('id'))?.get('id') ?? null,
  };
};

/** Aborts when nothing arrives within the expected time. */
const watchdog = (signal: AbortSignal) => {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    signal: AbortSignal.any([signal, silence.signal]),
    expect: (withinMs: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), withinMs);
    },
    stop: () => clearTimeout(timer),
  };
};

/** Waits until the time has passed, the network is back or the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    addEventListener('online', end);
    signal.addEventListener('abort', end);
  });

/** Splits the stream into frames and yields every complete batch. @param heard called whenever data arrives. */
async function* framesIn(body: ReadableStream<Uint8Array<ArrayBuffer>>, heard: () => void) {
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    heard();
    const frames = (rest + read.value).split('\n\n');
    rest = frames.pop() ?? '';
    if (frames.length > 0) yield frames;
  }
}

/** Reads by stream or by polling. Both share one cursor. */
const createReader = (options: EventSourceOptions) => {
  const { environment, signal, note } = options;
  let { cursor } = options;
  let liveness: Liveness = { state: 'connecting', since: null };
  /** Time of the last chunk. */
  let heardAt: number | null = null;

  const become = (state: 'live' | 'off', since: number | null): void => {
    if (liveness.state === state) return;
    liveness = { state, since };
    note(liveness);
  };
  const take = (chunk: Chunk): void => {
    heardAt = Date.now();
    cursor = chunk.cursor ?? cursor;
    options.take(chunk);
    become('live', null);
  };

  const stream = async (): Promise<void> => {
    const dog = watchdog(signal);
    dog.expect(FIRST_FRAME_MS_MAX);
    try {
      const headers = { accept: 'text/event-stream', ...(cursor !== null && { 'last-event-id': cursor }) };
      const { body } = await send('/v1/events', { headers, environment, signal: dog.signal });
      if (body === null) return;
      for await (const frames of framesIn(body, () => dog.expect(SILENCE_MS_MAX))) take(chunkOf(frames));
    } finally {
      dog.stop();
    }
  };

  const page = async (query: Readonly<Record<string, string | number>>): Promise<List<FeedEvent>> => {
    const dog = watchdog(signal);
    dog.expect(SILENCE_MS_MAX);
    return request<List<FeedEvent>>('/v1/events', { query, environment, signal: dog.signal }).finally(dog.stop);
  };

  const poll = async (): Promise<void> => {
    const until = Date.now() + POLLING_MS;
    if (cursor === null) take({ events: [], cursor: (await page({ limit: 1 })).next_cursor });
    while (Date.now() < until && cursor !== null) {
      const { data, next_cursor: next } = await page({ after: cursor, wait: POLL_SECONDS, limit: POLL_EVENTS });
      take({ events: data, cursor: next });
    }
  };

  return {
    stream,
    poll,
    heardAt: () => heardAt ?? 0,
    noteOff: () => become('off', heardAt ?? Date.now()),
  };
};

/** After a successful round of polling, one stream is tried again. */
const failuresAfter = (failures: number, isDone: boolean, isSteady: boolean): number => {
  if (failures >= FAILURES_MAX) return isDone ? FAILURES_MAX - 1 : FAILURES_MAX;
  return isSteady ? 0 : failures + 1;
};

/** @returns when the signal aborts. */
export const readEvents = async (options: EventSourceOptions): Promise<void> => {
  const { signal } = options;
  const reader = createReader(options);
  /** @returns true if the attempt ended without an error. */
  const attempt = (isPolling: boolean): Promise<boolean> =>
    (isPolling ? reader.poll() : reader.stream()).then(
      () => true,
      () => false,
    );

  let failures = 0;
  let waitMs = RETRY_MS;
  const goOn = async (isSteady: boolean, isAtOnce: boolean): Promise<void> => {
    if (isSteady) waitMs = RETRY_MS;
    if (isAtOnce) return;
    await pause(waitMs, signal);
    waitMs = Math.min(RETRY_MS_MAX, waitMs * 2);
  };
  while (!signal.aborted) {
    const began = Date.now();
    const wasPolling = failures >= FAILURES_MAX;
    const isDone = await attempt(wasPolling);
    if (signal.aborted) return;
    const isSteady = reader.heardAt() - began > STEADY_MS;
    failures = failuresAfter(failures, isDone, isSteady);
    const hasPages = wasPolling && isDone;
    if (!hasPages) reader.noteOff();
    // Polling starts without a pause, to find out at once whether it works.
    await goOn(isSteady, hasPages || (!wasPolling && failures >= FAILURES_MAX));
  }
};
