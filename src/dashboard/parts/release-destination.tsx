import type { JSX } from 'preact';
import type { SerializedSuspension } from '../../http/schemas/destination.ts';
import { request } from '../data/api.ts';
import { useTimes } from '../data/time.ts';
import { Action } from './action.tsx';

/** Ends the suspension of a destination. */
export const ReleaseDestination = ({
  destination,
  until,
}: Pick<SerializedSuspension, 'destination' | 'until'>): JSX.Element => {
  const times = useTimes();
  const release = async (): Promise<undefined> => {
    await request('/v1/destinations/release', { method: 'POST', body: { destination } });
  };
  return (
    <Action word="Try now" icon="rotate" tone="plain" isSmall title={`Try ${destination} now?`} act={release}>
      <p class="two">
        Its mail is sent within seconds. If it is refused again, it waits longer than before. Without this it is tried
        at {times.clock(until)}.
      </p>
    </Action>
  );
};
