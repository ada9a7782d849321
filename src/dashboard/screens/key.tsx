import type { JSX } from 'preact';
import type { SerializedApiKey } from '../../http/schemas/api-key.ts';
import type { List } from '../../http/schemas/envelope.ts';
import type { SerializedKeyHistoryEntry } from '../../http/schemas/key-history.ts';
import { linkTo } from '../data/location.ts';
import { useDomainNames } from '../data/names.ts';
import { useList, useResource } from '../data/queries.ts';
import { ago, count, useTimes } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { Icon, Mark, Pill } from '../parts/icons.tsx';
import { RevokeKey, RotateKey } from '../parts/key-dialogs.tsx';
import { type Secret, SecretAxis } from '../parts/secret-axis.tsx';
import type { IconName } from '../parts/shapes.ts';
import { Fault, Skeleton } from '../parts/states.tsx';

type Entry = SerializedKeyHistoryEntry;

const ICONS: Readonly<Record<Entry['type'], IconName>> = {
  'api_key.created': 'plus',
  'api_key.updated': 'sliders',
  'api_key.rotated': 'rotate',
  'api_key.revoked': 'forbid',
  'api_key.expired': 'clock',
  'api_key.deleted': 'cross',
  'api_key.change_refused': 'forbid',
  'domain.deleted': 'globe',
};

const said = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  if (value === null) return 'never';
  return typeof value === 'object'
    ? Object.entries(value)
        .map((pair) => pair.join(' '))
        .join(', ')
    : String(value);
};

const Changes = ({ details }: Extract<Entry, { type: 'api_key.updated' }>): JSX.Element => (
  <>
    {Object.entries(details).map(([name, change]) =>
      change === undefined ? null : (
        <p class="diff" key={name}>
          <span class="muted">{name.replaceAll('_', ' ')}</span> <bdi class="del">{said(change.from)}</bdi>{' '}
          <bdi class="ins">{said(change.to)}</bdi>
        </p>
      ),
    )}
  </>
);

const Sentence = ({ entry }: { readonly entry: Entry }): JSX.Element => {
  const times = useTimes();
  switch (entry.type) {
    case 'api_key.created':
      return (
        <p>
          <b class="b">Created</b> with <span class="tag">{entry.details.permissions.join(', ')}</span>
        </p>
      );
    case 'api_key.updated':
      return (
        <>
          <p class="b">Changed</p>
          <Changes {...entry} />
        </>
      );
    case 'api_key.rotated':
      return (
        <p>
          <b class="b">Rotated.</b> The value before, …{entry.details.previous_last4},{' '}
          {entry.details.revoke_previous
            ? 'ended at once.'
            : `works until ${times.short(entry.details.previous_key_expires_at)}.`}
        </p>
      );
    case 'api_key.revoked':
      return <p class="b">Revoked</p>;
    case 'api_key.expired':
      return <p class="b">Expired</p>;
    case 'api_key.deleted':
      return <p class="b">Deleted</p>;
    case 'api_key.change_refused':
      return (
        <p>
          <b class="b">Refused</b> to {entry.details.change} it: <code>{entry.details.code}</code>
        </p>
      );
    case 'domain.deleted':
      return <p class="b">Ended with its domain</p>;
  }
};

const History = ({ id }: { readonly id: string }): JSX.Element => {
  const times = useTimes();
  const list = useList<Entry>({ path: `/v1/api-keys/${id}/history`, query: { limit: 50 } });
  const entries = list.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <section class="card">
      <header>
        <h2>History</h2>
      </header>
      {list.error !== null && <Fault error={list.error} />}
      <ol>
        {entries.map((entry) => (
          <li class="h" key={entry.id}>
            <time dateTime={entry.at}>{times.short(entry.at)}</time>
            {entry.type === 'api_key.change_refused' ? (
              <Mark state="fault" />
            ) : (
              <span class="node2">
                <Icon name={ICONS[entry.type]} />
              </span>
            )}
            <div>
              <Sentence entry={entry} />
            </div>
            <span class="by">
              {entry.actor.type}
              {entry.actor.id !== null && ` …${entry.actor.id.slice(-4)}`}
            </span>
          </li>
        ))}
      </ol>
      {list.hasNextPage && (
        <button type="button" class="btn" onClick={() => void list.fetchNextPage()}>
          Show older
        </button>
      )}
    </section>
  );
};

