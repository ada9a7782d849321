import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedApiKey } from '../../http/resources/api-keys/api-keys.ts';
import type { SerializedKeySecret } from '../../http/resources/api-keys/key-history.ts';
import { AsOfBar, AsOfButton, momentsOf, type Past, queryAt, useAsOf, wordOfType } from '../components/as-of.tsx';
import { Fact, Facts } from '../components/facts.tsx';
import { Pill, type Tone } from '../components/icons.tsx';
import { ApiButton, Crumb } from '../components/screen.tsx';
import { Fault, ScreenFault, ScreenSkeleton } from '../components/states.tsx';
import { urlOf } from '../data/api.ts';
import { linkTo } from '../data/location.ts';
import { useDomainNames } from '../data/names.ts';
import { reloadChanged, useResource } from '../data/queries.ts';
import { ago, count, duration, useTimes } from '../data/time.ts';
import { KeyHistory, useKeyHistory } from './history.tsx';
import { EditKey, RevokeKey, RotateKey } from './keys.tsx';

export type Secret = SerializedKeySecret;

const TONES: Readonly<Record<Secret['status'], Tone>> = { current: 'ok', grace: 'go', ended: 'mute' };
/** Minimum width that keeps a short-lived value visible. */
const PERCENT_MIN = 1.5;
const TICKS = [0, 0.5];
/**
 * Percent. A tick closer to now than this overlaps its label; a label closer to an end than `END_WIDTH` is aligned with
 * that end.
 */
const TICK_WIDTH = 36;
const END_WIDTH = 12;
/** Shorter axes have no ticks, because they would all show the same minute. */
const TICKS_FROM_MS = 120_000;

const timeOf = (at: string): number => new Date(at).getTime();

const SECOND_MS = 1_000;

/** Remaining grace period of the previous value, in seconds. Data is reloaded when it ends. */
const Grace = ({ end }: { readonly end: string }): JSX.Element => {
  const times = useTimes();
  const [left, setLeft] = useState(() => timeOf(end) - Date.now());
  const isOver = left <= 0;
  useEffect(() => {
    const timer = setInterval(() => setLeft(timeOf(end) - Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, [end]);
  useEffect(() => {
    if (isOver) void reloadChanged();
  }, [isOver]);
  if (isOver) return <>grace period over</>;
  return (
    <>
      grace ends in <b class="b">{duration(Math.ceil(left / SECOND_MS) * SECOND_MS)}</b>
      <small>{times.short(end)}</small>
    </>
  );
};

/** Whether a value works, and until when. */
const Ending = ({ secret: { status, ends_at: end, sends } }: { readonly secret: Secret }): JSX.Element => {
  const times = useTimes();
  const isPast = useAsOf() !== null;
  if (end === null) return <>{sends === 1 ? '1 send' : `${count(sends)} sends`}</>;
  if (status === 'grace' && !isPast) return <Grace end={end} />;
  return (
    <>
      {status === 'ended' ? 'ended' : 'grace until'} {times.short(end)}
    </>
  );
};

interface SecretAxisProps {
  readonly secrets: readonly Secret[];
  /** Displayed beginning of each value. */
  readonly prefix: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Position of the label for now. */
const placed = (percent: number): { readonly class: string; readonly style?: { readonly left: string } } => {
  if (percent > 100 - END_WIDTH) return { class: 'n last' };
  return { class: percent < END_WIDTH ? 'n first' : 'n', style: { left: `${percent}%` } };
};

/** Every value of a key on one time axis: when it was current and, hatched, its grace period. */
export const SecretAxis = ({ secrets, prefix, now }: SecretAxisProps): JSX.Element => {
  const times = useTimes();
  const isPast = useAsOf() !== null;
  const from = Math.min(...secrets.map(({ created_at }) => timeOf(created_at)));
  const ends = secrets.flatMap(({ ends_at }) => (ends_at === null ? [] : [timeOf(ends_at)]));
  const to = Math.max(now, ...ends.filter((end) => end - now < now - from + 86_400_000)) + 1;
  const at = (time: number): number => Math.min(100, Math.max(0, ((time - from) / (to - from)) * 100));
  const ticks = TICKS.filter((tick) => to - from > TICKS_FROM_MS && Math.abs(at(now) - tick * 100) > TICK_WIDTH);
  return (
    <div class="gantt">
      {secrets.map((secret, index) => {
        const begin = timeOf(secret.created_at);
        const next = secrets[index - 1];
        const end = secret.ends_at === null ? now : timeOf(secret.ends_at);
        const replaced = next === undefined ? end : Math.min(end, timeOf(next.created_at));
        const width = Math.max(PERCENT_MIN, at(replaced) - at(begin));
        const left = Math.min(at(begin), 100 - PERCENT_MIN);
        return (
          <div class="g cells" key={secret.number}>
            <code>
              {prefix}…{secret.last4}
            </code>
            <div class={`t ${TONES[secret.status]}`}>
              <i class="bar" style={{ left: `${left}%`, width: `${width}%` }} />
              {end > replaced && (
                <i
                  class="grace"
                  style={{ left: `${left + width}%`, width: `${Math.max(0, at(end) - left - width)}%` }}
                />
              )}
            </div>
            <div class="end r quiet">
              <Ending secret={secret} />
            </div>
          </div>
        );
      })}
      <div class="gx" aria-hidden="true">
        <i />
        <div>
          {ticks.map((tick) => (
            <span key={tick} style={{ left: `${tick * 100}%` }}>
              {times.short(from + (to - from) * tick)}
            </span>
          ))}
          <span {...placed(at(now))}>{isPast ? times.short(now) : 'now'}</span>
        </div>
        <i />
      </div>
    </div>
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
        <Fact name="Requests per minute">
          {count(limits.send)} sends, {count(limits.read)} reads, {count(limits.manage)} changes
        </Fact>
        <Fact name="Networks">
          {networks.length === 0 ? 'Any' : networks.map((one) => <code key={one}>{one} </code>)}
        </Fact>
        <Fact name="Expires">{apiKey.expires_at === null ? 'Never' : times.full(apiKey.expires_at)}</Fact>
        <Fact name="Total sent">{count(secrets.reduce((sum, { sends }) => sum + sends, 0))} messages</Fact>
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
        <span class="muted">{working === 1 ? 'One secret works' : `${working} secrets work`} at this moment</span>
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
            Can <b class="b two">{apiKey.permissions.join(', ')}</b> for{' '}
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
      {error === null && apiKey === undefined && <ScreenSkeleton title="API key" />}
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
