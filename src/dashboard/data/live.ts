import type { List } from '../../http/fields.ts';
import type { FeedEvent } from '../../http/resources/events/event.ts';
import { request, send } from './api.ts';
import { keys, session } from './credentials.ts';
import type { Environment } from './location.ts';
import { createStore } from './store.ts';

/**
 * Reads `GET /v1/events` as a stream and resumes from the last cursor, so that a broken connection loses no event. If
 * streams keep failing, for example behind a buffering proxy, it falls back to long polling. `EventSource` is not used
 * because it cannot send an API key.
 */

/** A batch of events, oldest first, and the feed position after it; null: unknown. */
interface Chunk {
  readonly events: readonly FeedEvent[];
  readonly cursor: string | null;
}

interface Liveness {
  readonly state: 'live' | 'connecting' | 'off';
  /** Unix time in milliseconds when the feed stopped being live. */
  readonly since: number | null;
}

interface EventSourceOptions {
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
const readEvents = async (options: EventSourceOptions): Promise<void> => {
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

/**
 * Follows the event feed while the window is visible. The visible tabs of one session and environment share a stream:
 * the tab that holds the lock reads it and broadcasts the events. When that tab closes or is hidden, the next one takes
 * the lock and resumes from the last cursor it received.
 */

export const liveness = createStore<Liveness>({ state: 'connecting', since: null });

/** Called with a batch of events, oldest first. */
type Listener = (events: readonly FeedEvent[]) => void;
const listeners = new Set<Listener>();

/**
 * Subscribes to events. Up to 20 events per second are passed on almost immediately. Above that rate they are batched
 * once per second and only the newest are kept: a busy service emits thousands, more than a person can read.
 * @returns a function that unsubscribes.
 */
export const onEvents = (listener: Listener): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const AT_ONCE_MAX = 20;
const TOGETHER_MS = 1_000;
/** Groups the burst of events that one message causes, so that the screen renders once. */
const MOMENT_MS = 50;
/** Buffer limit. Higher: more memory and larger messages to other tabs. Lower: more events are dropped in a burst. */
const HELD_EVENTS_MAX = 5_000;
/** Ids remembered to drop duplicates: two tabs may read the same event. */
const KNOWN_EVENTS_MAX = 10_000;

/** Batches events that arrive too fast. @param tell called with everything since the previous call. */
const createMerger = (tell: (chunk: Chunk) => void) => {
  let held: readonly FeedEvent[] = [];
  let cursor: string | null = null;
  let arrivals: readonly number[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    timer = undefined;
    const events = held;
    held = [];
    tell({ events, cursor });
  };
  return {
    add: (chunk: Chunk): void => {
      const now = performance.now();
      cursor = chunk.cursor ?? cursor;
      held = [...held, ...chunk.events].slice(-HELD_EVENTS_MAX);
      arrivals = [...arrivals, ...chunk.events.map(() => now)].slice(-AT_ONCE_MAX);
      const isBusy = arrivals.length === AT_ONCE_MAX && now - (arrivals[0] ?? 0) < TOGETHER_MS;
      timer ??= setTimeout(flush, isBusy ? TOGETHER_MS : MOMENT_MS);
    },
    /** Drops the buffer. The next reader reads those events again. */
    close: () => clearTimeout(timer),
  };
};

/** Messages between tabs. The reading tab answers `hello` with `state`. */
type TabMessage =
  | { readonly kind: 'hello' }
  | { readonly kind: 'state'; readonly liveness: Liveness; readonly cursor: string | null }
  | ({ readonly kind: 'news' } & Chunk)
  | { readonly kind: 'signed_out' };

const hex = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Name of the lock and the channel; null: the browser has no locks here, so each tab reads for itself. */
const sharedName = async (environment: Environment): Promise<string | null> => {
  if (!('locks' in navigator) || typeof BroadcastChannel === 'undefined') return null;
  const who = session.get()?.id ?? keys.get()[environment] ?? '';
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(who));
  return `outbox-events ${environment} ${hex(digest)}`;
};

/** A tab's feed position and the ids it has already reported. */
interface Place {
  cursor: string | null;
  readonly known: Set<string>;
}

const reportNew = (place: Place, { events, cursor }: Chunk): void => {
  place.cursor = cursor ?? place.cursor;
  const fresh = events.filter(({ id }) => !place.known.has(id));
  for (const { id } of fresh) place.known.add(id);
  for (const id of place.known) {
    if (place.known.size <= KNOWN_EVENTS_MAX) break;
    place.known.delete(id);
  }
  if (fresh.length > 0) for (const listener of listeners) listener(fresh);
};

/** Signs out the other tabs of the session. */
let broadcastSignOut: () => void = () => undefined;
export const announceSignOut = (): void => broadcastSignOut();

interface FollowOptions {
  readonly environment: Environment;
  readonly place: Place;
  readonly signal: AbortSignal;
  /** Called when another tab ends the session. */
  onSignOut(): void;
}

/** Reads the stream, or receives it from the tab that does. */
const readOrListen = async ({ environment, place, signal, onSignOut }: FollowOptions): Promise<void> => {
  const name = await sharedName(environment);
  if (signal.aborted) return;
  const channel = name === null ? null : new BroadcastChannel(name);
  const say = (said: TabMessage): void => channel?.postMessage(said);
  let isReader = false;
  const read = async (): Promise<void> => {
    if (signal.aborted) return;
    isReader = true;
    const merger = createMerger((chunk) => {
      reportNew(place, chunk);
      say({ kind: 'news', ...chunk });
    });
    signal.addEventListener('abort', merger.close);
    const note = (current: Liveness): void => {
      liveness.set(current);
      say({ kind: 'state', liveness: current, cursor: place.cursor });
    };
    await readEvents({ environment, signal, cursor: place.cursor, take: merger.add, note });
  };
  if (channel === null || name === null) return read();

  const heed = (said: TabMessage): void => {
    if (said.kind === 'news') reportNew(place, said);
    if (said.kind !== 'state') return;
    place.cursor = said.cursor ?? place.cursor;
    liveness.set(said.liveness);
  };
  const hear = ({ data: said }: MessageEvent<TabMessage>): void => {
    if (said.kind === 'signed_out') onSignOut();
    else if (!isReader) heed(said);
    else if (said.kind === 'hello') say({ kind: 'state', liveness: liveness.get(), cursor: place.cursor });
  };
  channel.addEventListener('message', hear);
  broadcastSignOut = () => say({ kind: 'signed_out' });
  signal.addEventListener('abort', () => {
    channel.close();
    broadcastSignOut = () => undefined;
  });
  say({ kind: 'hello' });
  // The request is rejected if it is aborted while it waits for the lock.
  await navigator.locks.request(name, { signal }, read).catch(() => undefined);
};

/**
 * Follows the events of an environment. @param onSignOut called when another tab ends the session. @returns a function
 * that stops following.
 */
export const follow = (environment: Environment, onSignOut: () => void): (() => void) => {
  const place: Place = { cursor: null, known: new Set() };
  let following: AbortController | null = null;
  const leave = (): void => {
    following?.abort();
    following = null;
    liveness.set({ state: 'connecting', since: null });
  };
  const begin = (): void => {
    if (document.hidden) leave();
    if (document.hidden || following !== null) return;
    following = new AbortController();
    void readOrListen({ environment, place, signal: following.signal, onSignOut });
  };
  document.addEventListener('visibilitychange', begin);
  begin();
  return () => {
    document.removeEventListener('visibilitychange', begin);
    leave();
  };
};
