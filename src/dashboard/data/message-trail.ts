import { useEffect } from 'preact/hooks';
import { linkTo, navigate, usePlace } from './location.ts';
import { useShortcuts } from './shortcuts.ts';

/** The list that messages are opened from: what comes next in it, and where to go back to. */

interface Trail {
  /** Ids, as far as the list was read. */
  readonly ids: readonly string[];
  /** Its parameters. */
  readonly query: string;
  /** How far it was scrolled, pixels. */
  readonly top: number;
}

let trail: Trail = { ids: [], query: '', top: 0 };
/** The message that was looked at last: the keyboard is there on the way back. */
let seen: string | null = null;

export const noteSeen = (id: string): void => {
  seen = id;
};

/** Keeps the trail of a list while it is shown. */
export const useKeptTrail = (ids: readonly string[]): void => {
  const query = usePlace().query.toString();
  useEffect(() => {
    if (ids.length > 0) trail = { ids, query, top: trail.query === query ? trail.top : 0 };
  }, [ids.length, ids[0], query]);
  useEffect(() => {
    // Another screen begins at its top before the list knows that it has been left.
    const scroll = (): void => {
      trail = { ...trail, top: scrollY };
    };
    addEventListener('scroll', scroll, { passive: true });
    return () => removeEventListener('scroll', scroll);
  }, []);
};

interface Way {
  readonly id: string | null;
  /** Pixels; null: the list is another one. */
  readonly top: number | null;
}

/** Where a list was left for a message. */
export const wayBack = (query: URLSearchParams): Way => {
  const isSame = seen !== null && trail.query === query.toString() && trail.ids.includes(seen);
  return isSame ? { id: seen, top: trail.top } : { id: null, top: null };
};

/** Steps to the messages beside one; null: the list has none there, as far as it was read. */
export interface Steps {
  readonly older: (() => void) | null;
  readonly newer: (() => void) | null;
}

/**
 * `J` and `K` go to the next message and the one before in the list that this one was opened from, `Esc` back to its row.
 *
 * @returns the same steps; null: it was opened from no list.
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
