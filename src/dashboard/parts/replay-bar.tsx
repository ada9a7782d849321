import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { List } from '../../http/schemas/envelope.ts';
import type { SerializedWebhook } from '../../http/schemas/webhook.ts';
import type { SerializedReplay } from '../../http/schemas/webhook-replay.ts';
import { request } from '../data/api.ts';
import { zone } from '../data/preferences.ts';
import { client, useResource } from '../data/queries.ts';
import { count, useTimes } from '../data/time.ts';
import { ActButton } from './act-button.tsx';
import { Icon } from './icons.tsx';

/** Polling interval while a replay runs. */
const EVERY_MS = 2_000;
const DAY_MS = 86_400_000;

/** The value of a date-time field, in the displayed time zone. */
const fieldOf = (ms: number): string => {
  const offsetMs = zone.get() === 'UTC' ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offsetMs).toISOString().slice(0, 19);
};
const timeOf = (field: string): string => new Date(zone.get() === 'UTC' ? `${field}Z` : field).toISOString();

const Progress = ({ replay }: { readonly replay: SerializedReplay }): JSX.Element => {
  const times = useTimes();
  const { id, webhook_id: webhookId, status, since, until, deliveries } = replay;
  const { pending, delivered, failed } = deliveries;
  const all = pending + delivered + failed;
  const cancel = (): Promise<unknown> => request(`/v1/webhooks/${webhookId}/replays/${id}`, { method: 'DELETE' });
  const isMoving = status === 'running' || pending > 0;
  return (
    <div class="progress" role="status">
      <span>
        <b class="b">{status === 'cancelled' ? 'Replay cancelled' : isMoving ? 'Replaying' : 'Replayed'}</b>{' '}
        {since === null ? 'everything' : times.short(since)} to {times.short(until)}: {count(delivered)} of {count(all)}{' '}
        delivered{failed > 0 && `, ${count(failed)} failed`}
        {status === 'running' && ', more are looked for'}
      </span>
      <progress max={Math.max(1, all)} value={delivered + failed} aria-label="Deliveries of the replay" />
      {status === 'running' && <ActButton word="Cancel" icon="cross" isSmall act={cancel} />}
    </div>
  );
};

/** Posts the events of a time range again and shows the progress. */
export const ReplayBar = ({ webhook }: { readonly webhook: SerializedWebhook }): JSX.Element => {
  const path = `/v1/webhooks/${webhook.id}`;
  const [problem, setProblem] = useState<string | null>(null);
  const [began] = useState(() => Date.now());
  const replays = useResource<List<SerializedReplay>>({
    path: `${path}/replays`,
    query: { limit: 1 },
    everyMs: EVERY_MS,
  });
  const latest = replays.data?.data[0];
  const from = webhook.failing_since === null ? began - DAY_MS : Date.parse(webhook.failing_since);
  const start = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const until = String(form.get('until'));
    const body = { since: timeOf(String(form.get('since'))), ...(until !== '' && { until: timeOf(until) }) };
    try {
      await request(`${path}/replay`, { method: 'POST', body });
      setProblem(null);
      await client.invalidateQueries();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <section class="repl" aria-label="Replay">
      <form onSubmit={(event) => void start(event)}>
        <Icon name="rotate" />
        <span>
          <b class="b">Replay</b> every event from
        </span>
        <input
          class="lit"
          type="datetime-local"
          step={1}
          name="since"
          required
          aria-label="From"
          defaultValue={fieldOf(from)}
        />
        <span class="until">
          to
          <input class="lit" type="datetime-local" step={1} name="until" aria-label="To; empty: now" />
        </span>
        <span class="muted">or now, in order</span>
        <span class="sp" />
        <button type="submit" class="btn primary small" disabled={webhook.status !== 'enabled'}>
          Replay
        </button>
      </form>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {latest !== undefined && <Progress replay={latest} />}
    </section>
  );
};
