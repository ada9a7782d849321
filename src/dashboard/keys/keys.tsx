import type { JSX } from 'preact';
import type { SerializedApiKey } from '../../http/resources/api-keys/api-keys.ts';
import { Action, newValue, type Outcome } from '../components/action.tsx';
import { DateField } from '../components/date-field.tsx';
import { Status } from '../components/icons.tsx';
import { ApiButton, Listed } from '../components/screen.tsx';
import { Empty } from '../components/states.tsx';
import { useMay } from '../data/access.ts';
import { request } from '../data/api.ts';
import { linkTo } from '../data/location.ts';
import { useDomainNames, useDomains } from '../data/names.ts';
import { useList } from '../data/queries.ts';
import { ago } from '../data/time.ts';

interface NewSecret {
  readonly key: string;
  readonly previous_key_expires_at?: string;
}

const shownOnce = async (name: string, path: string, body: unknown): Promise<Outcome> => {
  const made = await request<NewSecret>(path, { method: 'POST', body });
  return newValue({ value: made.key, name, previousUntil: made.previous_key_expires_at });
};

const used = ({ last_used_at: at, last_used_address: address }: SerializedApiKey): string =>
  at === null ? 'never used' : `last used ${ago(at)}${address === null ? '' : ` from ${address}`}`;

const DAY_MINUTES = 1_440;

interface ChoiceProps {
  readonly value: number;
  readonly word: string;
  readonly text: string;
}

const Choice = ({ value, word, text }: ChoiceProps): JSX.Element => (
  <label class="opt">
    <input type="radio" name="minutes" value={value} defaultChecked={value === DAY_MINUTES} />
    <span>
      {word}
      <small>{text}</small>
    </span>
  </label>
);

export const RotateKey = ({ apiKey }: { readonly apiKey: SerializedApiKey }): JSX.Element => {
  const rotate = (form: FormData): Promise<Outcome> => {
    const minutes = Number(form.get('minutes'));
    const body = { grace_period_minutes: minutes, revoke_previous: minutes === 0 };
    return shownOnce(apiKey.name, `/v1/api-keys/${apiKey.id}/rotate`, body);
  };
  return (
    <Action
      word="Rotate"
      operation="POST /v1/api-keys/:id/rotate"
      icon="rotate"
      tone="primary"
      title={`Rotate ${apiKey.name}?`}
      act={rotate}
    >
      <p class="two">
        A new secret is created. The current one, …{apiKey.last4}, was {used(apiKey)}.
      </p>
      <Choice value={DAY_MINUTES} word="Both work for 24 hours" text="gives you time to deploy the new secret" />
      <Choice value={7 * DAY_MINUTES} word="Both work for 7 days" text="for systems that you rarely deploy" />
      <Choice value={0} word="End the old secret now" text="requests that use it fail within a second" />
    </Action>
  );
};

export const RevokeKey = ({ apiKey }: { readonly apiKey: SerializedApiKey }): JSX.Element => {
  const revoke = async (): Promise<undefined> => {
    await request(`/v1/api-keys/${apiKey.id}/revoke`, { method: 'POST' });
  };
  return (
    <Action
      word="Revoke"
      operation="POST /v1/api-keys/:id/revoke"
      icon="forbid"
      tone="danger"
      title={`Revoke ${apiKey.name}?`}
      typed={apiKey.name}
      act={revoke}
    >
      <p class="two">
        All of its secrets stop working within a second. You cannot undo this. The key was {used(apiKey)}. Its history
        is kept.
      </p>
    </Action>
  );
};

const PERMISSIONS = {
  send: 'send and cancel messages',
  read: 'read messages, events and statistics',
  manage: 'change templates, webhooks, domains and keys',
  admin: 'everything, including audit, billing and erasures',
} as const;

const PermissionField = ({ chosen }: { readonly chosen: readonly string[] }): JSX.Element => {
  // A member can give a key only permissions of their own role. This operation requires `admin`.
  const mayGiveAdmin = useMay('POST /v1/erasures') || chosen.includes('admin');
  const offered = Object.entries(PERMISSIONS).filter(([permission]) => permission !== 'admin' || mayGiveAdmin);
  return (
    <fieldset class="row">
      <legend>Permissions</legend>
      {offered.map(([permission, text]) => (
        <label class="opt" key={permission}>
          <input type="checkbox" name="permission" value={permission} defaultChecked={chosen.includes(permission)} />
          <span>
            {permission}
            <small>{text}</small>
          </span>
        </label>
      ))}
    </fieldset>
  );
};

const LIMITS = { send: 'messages sent', read: 'reads', manage: 'changes' } as const;

const LIMITED = Object.keys(LIMITS) as (keyof typeof LIMITS)[];

/** Splits a field at spaces, commas and line ends. */
const listIn = (form: FormData, name: string): readonly string[] =>
  String(form.get(name) ?? '')
    .split(/[\s,]+/)
    .filter((word) => word !== '');

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const expiryIn = (form: FormData): string | null => String(form.get('expires_at') ?? '') || null;

