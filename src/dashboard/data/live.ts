import type { FeedEvent } from '../../http/schemas/event.ts';
import { send } from './api.ts';
import type { Environment } from './location.ts';
import { createStore } from './store.ts';

/**
 * Follows `GET /v1/events` as a stream while the window is visible, from the cursor it had when it was cut off or hidden.
 * `EventSource` cannot send a key.
 */

export interface Liveness {
  readonly state: 'live' | 'connecting' | 'off';
  /** Since when it is not live. */
  readonly since: number | null;
}

export const liveness = createStore<Liveness>({ state: 'connecting', since: null });

type Listener = (event: FeedEvent) => void;
const listeners = new Set<Listener>();

/** @returns stops telling. */
export const onEvent = (listener: Listener): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const RETRY_MS = 2_000;
const RETRY_MS_MAX = 30_000;

let cursor: { readonly environment: Environment; readonly id: string } | null = null;

const tell = (frame: string, environment: Environment): void => {
  const fields = new Map(
    frame.split('\n').map((line): [string, string] => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  const id = fields.get('id');
  if (id !== undefined) cursor = { environment, id };
  const data = fields.get('data');
  if (data === undefined || fields.get('event') === 'end') return;
  for (const listener of listeners) listener(JSON.parse(data) as FeedEvent);
};

const read = async (environment: Environment, signal: AbortSignal): Promise<void> => {
  const headers: Record<string, string> = { accept: 'text/event-stream' };
  if (cursor?.environment === environment) headers['last-event-id'] = cursor.id;
  const { body } = await send('/v1/events', { headers, environment, signal });
  if (body === null) return;
  liveness.set({ state: 'live', since: null });
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const frames = (rest + read.value).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) tell(frame, environment);
  }
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

const keepReading = async (environment: Environment, signal: AbortSignal): Promise<void> => {
  for (let waitMs = RETRY_MS; !signal.aborted; waitMs = Math.min(RETRY_MS_MAX, waitMs * 2)) {
    const began = Date.now();
    await read(environment, signal).catch(() => undefined);
    if (signal.aborted) return;
    if (Date.now() - began > RETRY_MS_MAX) waitMs = RETRY_MS;
    if (liveness.get().state !== 'off') liveness.set({ state: 'off', since: Date.now() });
    await pause(waitMs, signal);
  }
};

/** Follows the events of an environment. @returns stops. */
export const follow = (environment: Environment): (() => void) => {
  let reading: AbortController | null = null;
  const begin = (): void => {
    if (document.hidden) {
      reading?.abort();
      reading = null;
    } else if (reading === null) {
      reading = new AbortController();
      void keepReading(environment, reading.signal);
    }
  };
  document.addEventListener('visibilitychange', begin);
  begin();
  return () => {
    document.removeEventListener('visibilitychange', begin);
    reading?.abort();
  };
};
