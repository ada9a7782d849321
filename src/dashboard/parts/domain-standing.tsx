import type { JSX } from 'preact';
import type { SerializedDomain } from '../../http/schemas/domain.ts';
import type { SerializedDomainReputation } from '../../http/schemas/sender-reputation.ts';
import type { SerializedWarmUp } from '../../http/schemas/warm-up.ts';
import { request } from '../data/api.ts';
import { useAsOf } from '../data/as-of.ts';
import { linkTo } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { count, useTimes } from '../data/time.ts';
import { Action } from './action.tsx';
import { Fact, Facts } from './facts.tsx';
import { LEVELS, ReputationGauge } from './reputation-gauge.tsx';
import { Fault } from './states.tsx';

const ReleaseDomain = ({ id }: { readonly id: string }): JSX.Element => {
  const release = async (): Promise<undefined> => {
    await request(`/v1/domains/${id}/release`, { method: 'POST' });
  };
  return (
    <Action word="Release" icon="check" tone="plain" isSmall title="Release its bulk mail?" act={release}>
      <p class="two">
        Earlier mail is not counted any more, and what waits leaves at once. Do it when the cause is gone: receivers
        remember longer than this does.
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
    <Action word="Start" icon="clock" tone="plain" isSmall title="Warm the domain up?" act={start}>
      <p class="two">
        A daily limit for each mailbox provider, which grows from day to day. Bulk mail above it waits for another day;
        transactional mail never waits.
      </p>
      <label class="row">
        Recipients a day, from today
        <input class="inp" name="plan" placeholder="the default plan, or such as 50, 200, 1000, 5000" />
      </label>
    </Action>
  );
};

const EndWarmUp = ({ id }: { readonly id: string }): JSX.Element => {
  const end = async (): Promise<undefined> => {
    await request(`/v1/domains/${id}/warm-up`, { method: 'DELETE' });
  };
  return (
    <Action word="End" icon="cross" tone="plain" isSmall title="End the warm-up?" act={end}>
      <p class="two">Its mail is no longer held, and what waits leaves within seconds.</p>
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
  if (data.status === 'over') return <>Over since {data.ends_on}</>;
  return (
    <>
      <span class="held">
        Day {data.day} of {data.plan.length}
        <EndWarmUp id={id} />
      </span>
      <span class="muted small">at most {count(data.recipients_max ?? 0)} recipients a day and provider</span>
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
        <Fact name="Last change of its records, or check on request">
          {checkedAt === null ? 'Never' : times.full(checkedAt)}
        </Fact>
        <Fact name="Next automatic check">{nextAt === null ? 'None' : times.full(nextAt)}</Fact>
        <Fact name="Mail sent from it">
          <a class="lnk" href={linkTo('/messages', { domain_id: id })}>
            Messages
          </a>
        </Fact>
        <Fact name="Added">{times.full(createdAt)}</Fact>
      </Facts>
    </>
  );
};
