import type { ComponentChildren, JSX } from 'preact';
import { Action } from '../components/action.tsx';
import { Mark } from '../components/icons.tsx';
import { Fault } from '../components/states.tsx';
import { request } from '../data/api.ts';
import { isFault, type Trouble, useAttention } from '../data/attention.ts';
import { linkTo } from '../data/location.ts';
import { ago, count, sofar, useTimes } from '../data/time.ts';
import { ReleaseDestination } from '../delivery/actions.tsx';

/** Lists problems that need action, each with its remedy. */

type TroubleOf<Of extends Trouble['of']> = Extract<Trouble, { readonly of: Of }>;

interface ItemProps {
  readonly trouble: Trouble;
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  readonly remedy?: JSX.Element;
}

const Item = ({ trouble, title, children, remedy }: ItemProps): JSX.Element => (
  <li class={`att cells line ${isFault(trouble) ? 'bad' : 'wait'}`}>
    <Mark state={isFault(trouble) ? 'fault' : 'warning'} />
    <p>
      <b class="b">{title}</b>
      <span>{children}</span>
    </p>
    {remedy}
  </li>
);

const LinkTo = ({ path, word }: { readonly path: string; readonly word: string }): JSX.Element => (
  <a class="btn small" href={linkTo(path)}>
    {word}
  </a>
);

const DomainTrouble = ({ trouble }: { readonly trouble: TroubleOf<'domain'> }): JSX.Element => {
  const times = useTimes();
  const { domain } = trouble;
  const wrong = domain.records.find(({ required, status }) => required && status === 'pending');
  const titles = {
    pending: 'cannot send yet',
    failed: 'can no longer send',
    degraded:
      domain.fails_at === null ? 'is about to stop sending' : `stops sending on ${times.short(domain.fails_at)}`,
    verified: 'can send',
  };
  return (
    <Item
      trouble={trouble}
      title={
        <>
          <bdi>{domain.name}</bdi> {titles[domain.status]}
        </>
      }
      remedy={
        <LinkTo path={`/domains/${domain.id}`} word={domain.status === 'pending' ? 'View records' : 'Fix the record'} />
      }
    >
      {wrong === undefined ? (
        'Its records have not been checked since then.'
      ) : (
        <>
          <code>{wrong.name}</code>: <bdi>{wrong.problem ?? 'this record has not been found yet.'}</bdi>
        </>
      )}
    </Item>
  );
};

const LEVELS = {
  good: 'is not restricted',
  warned: 'is close to a limit',
  slowed: 'is slowed down',
  paused: 'is paused',
} as const;

const ReputationTrouble = ({ trouble }: { readonly trouble: TroubleOf<'reputation'> }): JSX.Element => {
  const { domain, reputation } = trouble;
  const { level, measure, since } = reputation;
  const share = measure === 'complaints' ? reputation.complaints : reputation.bounces;
  const whose = domain?.name ?? 'the organization';
  const release = async (): Promise<undefined> => {
    await request(domain === null ? '/v1/organization/release' : `/v1/domains/${domain.id}/release`, {
      method: 'POST',
    });
  };
  return (
    <Item
      trouble={trouble}
      title={
        <>
          Bulk mail of <bdi>{whose}</bdi> {LEVELS[level]}
        </>
      }
      {...(level !== 'warned' && {
        remedy: (
          <Action
            word="Release"
            operation={domain === null ? 'POST /v1/organization/release' : 'POST /v1/domains/:id/release'}
            icon="check"
            tone="plain"
            isSmall
            title={`Release the bulk mail of ${whose}?`}
            act={release}
          >
            <p class="two">
              Waiting mail is sent within seconds, and counting starts again. First remove the addresses that caused it:
              mailbox providers keep their own count.
            </p>
          </Action>
        ),
      })}
    >
      {share.percent} % {measure === 'complaints' ? 'complained' : 'had no mailbox'}: {count(share.count)} of{' '}
      {count(share.of)}
      {since !== null && `, since ${ago(since)}`}. Transactional mail is not affected.
    </Item>
  );
};

