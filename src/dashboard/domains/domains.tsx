import type { JSX } from 'preact';
import type { SerializedDomain } from '../../http/resources/domains/domain.ts';
import { Action } from '../components/action.tsx';
import { CopyButton, CopyLink, Prose } from '../components/facts.tsx';
import { Icon, Mark, type State, Status } from '../components/icons.tsx';
import { ApiButton, Listed } from '../components/screen.tsx';
import { Empty } from '../components/states.tsx';
import { request } from '../data/api.ts';
import { linkTo, navigate } from '../data/location.ts';
import { useList } from '../data/queries.ts';
import { useTimes } from '../data/time.ts';

/** Formats DNS records for entry at a DNS provider. */

export type DomainRecord = SerializedDomain['records'][number];

/** A string in a TXT record has at most this many octets (RFC 1035 §3.3). */
const STRING_OCTETS_MAX = 255;
/** Longer: a mistake takes more than an hour to correct. Shorter: more DNS queries. */
const TTL_SECONDS = 3600;

/** Quotes a TXT value and splits it into strings, which receivers concatenate. */
export const inStrings = (value: string): string =>
  (value.match(new RegExp(`.{1,${STRING_OCTETS_MAX}}`, 'g')) ?? [])
    .map((part) => `"${part.replaceAll(/["\\]/g, (sign) => `\\${sign}`)}"`)
    .join(' ');

const line = ({ name, type, value }: DomainRecord): string =>
  `${name}. ${TTL_SECONDS} IN ${type} ${type === 'TXT' ? inStrings(value) : `${value}.`}`;

/** Lines of a zone file (RFC 1035 §5.1). */
export const zoneFile = (records: readonly DomainRecord[]): string => `${records.map(line).join('\n')}\n`;

/** A DNS record of a domain: the expected value, the value found and how to fix it. */

export const AUTHENTICATION = [
  { name: 'DKIM', of: 'dkim', required: true },
  { name: 'SPF', of: 'spf', required: false },
  { name: 'DMARC', of: 'dmarc', required: false },
] as const;

const NAMES: Readonly<Record<DomainRecord['purpose'], string>> = {
  ownership: 'Proof of ownership',
  dkim: 'DKIM key',
  return_path: 'Return path for bounces',
  tracking: 'Host for tracked links',
  spf: 'SPF',
  dmarc: 'DMARC',
  mx: 'Mail server for received mail',
};

/** Name of the record, including the type of a DKIM key. */
export const nameOf = ({ purpose, value }: DomainRecord): string =>
  purpose === 'dkim' ? `DKIM key, ${value.includes('k=rsa') ? 'RSA' : 'Ed25519'}` : NAMES[purpose];

const STATES_OF: Readonly<Record<DomainRecord['state'], State>> = {
  valid: 'verified',
  missing: 'fault',
  invalid: 'fault',
  include_broken: 'warning',
  unknown: 'unchecked',
};

/** A faulty optional record is only a warning: mail can be sent without it. */
export const stateOf = ({ state, required }: Pick<DomainRecord, 'state' | 'required'>): State =>
  !required && STATES_OF[state] === 'fault' ? 'warning' : STATES_OF[state];

export const RECORD_WORDS: Readonly<Record<DomainRecord['state'], string>> = {
  valid: 'Correct',
  missing: 'Not found yet',
  invalid: 'Incorrect',
  include_broken: 'Broken include',
  unknown: 'Not checked',
};

interface RecordStatusProps extends Pick<DomainRecord, 'state' | 'required'> {
  readonly word: string;
}

export const RecordStatus = ({ state, required, word }: RecordStatusProps): JSX.Element => (
  <span title={RECORD_WORDS[state]}>
    <Status state={stateOf({ state, required })} word={word} />
    <span class="vh">: {RECORD_WORDS[state]}</span>
  </span>
);

/** Status of a domain. If mail is captured, DNS was not checked, so that the domain is not shown as verified. */
export const standingOf = ({
  status,
  verification,
}: SerializedDomain): { readonly state: State; readonly word?: string } =>
  status === 'verified' && verification?.method === 'capture'
    ? { state: 'unchecked', word: 'Capturing' }
    : { state: status };

/** Longer values are cut in the middle. Keys are copied, not read. */
const SHOWN_MAX = 130;
const ENDS = [60, 30] as const;

const shortened = (text: string): string =>
  text.length > SHOWN_MAX ? `${text.slice(0, ENDS[0])}…${text.slice(-ENDS[1])}` : text;

const Value = ({ text, name }: { readonly text: string; readonly name: string }): JSX.Element => (
  <>
    <div class="dd">
      <code>{shortened(text)}</code>
      {text.length > SHOWN_MAX && <span class="muted len"> {text.length} characters</span>}
    </div>
    <span class="cp">
      <CopyButton text={text} label={`Copy ${name}`} />
    </span>
  </>
);

/** A sentence in which long values can be copied. */
const Sentence = ({ text, strings }: { readonly text: string; readonly strings: string }): JSX.Element => {
  const [before, ...after] = text.split(strings);
  return (
    <span>
      <Prose text={before ?? ''} />
      {after.length > 0 && <CopyLink text={strings} word="copy it in two parts" />}
    </span>
  );
};

