import type { Caller } from '../../../domain/api-key/key-authority.ts';
import type { LiveEvent } from '../../../projections/events/live-feed.ts';
import type { FeedCursor } from '../../../projections/events/queries.ts';
import { seesContents } from '../../auth/permissions.ts';
import { maskContents } from '../../serialize/mask-contents.ts';
import { encodeFeedCursor } from './event-pages.ts';

/** Frames of an event stream (WHATWG HTML §9.2). */

const frameOf = (cursor: FeedCursor, type: string, json: string): string =>
  `id: ${encodeFeedCursor(cursor)}\nevent: ${type}\ndata: ${json}\n\n`;

const liveFrames = new WeakMap<LiveEvent, string>();

/** Made once for all streams. */
const liveFrameOf = (live: LiveEvent): string => {
  const frame = liveFrames.get(live) ?? frameOf(live.event.cursor, live.event.type, live.json);
  liveFrames.set(live, frame);
  return frame;
};

/** The event's frame, masked as the caller's permissions require. */
export const liveFrameFor = (caller: Caller, live: LiveEvent): string =>
  seesContents(caller)
    ? liveFrameOf(live)
    : frameOf(live.event.cursor, live.event.type, JSON.stringify(maskContents(live.serialized)));

/** The same of an event of the read model. */
export const storedFrameFor = (
  caller: Caller,
  { cursor, event }: { readonly cursor: FeedCursor; readonly event: { readonly type: string } },
): string => frameOf(cursor, event.type, JSON.stringify(seesContents(caller) ? event : maskContents(event)));

/** Says where the stream begins: a reader that is cut off before the first event resumes from there. */
export const beginFrame = (reconnectMs: number, cursor: FeedCursor): string =>
  `retry: ${reconnectMs}\nid: ${encodeFeedCursor(cursor)}\n\n`;

/** Moves the reader's `Last-Event-ID` on without an event, so that a stream whose filter is rare resumes cheaply. */
export const heartbeatOf = (cursor: FeedCursor): string => `: still here\nid: ${encodeFeedCursor(cursor)}\n\n`;

export const endFrame = (reason: string, cursor: FeedCursor): string =>
  `event: end\ndata: ${JSON.stringify({ reason, next_cursor: encodeFeedCursor(cursor) })}\n\n`;
