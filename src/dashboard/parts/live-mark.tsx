import type { JSX } from 'preact';
import { liveness } from '../data/live.ts';
import { useStore } from '../data/store.ts';

/** Shows whether the neighbouring data is live. */
export const LiveMark = (): JSX.Element => {
  const { state } = useStore(liveness);
  return (
    <span class={`livemark status ${state === 'live' ? 'ok' : 'mute'}`}>
      <i />
      {state === 'live' ? 'live' : 'not live'}
    </span>
  );
};
