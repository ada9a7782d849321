import type { FeedEvent } from '../../http/schemas/event.ts';
import { keys, session } from './credentials.ts';
import { type Chunk, type Liveness, readEvents } from './event-source.ts';
import type { Environment } from './location.ts';
import { createStore } from './store.ts';

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
