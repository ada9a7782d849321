import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiFault } from '../data/api.ts';
import { reloadForFiles } from '../data/reload.ts';
import type { Screen } from '../screens/table.ts';
import { ScreenFault, Skeleton } from './states.tsx';

/** Components of screens shown before, so that they appear again without a blank. */
const loaded = new Map<Screen, ComponentType<{ readonly id: string }>>();

/** True if the service responds. Reloading the page while it is down would lose the page. */
const isServed = (): Promise<boolean> =>
  fetch('/dashboard', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );

const UNREACHABLE = new ApiFault('The service does not answer.', { status: 0, code: 'unreachable', requestId: null });
/** Retry interval for a screen whose code could not be loaded. */
const AGAIN_MS = 5_000;

/** Loads the code of a screen. @returns the error; null: the code is loaded, or the page is about to reload. */
const load = async (screen: Screen): Promise<Error | null> => {
  try {
    loaded.set(screen, await screen.load());
    return null;
  } catch (error) {
    if (!(await isServed())) return UNREACHABLE;
    if (reloadForFiles()) return null;
    return error instanceof Error ? error : new Error(String(error));
  }
};

/** A screen whose code is loaded on demand. */
export const LoadedScreen = ({ screen, id }: { readonly screen: Screen; readonly id: string }): JSX.Element => {
  const [fault, setFault] = useState<Error | null>(null);
  const [tried, tryAgain] = useState(0);
  const [, render] = useState({});
  const Shown = loaded.get(screen);
  useEffect(() => {
    if (Shown !== undefined) return;
    let isGone = false;
    let again: ReturnType<typeof setTimeout> | undefined;
    const show = (found: Error | null): void => {
      if (isGone) return;
      setFault(found);
      if (loaded.has(screen)) render({});
      else again = setTimeout(() => tryAgain((times) => times + 1), AGAIN_MS);
    };
    void load(screen).then(show);
    return () => {
      isGone = true;
      clearTimeout(again);
    };
  }, [screen, tried]);
  if (fault !== null)
    return <ScreenFault title={screen.title} error={fault} retry={() => tryAgain((times) => times + 1)} />;
  return Shown === undefined ? <Skeleton /> : <Shown key={id} id={id} />;
};
