import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedReplay, SerializedWebhookDelivery } from '../../http/resources/webhooks/deliveries.ts';
import type { SerializedWebhook } from '../../http/resources/webhooks/webhook.ts';
import { ActButton, IfAllowed } from '../components/action.tsx';
import { DateField } from '../components/date-field.tsx';
import { Icon, Mark } from '../components/icons.tsx';
import { ApiButton, Crumb } from '../components/screen.tsx';
import { Empty, Fault, ScreenFault, ScreenSkeleton } from '../components/states.tsx';
import { request, urlOf } from '../data/api.ts';
import { navigate, usePlace, withParameters } from '../data/location.ts';
import { hostOf } from '../data/names.ts';
import { reloadChanged, useList, useNews, useResource } from '../data/queries.ts';
import { useShortcuts } from '../data/shortcuts.ts';
import { count, dueAt, duration, useTimes } from '../data/time.ts';
import { stateOf, WebhookDelivery } from './delivery.tsx';
import { PingAnswer, PingButton, WebhookStanding } from './standing.tsx';
import { AdoptWebhook, DeleteWebhook, RotateSecret, SwitchWebhook, WebhookStatus } from './webhooks.tsx';

/** Polling interval while a replay runs. */
const REPLAY_EVERY_MS = 2_000;
const DAY_MS = 86_400_000;

const allOf = ({ deliveries: { pending, delivered, failed } }: SerializedReplay): number =>
  pending + delivered + failed;

const progressOf = (replay: SerializedReplay): string => {
  const { status, deliveries } = replay;
  const all = allOf(replay);
  const parts = [
    ...(all > 0 ? [`${count(deliveries.delivered)} of ${count(all)} delivered`] : []),
    ...(deliveries.failed > 0 ? [`${count(deliveries.failed)} failed`] : []),
    ...(status === 'running' ? ['finding events'] : []),
  ];
  return parts.length === 0 ? 'no events' : parts.join(', ');
};

