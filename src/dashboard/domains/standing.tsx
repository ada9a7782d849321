import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedDomain } from '../../http/resources/domains/domain.ts';
import type {
  SerializedDomainReputation,
  SerializedMeasurement,
  SerializedWarmUp,
} from '../../http/resources/domains/reputation.ts';
import { Action } from '../components/action.tsx';
import { type Past, useAsOf } from '../components/as-of.tsx';
import { Fact, Facts } from '../components/facts.tsx';
import { Status } from '../components/icons.tsx';
import { Fault } from '../components/states.tsx';
import { useMay } from '../data/access.ts';
import { request } from '../data/api.ts';
import { linkTo, useHold } from '../data/location.ts';
import { reloadChanged, useResource } from '../data/queries.ts';
import { count, useTimes } from '../data/time.ts';

/** Bounce and complaint rates of a sender's bulk mail, compared with the limits. */

const LEVELS = {
  good: { state: 'active', word: 'Good', text: 'Mail is not restricted.' },
  warned: { state: 'warning', word: 'Warned', text: 'Mail is not restricted yet.' },
  slowed: { state: 'deferred', word: 'Slowed', text: 'Bulk mail is sent one message at a time.' },
  paused: { state: 'fault', word: 'Paused', text: 'Bulk mail waits until it is released or the rates fall.' },
} as const;

/** Nothing has been delivered or bounced. */
const UNKNOWN = { state: 'unchecked', word: 'No bulk mail yet', text: 'Mail is not restricted.' } as const;

/** Scale maximum relative to the highest limit, which leaves room for values above it. */
const ABOVE = 1.25;

const percentOf = (value: number, all: number): string => `${Math.min(100, (100 * value) / all).toFixed(1)}%`;

/** 0 of 0 is no rate. */
const rateOf = ({ percent, of }: SerializedMeasurement): string => (of === 0 ? '–' : `${percent} %`);

const Track = ({ measured: { percent, limits } }: { readonly measured: SerializedMeasurement }): JSX.Element | null => {
  if (limits === null) return null;
  const { warned_percent: warned, slowed_percent: slowed, paused_percent: paused } = limits;
  const all = paused * ABOVE;
  return (
    <div
      class="track2"
      role="img"
      aria-label={`${percent} %; warned at ${warned} %, slowed at ${slowed} %, paused at ${paused} %`}
      style={{ '--warned': percentOf(warned, all), '--paused': percentOf(paused, all) }}
    >
      <i style={{ left: percentOf(percent, all) }} />
    </div>
  );
};

const Measured = ({
  name,
  of,
  measured,
}: {
  readonly name: string;
  /** Recipients that it is a share of. */
  readonly of: string;
  readonly measured: SerializedMeasurement;
}): JSX.Element => (
  <div class="row">
    <div class="t">
      <span>{name}</span>
      <span class="num b">{rateOf(measured)}</span>
    </div>
    <Track measured={measured} />
    <p class="muted small">
      {count(measured.count)} of {count(measured.of)} {of}
    </p>
  </div>
);

const NAMES = ['warned', 'slowed', 'paused'] as const;

/** Lists the limits: warned at 2 % and 0.08 %, slowed at 4 % and 0.2 %, … */
const sentenceOf = ({ bounces, complaints }: Pick<SerializedDomainReputation, 'bounces' | 'complaints'>): string => {
  const limits = [bounces.limits, complaints.limits].filter((one) => one !== null);
  if (limits.length === 0) return 'No limits apply.';
  const parts = NAMES.map((name) => `${name} at ${limits.map((one) => `${one[`${name}_percent`]} %`).join(' and ')}`);
  const text = `${parts.slice(0, -1).join(', ')}, ${parts.at(-1)}`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
};

interface GaugeProps {
  readonly reputation: Pick<SerializedDomainReputation, 'level' | 'bounces' | 'complaints'>;
  readonly children?: JSX.Element | false | undefined;
}

