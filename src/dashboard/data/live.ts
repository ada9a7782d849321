import type { FeedEvent } from '../../http/schemas/event.ts';
import { keys, session } from './credentials.ts';
import { type Chunk, type Liveness, readEvents } from './event-source.ts';
import type { Environment } from './location.ts';
import { createStore } from './store.ts';

/**
 * Follows what happens while the window is visible. The visible tabs of one session and environment have one stream: the
 * tab that holds the lock reads it, and tells the others. When it closes or is hidden, the next one has the lock, and
 * reads on from the cursor of the last thing that it was told.
 */

export const liveness = createStore<Liveness>({ state: 'connecting', since: null });

/** Events that come together, oldest first. */
type Listener = (events: readonly FeedEvent[]) => void;
const listeners = new Set<Listener>();

/**
 * Up to 20 events in a second are told as they come. What comes faster is told once a second, the newest of it: a busy
 * service has thousands, and nobody reads them one by one.
 * @returns stops telling.
 */
export const onEvents = (listener: Listener): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const AT_ONCE_MAX = 20;
const TOGETHER_MS = 1_000;
/** A message has several events in a moment: each told by itself would draw the screen as often. */
const MOMENT_MS = 50;
/** Held back at most. More: memory, and a longer message to other tabs. */
const HELD_EVENTS_MAX = 5_000;
/** Events are told once, although two tabs may have read them. */
const KNOWN_EVENTS_MAX = 10_000;

/** Holds back what comes too fast. @param tell what has come since it was called the last time. */
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
    /** What is held back is read again by the next reader. */
    close: () => clearTimeout(timer),
  };
};

/** What tabs tell each other. `hello` is answered with a `state` by the tab that reads. */
type Said =
  | { readonly kind: 'hello' }
  | { readonly kind: 'state'; readonly liveness: Liveness; readonly cursor: string | null }
  | ({ readonly kind: 'news' } & Chunk)
  | { readonly kind: 'signed_out' };

const hex = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Of the lock and the channel; null: this browser has no locks here, and each tab reads for itself. */
const sharedName = async (environment: Environment): Promise<string | null> => {
  if (!('locks' in navigator) || typeof BroadcastChannel === 'undefined') return null;
  const who = session.get()?.id ?? keys.get()[environment] ?? '';
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(who));
  return `outbox-events ${environment} ${hex(digest)}`;
};

/** Where a tab is in the feed, and what it has told already. */
interface Place {
  cursor: string | null;
  readonly known: Set<string>;
}

const tellNew = (place: Place, { events, cursor }: Chunk): void => {
  place.cursor = cursor ?? place.cursor;
  const fresh = events.filter(({ id }) => !place.known.has(id));
  for (const { id } of fresh) place.known.add(id);
  for (const id of place.known) {
    if (place.known.size <= KNOWN_EVENTS_MAX) break;
    place.known.delete(id);
  }
  if (fresh.length > 0) for (const listener of listeners) listener(fresh);
};

/** Signs the other tabs of the session out. */
let saySignedOut: () => void = () => undefined;
export const announceSignOut = (): void => saySignedOut();

interface Joined {
  readonly environment: Environment;
  readonly place: Place;
  readonly signal: AbortSignal;
  /** The session has ended in another tab. */
  onSignOut(): void;
}

/** Reads the stream, or is told by the tab that does. */
const join = async ({ environment, place, signal, onSignOut }: Joined): Promise<void> => {
  const name = await sharedName(environment);
  if (signal.aborted) return;
  const channel = name === null ? null : new BroadcastChannel(name);
  const say = (said: Said): void => channel?.postMessage(said);
  let isReader = false;
  const read = async (): Promise<void> => {
    if (signal.aborted) return;
    isReader = true;
    const merger = createMerger((chunk) => {
      tellNew(place, chunk);
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

  const heed = (said: Said): void => {
    if (said.kind === 'news') tellNew(place, said);
    if (said.kind !== 'state') return;
    place.cursor = said.cursor ?? place.cursor;
    liveness.set(said.liveness);
  };
  const hear = ({ data: said }: MessageEvent<Said>): void => {
    if (said.kind === 'signed_out') onSignOut();
    else if (!isReader) heed(said);
    else if (said.kind === 'hello') say({ kind: 'state', liveness: liveness.get(), cursor: place.cursor });
  };
  channel.addEventListener('message', hear);
  saySignedOut = () => say({ kind: 'signed_out' });
  signal.addEventListener('abort', () => {
    channel.close();
    saySignedOut = () => undefined;
  });
  say({ kind: 'hello' });
  // Aborted while it waits: there is nothing to read.
  await navigator.locks.request(name, { signal }, read).catch(() => undefined);
};

/** Follows the events of an environment. @param onSignOut the session has ended in another tab. @returns stops. */
export const follow = (environment: Environment, onSignOut: () => void): (() => void) => {
  const place: Place = { cursor: null, known: new Set() };
  let joined: AbortController | null = null;
  const leave = (): void => {
    joined?.abort();
    joined = null;
    liveness.set({ state: 'connecting', since: null });
  };
  const begin = (): void => {
    if (document.hidden) leave();
    if (document.hidden || joined !== null) return;
    joined = new AbortController();
    void join({ environment, place, signal: joined.signal, onSignOut });
  };
  document.addEventListener('visibilitychange', begin);
  begin();
  return () => {
    document.removeEventListener('visibilitychange', begin);
    leave();
  };
};
