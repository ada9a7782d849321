import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SerializedDomain } from '../../http/resources/domains/domain.ts';
import { Action, IfAllowed } from '../components/action.tsx';
import { AsOfBar, AsOfButton, type Past, queryAt, useAsOf, useMoments } from '../components/as-of.tsx';
import { CopyWhole } from '../components/facts.tsx';
import { Icon, Mark, Pill } from '../components/icons.tsx';
import { ApiButton, Crumb } from '../components/screen.tsx';
import { Fault, ScreenFault, ScreenSkeleton } from '../components/states.tsx';
import { request, urlOf } from '../data/api.ts';
import { linkTo, navigate } from '../data/location.ts';
import { reloadChanged, removeResource, useResource } from '../data/queries.ts';
import { createStore, useStore } from '../data/store.ts';
import { duration, useTimes } from '../data/time.ts';
import { AUTHENTICATION, nameOf, RecordRow, RecordStatus, RecordToFix, standingOf, zoneFile } from './domains.tsx';
import { Receiving } from './receiving.tsx';
import { DomainSettings, DomainStanding } from './standing.tsx';

/** Checks a domain's DNS on demand and repeats the check while records are being published. */

const EVERY_MS = 10_000;
/** Every check is recorded in the audit log. After this many, the user must start again. */
const CHECKS_MAX = 12;

interface Asking {
  readonly domainId: string;
  readonly left: number;
  /** Time of the last result. */
  readonly answeredAt: number | null;
}

const asking = createStore<Asking | null>(null);

export interface Check {
  readonly error: Error | null;
  readonly isBusy: boolean;
  begin(): void;
}

const isDone = ({ records }: SerializedDomain): boolean =>
  records.every(({ required, status }) => !required || status !== 'pending');

export const useCheck = (domainId: string, domain: SerializedDomain | undefined): Check => {
  const now = useStore(asking);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const ask = async (left: number): Promise<void> => {
    setBusy(true);
    try {
      const checked = await request<SerializedDomain>(`/v1/domains/${domainId}/verify`, { method: 'POST' });
      setError(null);
      asking.set(isDone(checked) ? null : { domainId, left, answeredAt: Date.now() });
      await reloadChanged({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith('/v1/domains') });
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
      asking.set(null);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    if (now === null || now.left === 0 || domain === undefined) return;
    const timer = setTimeout(() => void ask(now.left - 1), EVERY_MS);
    return () => clearTimeout(timer);
  }, [now, domain === undefined]);
  useEffect(() => () => asking.set(null), [domainId]);
  return { error, isBusy, begin: () => void ask(CHECKS_MAX) };
};

const SECOND_MS = 1000;

