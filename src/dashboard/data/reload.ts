/**
 * During a rollout two versions of the service share one address, and a page of one version may request files from the
 * other, where they have different names. The page reloads until both versions match.
 */

const KEPT = 'outbox-reloads';
const WITHIN_MS = 60_000;
/** More: a page that can never load flickers for longer. Fewer: a page that would have loaded stays broken. */
const RELOADS_MAX = 7;
/** Pause before the first reload; it doubles each time. */
const PAUSE_MS = 100;

const reloadsSince = (since: number): readonly number[] => {
  const kept: unknown = JSON.parse(sessionStorage.getItem(KEPT) ?? '[]');
  return Array.isArray(kept) ? kept.filter((at): at is number => typeof at === 'number' && at > since) : [];
};

/** Reloads the page after a pause. @returns false if the limit is reached. */
export const reloadForFiles = (): boolean => {
  const before = reloadsSince(Date.now() - WITHIN_MS);
  if (before.length >= RELOADS_MAX) return false;
  sessionStorage.setItem(KEPT, JSON.stringify([...before, Date.now()]));
  setTimeout(() => location.reload(), PAUSE_MS * 2 ** before.length);
  return true;
};
