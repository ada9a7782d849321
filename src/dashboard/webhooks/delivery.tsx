import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedWebhookDelivery, ShownWebhookDelivery } from '../../http/resources/webhooks/deliveries.ts';
import { ActButton } from '../components/action.tsx';
import { Fact, Facts, JsonView } from '../components/facts.tsx';
import { Mark, type State, Status } from '../components/icons.tsx';
import { Fault, Notice, Skeleton } from '../components/states.tsx';
import { request } from '../data/api.ts';
import { usePlace, withParameters } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { dueAt, duration, size, useTimes } from '../data/time.ts';
import { checkSignature, type Verdict } from './signature.ts';
import { isFine, ResendProgress } from './standing.tsx';

/** Explains why a receiver rejects a webhook signature. All input stays in the browser. */
const SignatureChecker = ({ delivery }: { readonly delivery: ShownWebhookDelivery }): JSX.Element => {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const headers = delivery.attempts.at(-1)?.request.headers ?? {};
  const check = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const field = (name: string): string => String(form.get(name) ?? '');
    setVerdict(
      await checkSignature({
        secret: field('secret'),
        id: field('id'),
        timestamp: field('timestamp'),
        signature: field('signature'),
        body: field('body').replaceAll('\r\n', '\n'),
      }),
    );
  };
  return (
    <form class="checker" onSubmit={(event) => void check(event)}>
      <p class="muted">Enter the request that your receiver got and its secret. Both stay in this browser.</p>
      <label class="row">
        Secret
        <input class="inp" name="secret" type="password" required autocomplete="off" placeholder="whsec_…" />
      </label>
      <label class="row">
        webhook-signature
        <input class="inp" name="signature" required autocomplete="off" spellcheck={false} placeholder="v1,…" />
      </label>
      <div class="pair">
        <label class="row">
          webhook-id
          <input class="inp" name="id" required defaultValue={delivery.event_id} spellcheck={false} />
        </label>
        <label class="row">
          webhook-timestamp
          <input class="inp" name="timestamp" required defaultValue={headers['webhook-timestamp'] ?? ''} />
        </label>
      </div>
      <label class="row">
        Body, as received
        <textarea class="inp" name="body" rows={5} spellcheck={false} defaultValue={delivery.body} />
      </label>
      <button type="submit" class="btn primary">
        Check
      </button>
      {verdict !== null && (
        <Notice tone={verdict.isRight ? 'ok' : 'bad'} state={verdict.isRight ? 'active' : 'fault'}>
          {verdict.text}
        </Notice>
      )}
    </form>
  );
};

type Attempt = ShownWebhookDelivery['attempts'][number];

/** Polling interval: an attempt takes seconds. */
const EVERY_MS = 3_000;

export const stateOf = ({ status, attempts }: Pick<SerializedWebhookDelivery, 'status' | 'attempts'>): State => {
  if (status === 'delivered') return 'delivered';
  if (status === 'failed') return 'failed';
  return attempts.length === 0 ? 'accepted' : 'deferred';
};

const Tries = ({ attempts }: { readonly attempts: readonly Attempt[] }): JSX.Element => {
  const times = useTimes();
  return (
    <ol class="tries">
      {attempts.map(({ at, status, response, duration_ms: took }) => (
        <li key={at}>
          <Mark state={isFine({ status }) ? 'delivered' : 'fault'} />
          <time dateTime={at} title={times.full(at)}>
            {times.clock(at)}
          </time>
          <b class="b">{status ?? 'none'}</b>
          <bdi class="ell muted">{response}</bdi>
          <span class="num">{duration(took)}</span>
        </li>
      ))}
    </ol>
  );
};

const TABS = { body: 'Body', headers: 'Headers', answer: 'Response', signature: 'Check a signature' } as const;
type Tab = keyof typeof TABS;
const tabOf = (query: URLSearchParams): Tab => {
  const asked = query.get('tab') ?? '';
  return Object.hasOwn(TABS, asked) ? (asked as Tab) : 'body';
};

const Headers = ({ attempt }: { readonly attempt: Attempt | undefined }): JSX.Element => {
  if (attempt === undefined) return <p class="muted pad">Not sent yet.</p>;
  const { headers, url, body_bytes: bytes, body_sha256: digest } = attempt.request;
  return (
    <div class="pad">
      <Facts>
        {Object.entries({ url, ...headers }).map(([name, value]) => (
          <Fact key={name} name={name}>
            <bdi class="mono">{value}</bdi>
          </Fact>
        ))}
        <Fact name="body">
          {size(bytes)}, SHA-256 <code>{digest}</code>
        </Fact>
      </Facts>
      <p class="muted">Values of your own headers are hidden. The signature is not stored: each attempt has its own.</p>
    </div>
  );
};

const Shown = ({ delivery, tab }: { readonly delivery: ShownWebhookDelivery; readonly tab: Tab }): JSX.Element => {
  const last = delivery.attempts.at(-1);
  switch (tab) {
    case 'body':
      return <JsonView text={delivery.body} label="Body" />;
    case 'headers':
      return <Headers attempt={last} />;
    case 'answer':
      return last === undefined || last.response === '' ? (
        <p class="muted pad">{last === undefined ? 'Not sent yet.' : 'The response had no body.'}</p>
      ) : (
        <JsonView text={last.response} label="Response" />
      );
    case 'signature':
      return <SignatureChecker key={delivery.id} delivery={delivery} />;
  }
};

interface WebhookDeliveryProps {
  readonly webhookId: string;
  readonly id: string;
}

/** Delivery of one event to one endpoint: its attempts, the request and the response. */
export const WebhookDelivery = ({ webhookId, id }: WebhookDeliveryProps): JSX.Element => {
  const times = useTimes();
  const tab = tabOf(usePlace().query);
  const [resent, setResent] = useState<{ readonly id: string; readonly before: number } | null>(null);
  const path = `/v1/webhooks/${webhookId}/deliveries/${id}`;
  const { data, error, isPlaceholderData } = useResource<ShownWebhookDelivery>({ path, everyMs: EVERY_MS });
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <Skeleton rows={3} />;
  const { next_attempt_at: next } = data;
  const resend = async (): Promise<void> => {
    await request(`${path}/resend`, { method: 'POST' });
    setResent({ id, before: data.attempts.length });
  };
  return (
    <div class={isPlaceholderData ? 'dim' : ''}>
      <h2>
        <code>{data.event_type}</code>
        <Status state={stateOf(data)} {...(next !== null && { word: `Next attempt ${dueAt(next, times.clock)}` })} />
        <span class="sp" />
        <ActButton
          word="Send now"
          operation="POST /v1/webhooks/:id/deliveries/:delivery/resend"
          icon="send"
          isSmall
          act={resend}
        />
      </h2>
      {resent?.id === id && <ResendProgress attempts={data.attempts} before={resent.before} />}
      {data.attempts.length > 0 ? <Tries attempts={data.attempts} /> : <p class="muted pad">No attempts yet.</p>}
      <nav class="tabs" aria-label="Parts of the delivery">
        {(Object.keys(TABS) as Tab[]).map((one) => (
          <a
            key={one}
            href={withParameters({ tab: one, delivery: id })}
            {...(one === tab && { 'aria-current': 'true' })}
          >
            {TABS[one]}
          </a>
        ))}
      </nav>
      <Shown delivery={data} tab={tab} />
    </div>
  );
};