/** Shows that a check is running and how old the last result is. */
export const Checking = (): JSX.Element | null => {
  const now = useStore(asking);
  const [, render] = useState({});
  useEffect(() => {
    const timer = setInterval(() => render({}), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  if (now === null || now.answeredAt === null || now.left === 0) return null;
  const agoMs = Math.floor((Date.now() - now.answeredAt) / SECOND_MS) * SECOND_MS;
  return (
    <span class="live inline quiet" role="status">
      <i class="spin" />
      Checking DNS every 10 s. Last answer {duration(agoMs)} ago
    </span>
  );
};

type DomainRecord = SerializedDomain['records'][number];

const isFine = ({ state, status }: DomainRecord): boolean => state === 'valid' || status === 'not_needed';

/** Explains what the domain's status means for its mail. */
const Meaning = ({ domain }: { readonly domain: SerializedDomain }): JSX.Element => {
  const times = useTimes();
  const { status, verification, fails_at: failsAt } = domain;
  if (verification?.method === 'capture') {
    return <>Verified automatically: mail is captured on this machine, so no records are needed</>;
  }
  if (status === 'degraded' && failsAt !== null) {
    return (
      <>
        Sending stops on <b class="b two">{times.short(failsAt)}</b> unless the required records are restored
      </>
    );
  }
  if (status === 'failed') return <>This domain cannot send until its required records are restored</>;
  if (verification === null) return <>This domain cannot send until its required records are published</>;
  return <>Verified since {times.full(verification.verified_at)}</>;
};

/** Words for a faulty record: if all records of its purpose are faulty, and if some are. */
const WRONG = {
  unknown: ['Not checked yet', 'not checked yet'],
  missing: ['Not published', 'not published'],
  invalid: ['Incorrect', 'incorrect'],
  include_broken: ['Incorrect', 'incorrect'],
} as const;

/** @param all all records of the same purpose. */
const said = ({ purpose, state, status, seen }: DomainRecord, all: readonly DomainRecord[]): string => {
  if (status === 'not_needed') return 'Not needed';
  if (state === 'valid') return (purpose === 'spf' || purpose === 'dmarc' ? seen[0] : undefined) ?? 'Correct';
  const alike = all.filter((record) => record.state === state).length;
  const [whole, part] = WRONG[state];
  return alike === all.length ? whole : `${alike} of ${all.length} ${part}`;
};

/** The state of each kind of record. Nothing if no record is needed, which the heading says. */
const Summary = ({
  domain: { records, authentication },
}: {
  readonly domain: SerializedDomain;
}): JSX.Element | null => {
  if (records.every(({ status }) => status === 'not_needed')) return null;
  const allOf = (purpose: DomainRecord['purpose']) => records.filter((record) => record.purpose === purpose);
  const recordOf = (purpose: DomainRecord['purpose']): DomainRecord | undefined => {
    const all = allOf(purpose);
    return all.find((record) => !isFine(record)) ?? all[0];
  };
  const returnPath = recordOf('return_path') ?? recordOf('ownership');
  return (
    <div class="steps3 frame">
      {AUTHENTICATION.map(({ name, of, required }) => {
        const record = recordOf(of);
        return (
          <div key={name}>
            <RecordStatus state={authentication[of]} required={required} word={name} />
            <p class="ell">{record === undefined ? '' : said(record, allOf(of))}</p>
          </div>
        );
      })}
      {returnPath !== undefined && (
        <div>
          <RecordStatus {...returnPath} word={returnPath.purpose === 'ownership' ? 'Ownership' : 'Bounces'} />
          <p class="ell">{said(returnPath, [returnPath])}</p>
        </div>
      )}
    </div>
  );
};

const RotateDkim = ({ domain }: { readonly domain: SerializedDomain }): JSX.Element => {
  const rotate = async (): Promise<undefined> => {
    await request(`/v1/domains/${domain.id}/dkim/rotate`, { method: 'POST' });
  };
  return (
    <Action
      word="Rotate DKIM keys"
      operation="POST /v1/domains/:id/dkim/rotate"
      icon="key"
      tone="plain"
      title="Rotate the DKIM keys?"
      act={rotate}
    >
      <p class="two">
        A new key pair is created, with two records to publish. The current keys sign until the new records are found,
        so all mail stays signed. Keep the current records for a while: mail in transit is verified with them.
      </p>
    </Action>
  );
};

const DeleteDomain = ({ domain }: { readonly domain: SerializedDomain }): JSX.Element => {
  const remove = async (): Promise<undefined> => {
    await removeResource(`/v1/domains/${domain.id}`);
    navigate(linkTo('/domains'), 'replace');
  };
  return (
    <Action
      word="Delete"
      operation="DELETE /v1/domains/:id"
      icon="trash"
      tone="danger"
      title={`Delete ${domain.name}?`}
      typed={domain.name}
      act={remove}
    >
      <p class="two">
        Every API key that is bound to this domain is revoked within a second. Waiting messages fail when they are due.
        History and statistics are kept.
      </p>
    </Action>
  );
};

const KEY_STATES = { active: 'active', pending: 'pending', retired: 'revoked' } as const;
const KEY_WORDS = { active: 'Signing', pending: 'Waiting for its record', retired: 'Retired' } as const;

/** Captured mail never leaves this machine, so it needs no records. */
const keyWord = ({ verification }: SerializedDomain, status: keyof typeof KEY_WORDS): string =>
  status === 'pending' && verification?.method === 'capture' ? 'Not needed while mail is captured' : KEY_WORDS[status];

const DkimKeys = ({ domain }: { readonly domain: SerializedDomain }): JSX.Element => {
  const times = useTimes();
  return (
    <section class="card">
      <header>
        <h2>DKIM keys</h2>
      </header>
      <ul>
        {domain.dkim.map(({ hosts, status, removable, safe_to_remove_at: removableAt, activated_at: activatedAt }) => (
          <li class="okrow several flex line" key={hosts.join(' ')}>
            <Mark state={KEY_STATES[status]} />
            <span class="hosts any">
              <b class="b">{keyWord(domain, status)}</b>
              {hosts.map((host) => (
                <code key={host}>{host}</code>
              ))}
            </span>
            <span class="muted small">
              {status === 'active' && activatedAt !== null && `since ${times.short(activatedAt)}`}
              {removableAt !== null &&
                (removable ? 'you can remove its records' : `keep its records until ${times.short(removableAt)}`)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
};

const Records = ({ domain }: { readonly domain: SerializedDomain }): JSX.Element => {
  const toFix = domain.records.filter((record) => !isFine(record));
  const fine = domain.records.filter(isFine);
  return (
    <>
      {toFix.length > 0 && (
        <section class="card">
          <header>
            <h2>{domain.verification === null ? 'Records to publish' : 'Records to fix'}</h2>
            <span class="sp" />
            <Checking />
            <CopyWhole text={zoneFile(toFix)} word="Copy as zone file" />
          </header>
          {toFix.map((record) => (
            <RecordToFix key={`${record.name} ${record.type}`} record={record} />
          ))}
        </section>
      )}
      {fine.length > 0 && (
        <section class="card">
          <header>
            <h2>{domain.verification?.method === 'capture' ? 'Records for sending mail' : 'Published correctly'}</h2>
            <span class="sp" />
            <CopyWhole text={zoneFile(fine)} word="Copy as zone file" />
          </header>
          <ul>
            {fine.map((record) => (
              <RecordRow key={`${record.name} ${nameOf(record)}`} record={record} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
};

/** A domain: its status, its records with instructions, and its reputation; now or in the past. */
export const Domain = ({ id }: { readonly id: string }): JSX.Element => {
  const at = useAsOf();
  const {
    data: domain,
    error,
    refetch,
  } = useResource<Past<SerializedDomain>>({ path: `/v1/domains/${id}`, query: queryAt(at) });
  const moments = useMoments({ domain_id: id, types: 'domain.*' });
  const check = useCheck(id, domain);
  if (error !== null || domain === undefined) {
    return (
      <>
        <AsOfBar moments={moments} />
        {error === null ? (
          <ScreenSkeleton title="Domain" />
        ) : (
          <ScreenFault title="Domain" error={error} retry={() => void refetch()} />
        )}
      </>
    );
  }
  const requests = [
    urlOf(`/v1/domains/${id}`, queryAt(at)),
    ...['/reputation', '/warm-up'].map((part) => `/v1/domains/${id}${part}`),
  ];
  return (
    <>
      <AsOfBar moments={moments} asOf={domain.as_of} />
      <Crumb path="/domains" word="Domains" id={domain.id} />
      <div class="head">
        <div>
          <div class="titled">
            <h1>
              <bdi>{domain.name}</bdi>
            </h1>
            <Pill {...standingOf(domain)} />
          </div>
          <p class="sub">
            <Meaning domain={domain} />
          </p>
        </div>
        <div class="acts">
          <AsOfButton moments={moments} />
          <ApiButton requests={requests} />
          <RotateDkim domain={domain} />
          <IfAllowed operation="POST /v1/domains/:id/verify">
            <button type="button" class="btn primary" disabled={check.isBusy || at !== null} onClick={check.begin}>
              <Icon name="rotate" />
              Check now
            </button>
          </IfAllowed>
        </div>
      </div>
      {check.error !== null && <Fault error={check.error} />}
      <Summary domain={domain} />
      <div class="cols">
        <div class="stack">
          <Records domain={domain} />
          <DkimKeys domain={domain} />
          <Receiving domain={domain} />
          <DomainSettings domain={domain} />
        </div>
        <aside class="stack" aria-label="Standing">
          <DomainStanding domain={domain} />
          <div>
            <DeleteDomain domain={domain} />
          </div>
        </aside>
      </div>
    </>
  );
};
