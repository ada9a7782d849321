import type { JSX } from 'preact';
import { liveness } from '../data/live.ts';
import { useStore } from '../data/store.ts';

/** Whether what is beside it follows what happens. */
export const LiveMark = (): JSX.Element => {
  const { state } = useStore(liveness);
  return (
    <span class={`livemark status ${state === 'live' ? 'ok' : 'mute'}`}>
      <i />
      {state === 'live' ? 'live' : 'not live'}
    </span>
  );
};