const Rail = ({ apiKey, secrets }: { readonly apiKey: SerializedApiKey; readonly secrets: readonly Secret[] }) => {
  const times = useTimes();
  const { rate_limits: limits, allowed_cidrs: networks } = apiKey;
  return (
    <aside aria-label="Facts">
      <Facts>
        <Fact name="Permissions">
          <span class="states">
            {apiKey.permissions.map((one) => (
              <span class="tag" key={one}>
                {one}
              </span>
            ))}
          </span>
        </Fact>
        <Fact name="Requests a minute">
          {count(limits.send)} sends, {count(limits.read)} reads, {count(limits.manage)} changes
        </Fact>
        <Fact name="Networks">
          {networks.length === 0 ? 'Any' : networks.map((one) => <code key={one}>{one} </code>)}
        </Fact>
        <Fact name="Expires">{apiKey.expires_at === null ? 'Never' : times.full(apiKey.expires_at)}</Fact>
        <Fact name="Sent in all">{count(secrets.reduce((sum, { sends }) => sum + sends, 0))} messages</Fact>
        <Fact name="Messages">
          <a class="lnk" href={linkTo('/messages', { key_id: apiKey.id })}>
            Sent with this key
          </a>
        </Fact>
      </Facts>
    </aside>
  );
};

interface SecretsProps {
  readonly secrets: readonly Secret[];
  readonly error: Error | null;
}

const Secrets = ({ secrets, error }: SecretsProps): JSX.Element => {
  const working = secrets.filter(({ status }) => status !== 'ended').length;
  return (
    <section class="card">
      <header>
        <h2>Secrets over time</h2>
        <span class="sp" />
        <span class="muted">{working === 1 ? 'One value works' : `${working} values work`} at this moment</span>
      </header>
      {error !== null && <Fault error={error} />}
      {secrets.length > 0 && <SecretAxis secrets={secrets} />}
    </section>
  );
};

/** A key: its values over time, what became of it and by whom, and what it may do. */
export const Key = ({ id }: { readonly id: string }): JSX.Element => {
  const { data: apiKey, error, refetch } = useResource<SerializedApiKey>({ path: `/v1/api-keys/${id}` });
  const listed = useResource<List<Secret>>({ path: `/v1/api-keys/${id}/secrets`, query: { limit: 20 } });
  const domains = useDomainNames();
  const secrets = listed.data?.data ?? [];
  if (error !== null) return <Fault error={error} retry={() => void refetch()} />;
  if (apiKey === undefined) return <Skeleton />;
  return (
    <>
      <div class="crumb">
        <a href={linkTo('/keys')}>API keys</a>
        <Icon name="right" />
        <code class="ell">{apiKey.id}</code>
      </div>
      <div class="head">
        <div>
          <div class="titled">
            <h1>
              <bdi>{apiKey.name}</bdi>
            </h1>
            <Pill state={apiKey.status} />
            <span class="tag">{apiKey.environment}</span>
          </div>
          <p class="sub">
            May <b class="b two">{apiKey.permissions.join(', ')}</b> for{' '}
            {domains.get(apiKey.domain_id) ?? apiKey.domain_id}
            {apiKey.last_used_at !== null && ` · last used ${ago(apiKey.last_used_at)}`}
          </p>
        </div>
        <div class="acts">
          <ApiButton requests={['', '/secrets', '/history'].map((part) => `/v1/api-keys/${id}${part}`)} />
          {apiKey.status === 'active' && (
            <>
              <RevokeKey apiKey={apiKey} />
              <RotateKey apiKey={apiKey} />
            </>
          )}
        </div>
      </div>
      <div class="cols">
        <div class="stack">
          <Secrets secrets={secrets} error={listed.error} />
          <History id={id} />
        </div>
        <Rail apiKey={apiKey} secrets={secrets} />
      </div>
    </>
  );
};
