import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedWebhook } from '../../http/resources/webhooks/webhook.ts';
import { Action, newValue, type Outcome } from '../components/action.tsx';
import { Pill, type State, Status } from '../components/icons.tsx';
import { ApiButton, Listed } from '../components/screen.tsx';
import { Empty } from '../components/states.tsx';
import { request } from '../data/api.ts';
import { linkTo, navigate } from '../data/location.ts';
import { endpointOf, hostOf } from '../data/names.ts';
import { removeResource, useList } from '../data/queries.ts';
import { ago, sofar } from '../data/time.ts';
import { FORMATS, TYPES_OF_FORMAT } from './formats.ts';

const OFF = { gone: 'Disabled: gone', failing: 'Disabled: failed', requested: 'Paused' } as const;

const stateOf = ({ status, disabled_reason: reason, failing_since: since }: SerializedWebhook): [State, string] => {
  if (status === 'paused') return ['fault', 'Paused: its key has ended'];
  if (status === 'disabled') return [reason === 'requested' ? 'revoked' : 'fault', OFF[reason ?? 'requested']];
  return since === null ? ['active', 'Active'] : ['fault', `Failing for ${sofar(since)}`];
};

interface WebhookStatusProps {
  readonly webhook: SerializedWebhook;
  readonly isPill?: true;
}

export const WebhookStatus = ({ webhook, isPill }: WebhookStatusProps): JSX.Element => {
  const [state, word] = stateOf(webhook);
  return isPill ? <Pill state={state} word={word} /> : <Status state={state} word={word} />;
};

interface NewSecret {
  readonly url: string;
  readonly secret: string;
  /** null: a format that has none. */
  readonly verification_key: string | null;
  readonly previous_secret_expires_at?: string;
}

const shownOnce = async (path: string, body: unknown): Promise<Outcome> => {
  const made = await request<NewSecret>(path, { method: 'POST', body });
  const { secret, url, previous_secret_expires_at: previousUntil, verification_key: verificationKey } = made;
  return newValue({ value: secret, name: url, previousUntil, verificationKey });
};

const FAMILIES = {
  'message.*': 'the outcome of each message, for each recipient',
  'inbound.*': 'mail that your domains received',
  'suppression.*': 'addresses added or removed, and why',
  'domain.*': 'DNS records, reputation, warm-up',
  'api_key.*': 'keys created, rotated, revoked or expired',
  'billing.*': 'quota and invoices',
} as const;

const eventsOf = (form: FormData): readonly string[] => [
  ...form.getAll('family').map(String),
  ...String(form.get('types'))
    .split(/[\s,]+/)
    .filter((type) => type !== ''),
];

const AnyEvents = (): JSX.Element => (
  <>
    <fieldset class="row">
      <legend>Events</legend>
      {Object.entries(FAMILIES).map(([family, text]) => (
        <label class="opt" key={family}>
          <input type="checkbox" name="family" value={family} defaultChecked={family === 'message.*'} />
          <span>
            <code>{family}</code>
            <small>{text}</small>
          </span>
        </label>
      ))}
    </fieldset>
    <label class="row">
      Other event types
      <input class="inp" name="types" placeholder="message.bounced, template.published" spellcheck={false} />
    </label>
  </>
);

const SingleEvents = ({ types }: { readonly types: readonly string[] }): JSX.Element => (
  <label class="row">
    Event types
    <textarea class="inp" name="types" rows={4} required spellcheck={false} defaultValue={types.join(', ')} />
  </label>
);

const FormatAndEvents = (): JSX.Element => {
  const [chosen, choose] = useState<string>('outbox');
  const types = TYPES_OF_FORMAT[chosen];
  return (
    <>
      <fieldset class="row">
        <legend>Format</legend>
        {Object.entries(FORMATS).map(([format, [name, text]]) => (
          <label class="opt" key={format}>
            <input
              type="radio"
              name="format"
              value={format}
              checked={format === chosen}
              onChange={() => choose(format)}
            />
            <span>
              {name}
              <small>{text}</small>
            </span>
          </label>
        ))}
      </fieldset>
      {types === undefined ? <AnyEvents /> : <SingleEvents key={chosen} types={types} />}
    </>
  );
};

export const MakeWebhook = (): JSX.Element => {
  const make = (form: FormData): Promise<Outcome> => {
    const note = String(form.get('description')).trim();
    const [url, format] = [form.get('url'), form.get('format')];
    return shownOnce('/v1/webhooks', { url, format, events: eventsOf(form), description: note === '' ? null : note });
  };
  return (
    <Action
      word="Add a webhook"
      operation="POST /v1/webhooks"
      icon="plus"
      tone="primary"
      title="Add a webhook"
      act={make}
    >
      <label class="row">
        Endpoint URL
        <input
          class="inp"
          name="url"
          type="url"
          required
          maxLength={2048}
          placeholder="https://example.com/hooks/mail"
        />
      </label>
      <FormatAndEvents />
      <label class="row">
        Description
        <input class="inp" name="description" maxLength={500} />
      </label>
    </Action>
  );
};