/** @param children an action next to the level. */
export const ReputationGauge = ({ reputation, children }: GaugeProps): JSX.Element => {
  const { level, bounces, complaints } = reputation;
  const isUnknown = level === 'good' && bounces.of + complaints.of === 0;
  const { state, word, text } = isUnknown ? UNKNOWN : LEVELS[level];
  return (
    <>
      <div class="t">
        <Status state={state} word={word} />
        {children}
      </div>
      <Measured name="Bounces" of="delivered or bounced" measured={bounces} />
      <Measured name="Complaints" of="delivered" measured={complaints} />
      <p class="muted small">
        Bulk mail from the last seven days. {sentenceOf(reputation)} {text}
      </p>
    </>
  );
};

const filled = (form: FormData, name: string): string | null => String(form.get(name) ?? '').trim() || null;

/** Tracking settings of a domain, and its branding on recipient pages. */
export const DomainSettings = ({ domain }: { readonly domain: Past<SerializedDomain> }): JSX.Element => {
  const isPast = useAsOf() !== null;
  const [error, setError] = useState<Error | null>(null);
  const [isSaved, setSaved] = useState(false);
  const [isTouched, setTouched] = useState(false);
  useHold('unsaved', isTouched);
  const may = useMay('PATCH /v1/domains/:id');
  const { tracking, branding } = domain;
  const save = async (form: FormData): Promise<void> => {
    const [name, color, logoUrl] = ['name', 'color', 'logo_url'].map((field) => filled(form, field));
    const body = {
      tracking: { opens: form.has('opens'), clicks: form.has('clicks') },
      branding: name === null && color === null && logoUrl === null ? null : { name, color, logo_url: logoUrl },
    };
    try {
      await request(`/v1/domains/${domain.id}`, { method: 'PATCH', body });
      setError(null);
      setSaved(true);
      setTouched(false);
      await reloadChanged();
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
    }
  };
  const edit = (): void => {
    setSaved(false);
    setTouched(true);
  };
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    void save(new FormData(event.currentTarget));
  };
  return (
    <section class="card">
      <header>
        <h2>Settings</h2>
      </header>
      <form key={domain.as_of?.leaf_index} class="pad form" onSubmit={submit} onInput={edit}>
        <label class="opt">
          <input type="checkbox" name="opens" disabled={!may} defaultChecked={tracking.opens} />
          <span>
            Count opens
            <small>adds an invisible image to the HTML; a message can override this</small>
          </span>
        </label>
        <label class="opt">
          <input type="checkbox" name="clicks" disabled={!may} defaultChecked={tracking.clicks} />
          <span>
            Count clicks
            <small>links go through this service; a message can override this</small>
          </span>
        </label>
        <div class="fields">
          <label class="row">
            Name on recipient pages
            <input
              class="inp"
              disabled={!may}
              name="name"
              maxLength={100}
              defaultValue={branding?.name ?? ''}
              placeholder={domain.name}
            />
          </label>
          <label class="row">
            Colour
            <input
              class="inp"
              disabled={!may}
              name="color"
              maxLength={7}
              defaultValue={branding?.color ?? ''}
              placeholder="#1a56b0"
            />
          </label>
          <label class="row">
            Logo
            <input
              class="inp"
              disabled={!may}
              name="logo_url"
              type="url"
              defaultValue={branding?.logo_url ?? ''}
              placeholder="https://"
            />
          </label>
        </div>
        {error !== null && <Fault error={error} />}
        <div class="formend flex">
          <span class="muted" role="status">
            {isSaved ? 'Saved. Applies to mail accepted from now on' : isTouched ? 'Not saved yet' : ''}
          </span>
          {may && (
            <button type="submit" class="btn" disabled={isPast}>
              Save
            </button>
          )}
        </div>
      </form>
    </section>
  );
};

const ReleaseDomain = ({ id }: { readonly id: string }): JSX.Element => {
  const release = async (): Promise<undefined> => {
    await request(`/v1/domains/${id}/release`, { method: 'POST' });
  };
  return (
    <Action
      word="Release"
      operation="POST /v1/domains/:id/release"
      icon="check"
      tone="plain"
      isSmall
      title="Release bulk mail?"
      act={release}
    >
      <p class="two">
        Waiting mail is sent immediately, and earlier mail is no longer counted. Fix the cause first: mailbox providers
        remember longer than this service does.
      </p>
    </Action>
  );
};

