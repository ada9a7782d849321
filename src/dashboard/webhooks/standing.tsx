import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedWebhookDelivery } from '../../http/resources/webhooks/deliveries.ts';
import type { SerializedWebhook } from '../../http/resources/webhooks/webhook.ts';
import { ActButton } from '../components/action.tsx';
import { Mark } from '../components/icons.tsx';
import { Notice } from '../components/states.tsx';
import { request } from '../data/api.ts';
import { useResource } from '../data/queries.ts';
import { ago, count, dueAt, duration, useTimes } from '../data/time.ts';

/** How a webhook is doing: its last answer, what waits, and the answer to a ping. */

type Delivery = SerializedWebhookDelivery;
type Attempt = Delivery['attempts'][number];

const EVERY_MS = 3_000;
/** Deliveries that are read to count what waits. Higher: a slower page. Lower: "more than" is said sooner. */
const WAITING_MAX = 100;
/** Newest deliveries among which the last answer is looked for. One that is retried for days may be older than these. */
const NEWEST = 25;

/** Whether an attempt was answered with success. */
export const isFine = ({ status }: Pick<Attempt, 'status'>): boolean =>
  status !== null && status >= 200 && status < 300;

/** The rest is in the delivery. */
const SHOWN_CHARACTERS = 200;

const answerOf = ({ status, response, duration_ms: took }: Attempt): string =>
  status === null
    ? `no response (${response.replace(/^no answer: /, '').slice(0, SHOWN_CHARACTERS)})`
    : `${status} in ${duration(took)}${response === '' ? '' : `: ${response.slice(0, SHOWN_CHARACTERS)}`}`;

const lastOf = (deliveries: readonly Delivery[]): Attempt | undefined =>
  deliveries.flatMap(({ attempts }) => attempts).toSorted((left, right) => right.at.localeCompare(left.at))[0];

/** The newest deliveries are read. The webhook says since when the oldest waits. */
const useWaiting = (
  waiting: List<Delivery> | undefined,
  { status, failing_since: failing, waiting_since: oldest }: SerializedWebhook,
): string => {
  const times = useTimes();
  if (waiting === undefined) return '';
  const { data, has_more: hasMore } = waiting;
  const since = oldest ?? data.at(-1)?.created_at;
  if (since === undefined) return 'No delivery waits.';
  const [next] = data.flatMap(({ next_attempt_at: at }) => at ?? []).toSorted();
  const then = next === undefined || status !== 'enabled' ? '' : ` Next attempt: ${dueAt(next, times.clock)}.`;
  const many = data.length === 1 ? '1 delivery waits' : `${count(data.length)} deliveries wait`;
  const fails = failing === null ? '' : ` No post has succeeded since ${times.short(failing)}.`;
  return `${hasMore ? `More than ${count(data.length)} deliveries wait` : many} since ${times.short(since)}.${fails}${then}`;
};

export const WebhookStanding = ({ webhook }: { readonly webhook: SerializedWebhook }): JSX.Element | null => {
  const path = `/v1/webhooks/${webhook.id}/deliveries`;
  const pending = useResource<List<Delivery>>({
    path,
    query: { status: 'pending', limit: WAITING_MAX },
    everyMs: EVERY_MS,
  }).data;
  const newest = useResource<List<Delivery>>({ path, query: { limit: NEWEST }, everyMs: EVERY_MS }).data;
  const waits = useWaiting(pending, webhook);
  if (pending === undefined || newest === undefined) return null;
  const last = lastOf([...pending.data, ...newest.data]);
  return (
    <section class="why frame" aria-label="Standing">
      <p class="say">
        {last === undefined ? (
          <b>Nothing has been posted yet.</b>
        ) : (
          <>
            <Mark state={isFine(last) ? 'delivered' : 'fault'} />{' '}
            <b>
              Last answer: <bdi>{answerOf(last)}</bdi>
            </b>
            , {ago(last.at)}.
          </>
        )}{' '}
        {waits}
      </p>
    </section>
  );
};

interface PingedWebhook {
  readonly delivery_id: string;
}

interface PingButtonProps {
  readonly webhook: SerializedWebhook;
  /** @param deliveryId of the ping. */
  onPing(deliveryId: string): void;
}

export const PingButton = ({ webhook, onPing }: PingButtonProps): JSX.Element => {
  const ping = async (): Promise<void> => {
    const { delivery_id: id } = await request<PingedWebhook>(`/v1/webhooks/${webhook.id}/ping`, { method: 'POST' });
    onPing(id);
  };
  return <ActButton word="Ping" operation="POST /v1/webhooks/:id/ping" icon="pulse" act={ping} />;
};

/** Polling interval: an endpoint usually answers at once. */
const PING_EVERY_MS = 1_000;
const PINGS_READ = 10;

/** The answer to a ping, or that it is on its way. */
export const PingAnswer = ({
  webhook,
  id,
}: Pick<PingButtonProps, 'webhook'> & { readonly id: string }): JSX.Element => {
  const [shown, setShown] = useState<Attempt | null>(null);
  const { data } = useResource<List<Delivery>>({
    path: `/v1/webhooks/${webhook.id}/deliveries`,
    query: { event_type: 'webhook.ping', limit: PINGS_READ },
    everyMs: PING_EVERY_MS,
    enabled: shown === null,
  });
  const found = data?.data.find((delivery) => delivery.id === id)?.attempts[0];
  if (found !== undefined && shown === null) setShown(found);
  if (shown === null) {
    return (
      <p class="live inline quiet" role="status">
        <i class="spin" />
        The ping is on its way.
      </p>
    );
  }
  return (
    <Notice tone={isFine(shown) ? 'ok' : 'bad'} state={isFine(shown) ? 'active' : 'fault'}>
      <b>{isFine(shown) ? 'The endpoint answered the ping:' : 'The ping failed:'}</b> <bdi>{answerOf(shown)}</bdi>
    </Notice>
  );
};

interface ResendProgressProps {
  readonly attempts: readonly Attempt[];
  /** Attempts before the delivery was sent again. */
  readonly before: number;
}

/** Says that a delivery is being sent again, and then what the endpoint answered. */
export const ResendProgress = ({ attempts, before }: ResendProgressProps): JSX.Element => {
  const made = attempts[before];
  return (
    <p class="pad live inline quiet" role="status">
      {made === undefined ? (
        <>
          <i class="spin" />
          Sending again …
        </>
      ) : (
        <>
          <Mark state={isFine(made) ? 'delivered' : 'fault'} />
          <span>
            Sent again: <bdi>{answerOf(made)}</bdi>
          </span>
        </>
      )}
    </p>
  );
};