/** A record that is missing or wrong. */
export const RecordToFix = ({ record }: { readonly record: DomainRecord }): JSX.Element => {
  const isSeen = record.state !== 'unknown';
  const strings = inStrings(record.value);
  return (
    <article class="rec line" aria-label={nameOf(record)}>
      <div class="top flex wrap">
        <Mark state={stateOf(record)} />
        <b class="b">{nameOf(record)}</b>
        <span class="type">{record.type}</span>
        <span class="sp" />
        <span class="muted small">{record.required ? 'required' : 'recommended'}</span>
      </div>
      <div class="kv">
        <span class="dt quiet">Name</span>
        <Value text={record.name} name="the name" />
        <span class="dt quiet">Value</span>
        <Value text={record.value} name="the value" />
        {isSeen && (
          <>
            <span class="dt quiet">Found</span>
            <div class={`dd found ${record.required ? 'bad' : 'wait'}`}>
              {record.seen.length === 0 ? (
                <span>no record at this name</span>
              ) : (
                record.seen.map((value) => (
                  <bdi key={value}>
                    <code>{shortened(value)}</code>
                    <span class="len"> {value.length} characters</span>
                  </bdi>
                ))
              )}
            </div>
            <span />
          </>
        )}
      </div>
      {record.problem !== null && (
        <p class="fix">
          <Icon name="warning" />
          <Sentence text={record.problem} strings={strings} />
        </p>
      )}
      {record.problem?.includes(strings) !== true && (
        <p class="fix two">
          <Icon name="info" />
          <Sentence text={record.advice} strings={strings} />
        </p>
      )}
    </article>
  );
};

/** A record that is correct or optional. */
export const RecordRow = ({ record }: { readonly record: DomainRecord }): JSX.Element => (
  <li class="okrow flex line">
    <Mark state={stateOf(record)} />
    <span class="type">{record.type}</span>
    <code class="ell">{record.name}</code>
    <span class="sp" />
    <span class="muted hide-s small nw">{nameOf(record)}</span>
    <span class="cp">
      <CopyButton text={record.value} label={`Copy the value of ${record.name}`} />
    </span>
  </li>
);

const AddDomain = (): JSX.Element => {
  const add = async (form: FormData): Promise<undefined> => {
    const body = { name: String(form.get('name')).trim(), inbound: { mx: form.has('mx') } };
    const { id } = await request<SerializedDomain>('/v1/domains', { method: 'POST', body });
    navigate(linkTo(`/domains/${id}`));
  };
  return (
    <Action word="Add a domain" operation="POST /v1/domains" icon="plus" tone="primary" title="Add a domain" act={add}>
      <p class="two">
        Use a subdomain for this mail, such as mail.example.com. Its reputation then does not affect the mail of your
        employees. Next, you publish its DNS records.
      </p>
      <label class="row">
        Domain name
        <input class="inp" name="name" required maxLength={253} placeholder="mail.example.com" spellcheck={false} />
      </label>
      <label class="opt">
        <input type="checkbox" name="mx" />
        <span>
          Receive mail
          <small>mail to any address of the domain comes here, for example replies; you publish an MX record</small>
        </span>
      </label>
    </Action>
  );
};

const Row = ({ domain }: { readonly domain: SerializedDomain }): JSX.Element => {
  const times = useTimes();
  const missing = domain.records.filter(({ status, required }) => required && status === 'pending').length;
  return (
    <a class="kr" href={linkTo(`/domains/${domain.id}`)}>
      <Status {...standingOf(domain)} />
      <span class="kn">
        <bdi class="ell b">{domain.name}</bdi>
        <small class="muted">
          {missing === 0
            ? 'No action needed'
            : `${missing} required ${missing === 1 ? 'record' : 'records'} to publish`}
        </small>
      </span>
      <span class="states hide-s">
        {AUTHENTICATION.map(({ name, of, required }) => (
          <RecordStatus key={name} state={domain.authentication[of]} required={required} word={name} />
        ))}
      </span>
      <span class="tm">since {times.short(domain.created_at)}</span>
    </a>
  );
};

/** Sender domains, shared by both environments. */
export const Domains = (): JSX.Element => {
  const list = useList<SerializedDomain>({ path: '/v1/domains', query: { limit: 50 } });
  return (
    <>
      <div class="head">
        <div>
          <h1>Domains</h1>
          <p class="sub">The domains you send from. Their DNS records prove to receivers that the mail is yours.</p>
        </div>
        <div class="acts">
          <ApiButton requests={['/v1/domains?limit=50']} />
          <AddDomain />
        </div>
      </div>
      <Listed
        label="Domains"
        list={list}
        look="keys domains"
        keyOf={({ id }) => id}
        render={(domain) => <Row domain={domain} />}
        empty={
          <Empty icon="globe" title="No domains" actions={<AddDomain />}>
            You send mail from your own domain. Add one and publish its records. Each record is checked as you go.
          </Empty>
        }
      />
    </>
  );
};
