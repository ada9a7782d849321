import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Screen } from '../screens/table.ts';
import { Fault, Skeleton } from './states.tsx';

/** Of screens that were shown before: they show again without a blank in between. */
const loaded = new Map<Screen, ComponentType<{ readonly id: string }>>();

const RELOADED = 'outbox-reloaded';

/**
 * The files of another version have other names: a file that is missing is of the version before, whose page is still
 * open. A page that was loaded anew and still misses it is not loaded again.
 */
const reloadOnce = (): boolean => {
  if (sessionStorage.getItem(RELOADED) === import.meta.url) return false;
  sessionStorage.setItem(RELOADED, import.meta.url);
  location.reload();
  return true;
};

/** A screen, whose code is loaded if need be. */
export const LoadedScreen = ({ screen, id }: { readonly screen: Screen; readonly id: string }): JSX.Element => {
  const [fault, setFault] = useState<Error | null>(null);
  const [, render] = useState({});
  const Shown = loaded.get(screen);
  useEffect(() => {
    if (Shown !== undefined) return;
    screen.load().then(
      (component) => {
        loaded.set(screen, component);
        render({});
      },
      (error: unknown) => {
        if (!reloadOnce()) setFault(error instanceof Error ? error : new Error(String(error)));
      },
    );
  }, [screen]);
  if (fault !== null) return <Fault error={fault} retry={() => location.reload()} />;
  return Shown === undefined ? <Skeleton /> : <Shown key={id} id={id} />;
};