const Progress = ({ replay }: { readonly replay: SerializedReplay }): JSX.Element => {
  const times = useTimes();
  const { id, webhook_id: webhookId, status, since, until, deliveries } = replay;
  const { pending, delivered, failed } = deliveries;
  const all = allOf(replay);
  const cancel = (): Promise<unknown> => request(`/v1/webhooks/${webhookId}/replays/${id}`, { method: 'DELETE' });
  const isMoving = status === 'running' || pending > 0;
  return (
    <div class="progress" role="status">
      <span>
        <b class="b">{status === 'cancelled' ? 'Replay cancelled' : isMoving ? 'Replaying' : 'Replayed'}</b>{' '}
        {since === null ? 'everything' : times.short(since)} to {times.short(until)}: {progressOf(replay)}
      </span>
      <progress max={Math.max(1, all)} value={delivered + failed} aria-label="Deliveries of the replay" />
      {status === 'running' && (
        <ActButton
          word="Cancel"
          operation="DELETE /v1/webhooks/:id/replays/:replay"
          icon="cross"
          isSmall
          act={cancel}
        />
      )}
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
    everyMs: REPLAY_EVERY_MS,
  });
  const latest = replays.data?.data[0];
  const from = webhook.failing_since === null ? began - DAY_MS : Date.parse(webhook.failing_since);
  const start = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const until = String(form.get('until'));
    const body = { since: form.get('since'), ...(until !== '' && { until }) };
    try {
      await request(`${path}/replay`, { method: 'POST', body });
      setProblem(null);
      await reloadChanged();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <section class="repl frame" aria-label="Replay">
      <form onSubmit={(event) => void start(event)}>
        <Icon name="rotate" />
        <span>
          <b class="b">Replay</b> every event from
        </span>
        <DateField name="since" label="From" value={new Date(from).toISOString()} hasTime isRequired />
        <span class="until">
          to
          <DateField name="until" label="To; empty: now" empty="now" value={null} hasTime />
        </span>
        <span class="muted">in order</span>
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

type Delivery = SerializedWebhookDelivery;

/** Polling interval for new deliveries. */
const EVERY_MS = 3_000;
/** A webhook is disabled after failing for this long without a success. */
const FAILING_MS_MAX = 5 * 86_400_000;

const STATUSES = { all: 'All', pending: 'Waiting', failing: 'Failing', delivered: 'Delivered' } as const;
type StatusFilter = keyof typeof STATUSES;

const statusFilterOf = (query: URLSearchParams): StatusFilter => {
  const asked = query.get('status') ?? '';
  return Object.hasOwn(STATUSES, asked) ? (asked as StatusFilter) : 'all';
};

const Sub = ({ webhook }: { readonly webhook: SerializedWebhook }): JSX.Element => {
  const times = useTimes();
  const { events, description, failing_since: since, filters } = webhook;
  const isFiltered = filters.domain_ids.length + filters.tags.length > 0;
  return (
    <p class="sub">
      <code>{events.join(', ')}</code>
      {isFiltered && ` of ${[...filters.tags, ...filters.domain_ids].join(', ')}`}
      {description !== null && (
        <>
          {' · '}
          <bdi>{description}</bdi>
        </>
      )}
      {since !== null &&
        ` · disabled on ${times.short(Date.parse(since) + FAILING_MS_MAX)} unless it responds before then`}
    </p>
  );
};

const lastWord = ({ attempts, next_attempt_at: next }: Delivery, clock: (at: string) => string): string => {
  const last = attempts.at(-1);
  if (last === undefined) return next === null ? '' : 'not sent yet';
  const tries = attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`;
  if (next !== null) return `${tries}, next ${dueAt(next, clock)}`;
  return `${last.status ?? 'no response'} in ${duration(last.duration_ms)}${attempts.length > 1 ? `, ${tries}` : ''}`;
};

const WORDS = { pending: 'waits', delivered: 'delivered', failed: 'failed' } as const;

const DeliveryRow = ({
  delivery,
  isShown,
}: {
  readonly delivery: Delivery;
  readonly isShown: boolean;
}): JSX.Element => {
  const times = useTimes();
  return (
    <a class="hoverable" href={withParameters({ delivery: delivery.id })} {...(isShown && { 'aria-current': 'true' })}>
      <Mark state={stateOf(delivery)} />
      <code class="ell">{delivery.event_type}</code>
      <time class="two" dateTime={delivery.created_at} title={times.full(delivery.created_at)}>
        {times.clock(delivery.created_at)}
      </time>
      <small>
        <span class="ell">
          {delivery.status === 'pending' && delivery.attempts.length > 0 ? 'failing' : WORDS[delivery.status]}
          {delivery.replay_id !== null && ', replayed'}
          {delivery.recipient !== null && (
            <>
              {' · '}
              <bdi>{delivery.recipient.address ?? 'erased or expired'}</bdi>
            </>
          )}
        </span>
        <span class="nw">{lastWord(delivery, times.clock)}</span>
      </small>
    </a>
  );
};

interface FilterProps {
  readonly asked: StatusFilter;
  readonly type: string | null;
  readonly types: readonly string[];
}

const Filter = ({ asked, type, types }: FilterProps): JSX.Element => (
  <div class="dlf flex line wrap">
    <nav class="seg" aria-label="Deliveries">
      {(Object.keys(STATUSES) as StatusFilter[]).map((one) => (
        <a
          key={one}
          href={withParameters({ status: one === 'all' ? null : one, delivery: null })}
          {...(one === asked && { 'aria-current': 'true' })}
        >
          {STATUSES[one]}
        </a>
      ))}
    </nav>
    <span class="sp" />
    <select
      class="lit"
      aria-label="Type of event"
      onChange={({ currentTarget }) => navigate(withParameters({ event_type: currentTarget.value, delivery: null }))}
    >
      <option value="">All types</option>
      {[...new Set([...types, ...(type === null ? [] : [type])])].sort().map((one) => (
        <option key={one} value={one} selected={one === type}>
          {one}
        </option>
      ))}
    </select>
  </div>
);

/** Moves through the deliveries with J and K. */
const useSteps = (deliveries: readonly Delivery[], shown: string | undefined): void => {
  const step = (by: number): void => {
    const at = deliveries.findIndex(({ id }) => id === shown);
    const next = deliveries[at + by];
    if (next !== undefined) navigate(withParameters({ delivery: next.id }), 'replace');
  };
  useShortcuts({ j: () => step(1), k: () => step(-1) });
};

/**
 * The newest delivery when a filter was first applied. Later ones do not replace it while it is read or about to be
 * resent.
 */
const useFirst = (selection: string, newest: string | undefined): string | undefined => {
  const first = useRef<{ readonly selection: string; readonly id: string } | null>(null);
  if (first.current?.selection !== selection) first.current = newest === undefined ? null : { selection, id: newest };
  return first.current?.id;
};

const Older = ({ list }: { readonly list: ReturnType<typeof useList<Delivery>> }): JSX.Element | null =>
  list.hasNextPage ? (
    <p class="pad">
      <button type="button" class="btn small" onClick={() => void list.fetchNextPage()}>
        Show older
      </button>
    </p>
  ) : null;

const Deliveries = ({ id }: { readonly id: string }): JSX.Element => {
  const { query } = usePlace();
  const asked = statusFilterOf(query);
  const type = query.get('event_type');
  const list = useList<Delivery>({
    path: `/v1/webhooks/${id}/deliveries`,
    query: { limit: 25, status: asked === 'all' ? null : asked, event_type: type },
  });
  const deliveries = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const first = useFirst(`${asked} ${type}`, list.isPlaceholderData ? undefined : deliveries[0]?.id);
  const shown = query.get('delivery') ?? first;
  useSteps(deliveries, shown);
  useNews(list, EVERY_MS);
  return (
    <div class="split frame">
      <div class="dl">
        <Filter asked={asked} type={type} types={deliveries.map(({ event_type: one }) => one)} />
        {list.error !== null && <Fault error={list.error} retry={() => void list.refetch()} />}
        {deliveries.map((delivery) => (
          <DeliveryRow key={delivery.id} delivery={delivery} isShown={delivery.id === shown} />
        ))}
        {list.data !== undefined && list.error === null && deliveries.length === 0 && (
          <Empty icon="link" title={asked === 'all' ? 'No deliveries yet' : 'No matching deliveries'}>
            Events that this webhook subscribes to appear here within a second. Send a ping to test it.
          </Empty>
        )}
        <Older list={list} />
      </div>
      <section class="det" aria-label="Delivery">
        {shown !== undefined && <WebhookDelivery webhookId={id} id={shown} />}
      </section>
    </div>
  );
};

/** A webhook: its health, its deliveries with their attempts, and replays. */
export const Webhook = ({ id }: { readonly id: string }): JSX.Element => {
  // Delivery of the last ping.
  const [ping, setPing] = useState<string | null>(null);
  const path = `/v1/webhooks/${id}`;
  const { data: webhook, error, refetch } = useResource<SerializedWebhook>({ path, everyMs: EVERY_MS });
  if (error !== null) return <ScreenFault title="Webhook" error={error} retry={() => void refetch()} />;
  if (webhook === undefined) return <ScreenSkeleton title="Webhook" />;
  return (
    <>
      <Crumb path="/webhooks" word="Webhooks" id={hostOf(webhook.url)} />
      <div class="head">
        <div>
          <div class="titled">
            <h1>
              <bdi>{webhook.url}</bdi>
            </h1>
            <WebhookStatus webhook={webhook} isPill />
          </div>
          <Sub webhook={webhook} />
        </div>
        <div class="acts">
          <ApiButton requests={[path, urlOf(`${path}/deliveries`, { limit: 25 }), `${path}/replays`]} />
          {webhook.status === 'enabled' && <PingButton webhook={webhook} onPing={setPing} />}
          <RotateSecret webhook={webhook} />
          {webhook.status === 'paused' ? <AdoptWebhook webhook={webhook} /> : <SwitchWebhook webhook={webhook} />}
          <DeleteWebhook webhook={webhook} />
        </div>
      </div>
      <div class="stack">
        {ping !== null && <PingAnswer key={ping} webhook={webhook} id={ping} />}
        <WebhookStanding webhook={webhook} />
      </div>
      <IfAllowed operation="POST /v1/webhooks/:id/replay">
        <ReplayBar webhook={webhook} />
      </IfAllowed>
      <Deliveries id={id} />
    </>
  );
};