const ReputationOf = ({ id }: { readonly id: string }): JSX.Element => {
  const { data, error } = useResource<SerializedDomainReputation>({ path: `/v1/domains/${id}/reputation` });
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <div class="gauge" />;
  return (
    <div class="gauge">
      <ReputationGauge reputation={data}>
        {(data.level === 'slowed' || data.level === 'paused') && <ReleaseDomain id={id} />}
      </ReputationGauge>
      {data.organization_level !== 'good' && (
        <p class="muted small">All domains together: {LEVELS[data.organization_level].word.toLowerCase()}.</p>
      )}
    </div>
  );
};

const StartWarmUp = ({ id }: { readonly id: string }): JSX.Element => {
  const start = async (form: FormData): Promise<undefined> => {
    const plan = String(form.get('plan'))
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(Number);
    await request(`/v1/domains/${id}/warm-up`, { method: 'PUT', body: plan.length === 0 ? {} : { plan } });
  };
  return (
    <Action
      word="Start"
      operation="PUT /v1/domains/:id/warm-up"
      icon="clock"
      tone="plain"
      isSmall
      title="Start a warm-up?"
      act={start}
    >
      <p class="two">
        Sets a daily limit for each mailbox provider, which grows every day. Bulk mail above the limit waits for the
        next day. Transactional mail never waits.
      </p>
      <label class="row">
        Recipients per day, from today
        <input class="inp" name="plan" placeholder="the default plan, or for example 50, 200, 1000" />
      </label>
    </Action>
  );
};

const EndWarmUp = ({ id }: { readonly id: string }): JSX.Element => {
  const end = async (): Promise<undefined> => {
    await request(`/v1/domains/${id}/warm-up`, { method: 'DELETE' });
  };
  return (
    <Action
      word="End"
      operation="DELETE /v1/domains/:id/warm-up"
      icon="cross"
      tone="plain"
      isSmall
      title="End the warm-up?"
      act={end}
    >
      <p class="two">Mail is no longer held. Waiting mail is sent within seconds.</p>
    </Action>
  );
};

const WarmUpOf = ({ id }: { readonly id: string }): JSX.Element => {
  const { data, error } = useResource<SerializedWarmUp>({ path: `/v1/domains/${id}/warm-up` });
  if (error !== null) return <Fault error={error} />;
  if (data === undefined || data.status === 'none') {
    return (
      <span class="held">
        None
        <StartWarmUp id={id} />
      </span>
    );
  }
  if (data.status === 'over') return <>Ended on {data.ends_on}</>;
  return (
    <>
      <span class="held">
        Day {data.day} of {data.plan.length}
        <EndWarmUp id={id} />
      </span>
      <span class="muted small">at most {count(data.recipients_max ?? 0)} recipients a day per provider</span>
      {data.today.map(({ destination, recipients }) => (
        <span class="held small" key={destination}>
          <bdi class="ell">{destination}</bdi>
          <span class="num">{count(recipients)}</span>
        </span>
      ))}
    </>
  );
};

/** Reputation and warm-up of a domain, with the resulting actions. Known only for the present. */
export const DomainStanding = ({ domain }: { readonly domain: SerializedDomain }): JSX.Element => {
  const times = useTimes();
  const { id, next_check_at: nextAt, created_at: createdAt } = domain;
  const checkedAt = domain.records.find(({ checked_at: at }) => at !== null)?.checked_at ?? null;
  const isPast = useAsOf() !== null;
  return (
    <>
      {!isPast && (
        <section aria-label="Reputation">
          <h2>Reputation</h2>
          <ReputationOf id={id} />
        </section>
      )}
      <Facts>
        {!isPast && (
          <Fact name="Warm-up">
            <WarmUpOf id={id} />
          </Fact>
        )}
        <Fact name="Last record change or manual check">{checkedAt === null ? 'Never' : times.full(checkedAt)}</Fact>
        <Fact name="Next automatic check">{nextAt === null ? 'None' : times.full(nextAt)}</Fact>
        <Fact name="Sent mail">
          <a class="lnk" href={linkTo('/messages', { domain_id: id })}>
            Messages
          </a>
        </Fact>
        <Fact name="Added">{times.full(createdAt)}</Fact>
      </Facts>
    </>
  );
};