/** An endpoint by its path and description: several may have the same host. */
const Endpoint = ({ webhook: { url, description } }: Pick<TroubleOf<'webhook'>, 'webhook'>): JSX.Element => (
  <>
    <bdi>{url.replace(/^https?:\/\//, '')}</bdi>
    {description !== null && (
      <>
        {' '}
        (<bdi>{description}</bdi>)
      </>
    )}
  </>
);

const WebhookTrouble = ({ trouble }: { readonly trouble: TroubleOf<'webhook'> }): JSX.Element => {
  const { id, status, failing_since: since, disabled_reason: reason } = trouble.webhook;
  if (status === 'paused') {
    return (
      <Item trouble={trouble} title="Webhook paused" remedy={<LinkTo path={`/webhooks/${id}`} word="Adopt it" />}>
        <Endpoint webhook={trouble.webhook} />: its API key has ended. Adopt the webhook to send its waiting events.
      </Item>
    );
  }
  const why = reason === 'gone' ? 'answered 410 Gone' : 'failed for 5 days';
  return (
    <Item
      trouble={trouble}
      title={since === null ? 'Webhook disabled' : `A webhook has been failing for ${sofar(since)}`}
      remedy={<LinkTo path={`/webhooks/${id}`} word="Open deliveries" />}
    >
      <Endpoint webhook={trouble.webhook} /> {since === null ? why : 'is failing'}. You can replay the missed events.
    </Item>
  );
};

const DestinationTrouble = ({ trouble }: { readonly trouble: TroubleOf<'destination'> }): JSX.Element => {
  const times = useTimes();
  const { destination, message, smtp, since, until } = trouble.destination;
  return (
    <Item
      trouble={trouble}
      title={
        <>
          <bdi>{destination.replace('@', '')}</bdi> is not accepting mail
        </>
      }
      remedy={<ReleaseDestination destination={destination} until={until} />}
    >
      <bdi>{message}</bdi>
      {smtp.code > 0 && ` ${[smtp.code, smtp.enhanced].filter(Boolean).join(' ')}.`} Suspended {ago(since)}, next
      attempt at {times.clock(until)}.
    </Item>
  );
};

const KeyTrouble = ({ trouble }: { readonly trouble: TroubleOf<'expiring key' | 'earlier secret'> }): JSX.Element => {
  const times = useTimes();
  const { apiKey } = trouble;
  const used = (at: string | null): string => (at === null ? 'never used' : `last used ${ago(at)}`);
  const isExpiring = trouble.of === 'expiring key';
  return (
    <Item
      trouble={trouble}
      title={
        <>
          The key <bdi>{apiKey.name}</bdi>{' '}
          {isExpiring
            ? `expires on ${times.short(trouble.expiresAt)}`
            : `has an old secret until ${times.short(trouble.secret.expires_at)}`}
        </>
      }
      remedy={<LinkTo path={`/keys/${apiKey.id}`} word="Open the key" />}
    >
      {isExpiring
        ? `The key was ${used(apiKey.last_used_at)}. Replace it before it expires.`
        : `The secret ending in ${trouble.secret.last4} was ${used(trouble.secret.last_used_at)}. Requests that use it will fail.`}
    </Item>
  );
};

const QuotaTrouble = ({ trouble }: { readonly trouble: TroubleOf<'quota'> }): JSX.Element => {
  const times = useTimes();
  const { limit, remaining, hard } = trouble.quota;
  return (
    <Item
      trouble={trouble}
      title={remaining === 0 ? 'Your quota is used up' : `${count(remaining)} recipients left this month`}
    >
      {count(limit - remaining)} of {count(limit)}. {hard ? 'More are rejected' : 'More cost extra'} until{' '}
      {times.short(trouble.endsAt)}, or until another plan is chosen.
    </Item>
  );
};

const TroubleItem = ({ trouble }: { readonly trouble: Trouble }): JSX.Element => {
  switch (trouble.of) {
    case 'domain':
      return <DomainTrouble trouble={trouble} />;
    case 'reputation':
      return <ReputationTrouble trouble={trouble} />;
    case 'webhook':
      return <WebhookTrouble trouble={trouble} />;
    case 'destination':
      return <DestinationTrouble trouble={trouble} />;
    case 'expiring key':
    case 'earlier secret':
      return <KeyTrouble trouble={trouble} />;
    case 'quota':
      return <QuotaTrouble trouble={trouble} />;
  }
};

/** Shows at most this many. More would push everything else off the screen. */
const SHOWN_MAX = 6;

const keyOf = (trouble: Trouble): string => {
  switch (trouble.of) {
    case 'domain':
      return trouble.domain.id;
    case 'reputation':
      return `reputation ${trouble.domain?.id}`;
    case 'webhook':
      return trouble.webhook.id;
    case 'destination':
      return trouble.destination.destination;
    case 'expiring key':
      return trouble.apiKey.id;
    case 'earlier secret':
      return `${trouble.apiKey.id} ${trouble.secret.last4}`;
    case 'quota':
      return 'quota';
  }
};

export const NeedsAttention = (): JSX.Element | null => {
  const { data, error, refetch } = useAttention();
  if (error !== null) return <Fault error={error} retry={() => void refetch()} />;
  if (data === undefined) return null;
  const { troubles, unseen, fault } = data;
  const rest = troubles.length - SHOWN_MAX;
  return (
    <section class="card" aria-label="Needs attention">
      <header>
        <h2>Needs attention</h2>
        <span class="sp" />
        {troubles.length === 0 && fault === null && (
          <span class="muted">Nothing{unseen.length > 0 && ' that you can see'}</span>
        )}
      </header>
      {troubles.length > 0 && (
        <ul>
          {troubles.slice(0, SHOWN_MAX).map((trouble) => (
            <TroubleItem key={keyOf(trouble)} trouble={trouble} />
          ))}
        </ul>
      )}
      {rest > 0 && <p class="pad muted">And {rest} more.</p>}
      {fault !== null && <Fault error={fault} retry={() => void refetch()} />}
      {unseen.length > 0 && <p class="pad muted">You do not have access to {unseen.join(', ')}.</p>}
    </section>
  );
};
