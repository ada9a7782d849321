import type { JSX } from 'preact';
import type { SerializedDomain } from '../../http/resources/domains/domain.ts';
import { Action } from '../components/action.tsx';
import { Status } from '../components/icons.tsx';
import { request } from '../data/api.ts';
import { linkTo } from '../data/location.ts';
import { RECORD_WORDS, stateOf } from './domains.tsx';

/** Whether the domain receives mail, and its MX record. */

interface OfDomain {
  readonly domain: SerializedDomain;
}

const SwitchInbound = ({ domain: { id, name, inbound } }: OfDomain): JSX.Element => {
  const set = async (mx: boolean): Promise<undefined> => {
    await request(`/v1/domains/${id}`, { method: 'PATCH', body: { inbound: { mx } } });
  };
  return inbound.mx ? (
    <Action
      word="Stop receiving"
      operation="PATCH /v1/domains/:id"
      icon="forbid"
      tone="plain"
      isSmall
      title={`Stop receiving mail for ${name}?`}
      act={() => set(false)}
    >
      <p class="two">
        Mail to this domain is refused from now on. Remove its MX record, or point it to another server. Mail that was
        received before is kept.
      </p>
    </Action>
  ) : (
    <Action
      word="Receive mail"
      operation="PATCH /v1/domains/:id"
      icon="reply"
      tone="plain"
      isSmall
      title={`Receive mail for ${name}?`}
      act={() => set(true)}
    >
      <p class="two">
        Mail for any address of this domain is received here once you publish its MX record, which is then among its
        records. If people have mailboxes at this domain, use a subdomain instead: a domain has one set of MX records.
      </p>
    </Action>
  );
};

const NO_RECORD = {
  capture:
    'Mail is captured on this machine, so no MX record is needed. Mail to addresses of this domain is received by POST /v1/inbound/test, and by SMTP at the port that the service prints when it starts.',
  dns: 'This service has no mail server of its own: its operator must set BOUNCE_DOMAIN. Until then, only POST /v1/inbound/test is received.',
} as const;

const Mx = ({ domain }: OfDomain): JSX.Element => {
  const record = domain.records.find(({ purpose }) => purpose === 'mx');
  if (record === undefined) return <p class="two">{NO_RECORD[domain.verification?.method ?? 'dns']}</p>;
  if (record.status === 'not_needed') return <p class="two">{NO_RECORD.capture}</p>;
  return (
    <p class="held">
      <span class="any">
        MX record <code>{record.value}</code>
      </span>
      <Status state={stateOf(record)} word={RECORD_WORDS[record.state]} />
    </p>
  );
};

export const Receiving = ({ domain }: OfDomain): JSX.Element => (
  <section class="card" aria-label="Inbound mail">
    <header>
      <h2>Inbound mail</h2>
      <Status state={domain.inbound.mx ? 'active' : 'unchecked'} word={domain.inbound.mx ? 'On' : 'Off'} />
      <span class="sp" />
      <SwitchInbound domain={domain} />
    </header>
    <div class="pad form">
      {domain.inbound.mx ? (
        <>
          <Mx domain={domain} />
          {domain.verification === null && (
            <p class="two">Mail is refused until the domain is verified: publish its required records.</p>
          )}
          <p class="flex wrap">
            <a class="lnk" href={linkTo('/inbound', { domain_id: domain.id })}>
              Received messages
            </a>
            <a class="lnk" href={linkTo('/inbound', { tab: 'routes', domain_id: domain.id })}>
              Routes
            </a>
          </p>
        </>
      ) : (
        <p class="two">Mail that people send to this domain is not received here.</p>
      )}
    </div>
  </section>
);