interface WebhookProps {
  readonly webhook: SerializedWebhook;
}

const DAY_MINUTES = 1_440;

export const RotateSecret = ({ webhook: { id, url } }: WebhookProps): JSX.Element => {
  const rotate = (form: FormData): Promise<Outcome> =>
    shownOnce(`/v1/webhooks/${id}/rotate-secret`, { grace_period_minutes: Number(form.get('minutes')) });
  return (
    <Action
      word="Rotate secret"
      operation="POST /v1/webhooks/:id/rotate-secret"
      icon="key"
      tone="plain"
      title={`Rotate the secret of ${endpointOf(url)}?`}
      act={rotate}
    >
      <label class="opt">
        <input type="radio" name="minutes" value={DAY_MINUTES} defaultChecked />
        <span>
          Sign with both for 24 hours
          <small>gives you time to deploy the new secret</small>
        </span>
      </label>
      <label class="opt">
        <input type="radio" name="minutes" value={0} />
        <span>
          Sign only with the new secret
          <small>receivers that have only the old secret reject deliveries</small>
        </span>
      </label>
    </Action>
  );
};

/** Pauses or enables a webhook. */
export const SwitchWebhook = ({ webhook: { id, url, status } }: WebhookProps): JSX.Element => {
  const set = async (enabled: boolean): Promise<undefined> => {
    await request(`/v1/webhooks/${id}`, { method: 'PATCH', body: { enabled } });
  };
  return status === 'enabled' ? (
    <Action
      word="Pause"
      operation="PATCH /v1/webhooks/:id"
      icon="forbid"
      tone="plain"
      title={`Pause ${endpointOf(url)}?`}
      act={() => set(false)}
    >
      <p class="two">
        Nothing is sent until you enable it again. Pending deliveries wait. New events are not sent automatically, but
        you can replay them.
      </p>
    </Action>
  ) : (
    <Action
      word="Enable"
      operation="PATCH /v1/webhooks/:id"
      icon="check"
      tone="primary"
      title={`Enable ${endpointOf(url)}?`}
      act={() => set(true)}
    >
      <p class="two">Pending deliveries are sent immediately. You can replay the events that you missed.</p>
    </Action>
  );
};

/** Adopts a webhook whose key has been revoked or has expired. */
export const AdoptWebhook = ({ webhook: { id, url } }: WebhookProps): JSX.Element => {
  const adopt = async (): Promise<undefined> => {
    await request(`/v1/webhooks/${id}/adopt`, { method: 'POST' });
  };
  return (
    <Action
      word="Adopt"
      operation="POST /v1/webhooks/:id/adopt"
      icon="check"
      tone="primary"
      title={`Adopt ${endpointOf(url)}?`}
      act={adopt}
    >
      <p class="two">
        The API key that owned this webhook has ended. You become its owner, and waiting events are sent immediately.
      </p>
    </Action>
  );
};

export const DeleteWebhook = ({ webhook: { id, url, created_at: at } }: WebhookProps): JSX.Element => {
  const remove = async (): Promise<undefined> => {
    await removeResource(`/v1/webhooks/${id}`);
    navigate(linkTo('/webhooks'), 'replace');
  };
  return (
    <Action
      word="Delete"
      operation="DELETE /v1/webhooks/:id"
      icon="trash"
      tone="danger"
      title={`Delete ${endpointOf(url)}?`}
      typed={hostOf(url)}
      act={remove}
    >
      <p class="two">It was added {ago(at)}. Pending deliveries are discarded. The events themselves are kept.</p>
    </Action>
  );
};

const Row = ({ webhook }: { readonly webhook: SerializedWebhook }): JSX.Element => (
  <a class="kr" href={linkTo(`/webhooks/${webhook.id}`)}>
    <WebhookStatus webhook={webhook} />
    <span class="kn">
      <bdi class="ell b">{webhook.url}</bdi>
      <bdi class="muted ell">{webhook.description ?? 'no description'}</bdi>
    </span>
    <span class="states">
      {webhook.events.map((one) => (
        <span class="tag" key={one}>
          {one}
        </span>
      ))}
    </span>
    <span class="tm">added {ago(webhook.created_at)}</span>
  </a>
);

/** Webhook endpoints of this environment. */
export const Webhooks = (): JSX.Element => {
  const list = useList<SerializedWebhook>({ path: '/v1/webhooks', query: { limit: 50 } });
  return (
    <>
      <div class="head">
        <div>
          <h1>Webhooks</h1>
          <p class="sub">Signed events for your systems, retried for days if a post fails</p>
        </div>
        <div class="acts">
          <ApiButton requests={['/v1/webhooks?limit=50']} />
          <MakeWebhook />
        </div>
      </div>
      <Listed
        label="Webhooks"
        list={list}
        look="keys hooks"
        keyOf={({ id }) => id}
        render={(webhook) => <Row webhook={webhook} />}
        empty={
          <Empty icon="link" title="No webhooks">
            A webhook posts each event to your endpoint within a second: a delivery, a bounce, an unsubscription. Failed
            deliveries are retried for days.
          </Empty>
        }
      />
    </>
  );
};
