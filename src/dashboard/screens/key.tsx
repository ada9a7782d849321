import type { JSX } from 'preact';
import type { SerializedApiKey } from '../../http/schemas/api-key.ts';
import type { List } from '../../http/schemas/envelope.ts';
import { urlOf } from '../data/api.ts';
import { momentsOf, type Past, queryAt, useAsOf, wordOfType } from '../data/as-of.ts';
import { linkTo } from '../data/location.ts';
import { useDomainNames } from '../data/names.ts';
import { useResource } from '../data/queries.ts';
import { ago, count, useTimes } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { AsOfBar, AsOfButton } from '../parts/as-of-bar.tsx';
import { Crumb } from '../parts/crumb.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { Pill } from '../parts/icons.tsx';
import { EditKey, RevokeKey, RotateKey } from '../parts/key-dialogs.tsx';
import { KeyHistory, useKeyHistory } from '../parts/key-history.tsx';
import { type Secret, SecretAxis } from '../parts/secret-axis.tsx';
import { Fault, ScreenFault, Skeleton } from '../parts/states.tsx';

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
        <Fact name="Refusals">
          <a class="lnk" href={linkTo('/requests', { key_id: apiKey.id })}>
            Refused requests
          </a>
        </Fact>
      </Facts>
    </aside>
  );
};

interface SecretsProps {
  readonly prefix: string;
  readonly secrets: readonly Secret[];
  readonly error: Error | null;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const Secrets = ({ secrets, prefix, error, now }: SecretsProps): JSX.Element => {
  const working = secrets.filter(({ status }) => status !== 'ended').length;
  return (
    <section class="card">
      <header>
        <h2>Secrets over time</h2>
        <span class="sp" />
        <span class="muted">{working === 1 ? 'One value works' : `${working} values work`} at this moment</span>
      </header>
      {error !== null && <Fault error={error} />}
      {secrets.length > 0 && <SecretAxis secrets={secrets} prefix={prefix} now={now} />}
    </section>
  );
};

interface HeadProps {
  readonly apiKey: SerializedApiKey;
  readonly at: string | null;
  readonly button: JSX.Element;
}

const Head = ({ apiKey, at, button }: HeadProps): JSX.Element => {
  const domains = useDomainNames();
  const requests = ['', '/secrets'].map((part) => urlOf(`/v1/api-keys/${apiKey.id}${part}`, queryAt(at)));
  return (
    <>
      <Crumb path="/keys" word="API keys" id={apiKey.id} />
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
            {at === null && apiKey.last_used_at !== null && ` · last used ${ago(apiKey.last_used_at)}`}
          </p>
        </div>
        <div class="acts">
          {button}
          <ApiButton requests={[...requests, `/v1/api-keys/${apiKey.id}/history`]} />
          {apiKey.status === 'active' && (
            <>
              <EditKey apiKey={apiKey} />
              <RevokeKey apiKey={apiKey} />
              <RotateKey apiKey={apiKey} />
            </>
          )}
        </div>
      </div>
    </>
  );
};

/** A key: its values over time, its history and its permissions; now or in the past. */
export const Key = ({ id }: { readonly id: string }): JSX.Element => {
  const at = useAsOf();
  const {
    data: apiKey,
    error,
    refetch,
  } = useResource<Past<SerializedApiKey>>({
    path: `/v1/api-keys/${id}`,
    query: queryAt(at),
  });
  const listed = useResource<List<Secret>>({
    path: `/v1/api-keys/${id}/secrets`,
    query: { limit: 20, ...queryAt(at) },
  });
  const history = useKeyHistory(id);
  const entries = history.data?.pages.flatMap(({ data }) => data) ?? [];
  const moments = momentsOf(entries.toReversed().map((entry) => ({ at: entry.at, word: wordOfType(entry.type) })));
  const secrets = listed.data?.data ?? [];
  const upTo = at === null ? null : (apiKey?.as_of?.time ?? null);
  return (
    <>
      <AsOfBar moments={moments} asOf={apiKey?.as_of} />
      {error !== null && <ScreenFault title="API key" error={error} retry={() => void refetch()} />}
      {error === null && apiKey === undefined && <Skeleton />}
      {error === null && apiKey !== undefined && (
        <>
          <Head apiKey={apiKey} at={at} button={<AsOfButton moments={moments} />} />
          <div class="cols">
            <div class="stack">
              <Secrets
                secrets={secrets}
                prefix={`ob_${apiKey.environment}_`}
                error={listed.error}
                now={upTo === null ? Date.now() : new Date(upTo).getTime()}
              />
              <KeyHistory entries={entries} list={history} upTo={upTo} />
            </div>
            <Rail apiKey={apiKey} secrets={secrets} />
          </div>
        </>
      )}
    </>
  );
};