/** Only the changed fields: some keys may change only some of them. */
const changesIn = (form: FormData, apiKey: SerializedApiKey): Readonly<Record<string, unknown>> => {
  const limits = LIMITED.map((kind) => [kind, Number(form.get(`limit_${kind}`))] as const).filter(
    ([kind, limit]) => limit !== apiKey.rate_limits[kind],
  );
  const wanted = {
    name: String(form.get('name')).trim(),
    permissions: form.getAll('permission'),
    allowed_cidrs: listIn(form, 'allowed_cidrs'),
    expires_at: expiryIn(form),
  };
  const changed = Object.entries(wanted).filter(([name, value]) => !isSame(apiKey[name as keyof typeof wanted], value));
  return Object.fromEntries([...changed, ...(limits.length > 0 ? [['rate_limits', Object.fromEntries(limits)]] : [])]);
};

export const EditKey = ({ apiKey }: { readonly apiKey: SerializedApiKey }): JSX.Element => {
  const change = async (form: FormData): Promise<undefined> => {
    const body = changesIn(form, apiKey);
    if (Object.keys(body).length > 0) await request(`/v1/api-keys/${apiKey.id}`, { method: 'PATCH', body });
  };
  return (
    <Action
      word="Save"
      opener="Edit"
      operation="PATCH /v1/api-keys/:id"
      icon="sliders"
      tone="plain"
      title={`Edit ${apiKey.name}`}
      act={change}
    >
      <p class="two">Changes apply to all of its secrets within a second.</p>
      <label class="row">
        Name
        <input class="inp" name="name" required maxLength={200} defaultValue={apiKey.name} />
      </label>
      <PermissionField chosen={apiKey.permissions} />
      <label class="row">
        Allowed networks
        <textarea
          class="inp"
          name="allowed_cidrs"
          rows={2}
          spellcheck={false}
          defaultValue={apiKey.allowed_cidrs.join('\n')}
          placeholder="any, or 203.0.113.0/24, one per line"
        />
      </label>
      <div class="row">
        <span>Expires, UTC</span>
        <DateField
          name="expires_at"
          label="Expires, UTC"
          empty="never"
          value={apiKey.expires_at}
          hasTime
          timeZone="UTC"
        />
      </div>
      <fieldset class="row">
        <legend>Requests per minute</legend>
        <div class="fields">
          {LIMITED.map((kind) => (
            <label class="row" key={kind}>
              {LIMITS[kind]}
              <input
                class="inp"
                name={`limit_${kind}`}
                type="number"
                min={0}
                step={1}
                required
                defaultValue={String(apiKey.rate_limits[kind])}
              />
            </label>
          ))}
        </div>
      </fieldset>
    </Action>
  );
};

export const MakeKey = (): JSX.Element => {
  const domains = useDomains();
  const make = (form: FormData): Promise<Outcome> =>
    shownOnce(String(form.get('name')), '/v1/api-keys', {
      name: form.get('name'),
      domain_id: form.get('domain'),
      environment: form.get('environment'),
      permissions: form.getAll('permission'),
    });
  return (
    <Action
      word="Create a key"
      operation="POST /v1/api-keys"
      icon="plus"
      tone="primary"
      title="Create a key"
      act={make}
    >
      <label class="row">
        Name
        <input class="inp" name="name" required maxLength={200} />
      </label>
      <label class="row">
        Sending domain
        <select class="inp" name="domain" required>
          {domains.map(({ id, name: domain }) => (
            <option key={id} value={id}>
              {domain}
            </option>
          ))}
        </select>
      </label>
      <label class="row">
        Environment
        <select class="inp" name="environment">
          <option value="live">Live: mail is delivered</option>
          <option value="test">Test: outcomes are simulated</option>
        </select>
      </label>
      <PermissionField chosen={['send']} />
    </Action>
  );
};

/** All API keys of the environment. A live key lists both environments. */
export const Keys = (): JSX.Element => {
  const list = useList<SerializedApiKey>({ path: '/v1/api-keys', query: { limit: 50 } });
  const domains = useDomainNames();
  return (
    <>
      <div class="head">
        <div>
          <h1>API keys</h1>
          <p class="sub">The keys your systems send with. Each is bound to one domain.</p>
        </div>
        <div class="acts">
          <ApiButton requests={['/v1/api-keys?limit=50']} />
          <MakeKey />
        </div>
      </div>
      <Listed
        label="API keys"
        list={list}
        look="keys"
        keyOf={({ id }) => id}
        render={(key) => (
          <a class="kr" href={linkTo(`/keys/${key.id}`)}>
            <Status state={key.status} />
            <span class="kn">
              <bdi class="ell b">{key.name}</bdi>
              <small class="muted">
                {domains.get(key.domain_id) ?? key.domain_id}, …{key.last4}
              </small>
            </span>
            <span class="states">
              {key.permissions.map((one) => (
                <span class="tag" key={one}>
                  {one}
                </span>
              ))}
            </span>
            <span class="tag">{key.environment}</span>
            <span class="tm">{key.last_used_at === null ? 'never used' : ago(key.last_used_at)}</span>
          </a>
        )}
        empty={
          <Empty icon="key" title="No keys">
            Each system that sends mail needs a key. It identifies the system and its permissions.
          </Empty>
        }
      />
    </>
  );
};
