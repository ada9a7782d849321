/**
 * While a new version is rolled out, two stand behind one address, and a page of one asks the other for its files, which
 * have other names there. The page is loaded anew until both are of one version.
 */

const KEPT = 'outbox-reloads';
const WITHIN_MS = 60_000;
/** More: a page that can never be whole flickers for longer. Fewer: one that would be is given up. */
const RELOADS_MAX = 7;
/** Before the first; each pause is twice the one before. */
const PAUSE_MS = 100;

const reloadsSince = (since: number): readonly number[] => {
  const kept: unknown = JSON.parse(sessionStorage.getItem(KEPT) ?? '[]');
  return Array.isArray(kept) ? kept.filter((at): at is number => typeof at === 'number' && at > since) : [];
};

/** Loads the page anew in a moment. @returns false: that was tried often enough. */
export const reloadForFiles = (): boolean => {
  const before = reloadsSince(Date.now() - WITHIN_MS);
  if (before.length >= RELOADS_MAX) return false;
  sessionStorage.setItem(KEPT, JSON.stringify([...before, Date.now()]));
  setTimeout(() => location.reload(), PAUSE_MS * 2 ** before.length);
  return true;
};
