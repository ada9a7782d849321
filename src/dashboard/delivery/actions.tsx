import type { JSX } from 'preact';
import type { SerializedSuspension } from '../../http/resources/destinations.ts';
import { Action } from '../components/action.tsx';
import { Icon } from '../components/icons.tsx';
import { request } from '../data/api.ts';
import { useTimes } from '../data/time.ts';

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
    <Action
      word="Try now"
      operation="POST /v1/destinations/release"
      icon="rotate"
      tone="plain"
      isSmall
      title={`Try ${destination} now?`}
      act={release}
    >
      <p class="two">
        Its mail is sent within seconds. If it is deferred again, it waits longer. Otherwise, the next attempt is at{' '}
        {times.clock(until)}.
      </p>
    </Action>
  );
};

/** Pauses all bulk mail of the organization. */

interface PausedProps {
  /** Start of the pause, ISO 8601; null: bulk mail is not paused. */
  readonly since: string | null;
}

export const PauseBulkMail = ({ since }: PausedProps): JSX.Element => {
  const set = (paused: boolean) => async (): Promise<undefined> => {
    await request('/v1/organization/bulk-mail', { method: 'PUT', body: { paused } });
  };
  if (since !== null) {
    return (
      <Action
        word="Resume"
        opener="Resume bulk mail"
        operation="PUT /v1/organization/bulk-mail"
        icon="send"
        tone="plain"
        title="Resume bulk mail?"
        act={set(false)}
      >
        <p class="two">Waiting mail is sent within seconds. A long backlog is sent in turns with other mail.</p>
      </Action>
    );
  }
  return (
    <Action
      word="Pause"
      opener="Pause bulk mail"
      operation="PUT /v1/organization/bulk-mail"
      icon="pause"
      tone="plain"
      title="Pause all bulk mail?"
      act={set(true)}
    >
      <p class="two">
        Bulk mail from all domains is still accepted, and waits until you resume it or its time to live ends. Messages
        that are being sent are not stopped. Transactional mail is not affected.
      </p>
    </Action>
  );
};

/** @param since undefined: unknown, or not applicable in this environment. */
export const BulkMailPaused = ({ since }: { readonly since: string | null | undefined }): JSX.Element | null => {
  const times = useTimes();
  if (since == null) return null;
  return (
    <p class="cap flex" role="status">
      <Icon name="pause" />
      <span>
        <b class="b">Bulk mail is paused</b> since {times.short(since)}. It waits until it is resumed. Transactional
        mail is not affected.
      </span>
    </p>
  );
};
