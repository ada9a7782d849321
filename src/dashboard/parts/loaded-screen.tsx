import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiFault } from '../data/api.ts';
import { reloadForFiles } from '../data/reload.ts';
import type { Screen } from '../screens/table.ts';
import { ScreenFault, Skeleton } from './states.tsx';

/** Of screens that were shown before: they show again without a blank in between. */
const loaded = new Map<Screen, ComponentType<{ readonly id: string }>>();

/** Whether the service answers: a page that is loaded anew from a service that is away is lost. */
const isServed = (): Promise<boolean> =>
  fetch('/dashboard', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );

const UNREACHABLE = new ApiFault('The service does not answer.', { status: 0, code: 'unreachable', requestId: null });
/** A screen whose code could not be loaded is tried again this often. */
const AGAIN_MS = 5_000;

/** A screen, whose code is loaded if need be. */
export const LoadedScreen = ({ screen, id }: { readonly screen: Screen; readonly id: string }): JSX.Element => {
  const [fault, setFault] = useState<Error | null>(null);
  const [tried, tryAgain] = useState(0);
  const Shown = loaded.get(screen);
  useEffect(() => {
    if (Shown !== undefined) return;
    let again: ReturnType<typeof setTimeout> | undefined;
    const load = async (): Promise<void> => {
      try {
        loaded.set(screen, await screen.load());
        setFault(null);
        tryAgain(tried + 1);
      } catch (error) {
        const isThere = await isServed();
        if (isThere && reloadForFiles()) return;
        setFault(isThere && error instanceof Error ? error : UNREACHABLE);
        again = setTimeout(() => tryAgain(tried + 1), AGAIN_MS);
      }
    };
    void load();
    return () => clearTimeout(again);
  }, [screen, tried]);
  if (fault !== null) return <ScreenFault title={screen.title} error={fault} retry={() => tryAgain(tried + 1)} />;
  return Shown === undefined ? <Skeleton /> : <Shown key={id} id={id} />;
};
