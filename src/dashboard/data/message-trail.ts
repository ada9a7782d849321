import { useEffect } from 'preact/hooks';
import { linkTo, navigate, usePlace } from './location.ts';
import { useShortcuts } from './shortcuts.ts';

/** Remembers the list from which a message was opened, for the next and previous message and the way back. */

interface Trail {
  /** Ids of the rows loaded so far. */
  readonly ids: readonly string[];
  /** Query parameters of the list. */
  readonly query: string;
  /** Scroll position in pixels. */
  readonly top: number;
}

let trail: Trail = { ids: [], query: '', top: 0 };
/** The last message viewed. On return, the keyboard selection starts there. */
let seen: string | null = null;

export const noteSeen = (id: string): void => {
  seen = id;
};

/** Records the trail of a list while it is on screen. */
export const useKeptTrail = (ids: readonly string[]): void => {
  const query = usePlace().query.toString();
  useEffect(() => {
    if (ids.length > 0) trail = { ids, query, top: trail.query === query ? trail.top : 0 };
  }, [ids.length, ids[0], query]);
  useEffect(() => {
    // Records the position as it scrolls: the next screen resets it before this list unmounts.
    const scroll = (): void => {
      trail = { ...trail, top: scrollY };
    };
    addEventListener('scroll', scroll, { passive: true });
    return () => removeEventListener('scroll', scroll);
  }, []);
};

interface Way {
  readonly id: string | null;
  /** Scroll position in pixels; null: this is a different list. */
  readonly top: number | null;
}

/** The row and scroll position from which a message was opened. */
export const wayBack = (query: URLSearchParams): Way => {
  const isSame = seen !== null && trail.query === query.toString() && trail.ids.includes(seen);
  return isSame ? { id: seen, top: trail.top } : { id: null, top: null };
};

/** Links to the neighbouring messages; null: none is loaded. */
export interface Steps {
  readonly older: (() => void) | null;
  readonly newer: (() => void) | null;
}

/**
 * Binds `J` and `K` to the next and previous message of the list, and `Esc` to the way back to its row.
 *
 * @returns the same links; null if the message was not opened from a list.
 */
export const useTrail = (id: string): Steps | null => {
  const tab = usePlace().query.get('tab');
  useEffect(() => noteSeen(id), [id]);
  const at = trail.ids.indexOf(id);
  const stepTo = (to: string | undefined): (() => void) | null =>
    at < 0 || to === undefined ? null : () => navigate(linkTo(`/messages/${to}`, { tab }), 'replace');
  const steps: Steps = { older: stepTo(trail.ids[at + 1]), newer: stepTo(trail.ids[at - 1]) };
  useShortcuts({
    j: () => steps.older?.(),
    k: () => steps.newer?.(),
    Escape: () => navigate(linkTo('/messages', at < 0 ? {} : Object.fromEntries(new URLSearchParams(trail.query)))),
  });
  return at < 0 ? null : steps;
};
