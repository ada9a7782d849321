import { trackingHost } from '../tracking/tracking.ts';
import type { DkimKey, RecordKind } from './events.ts';
import {
  type DkimPair,
  decidingPair,
  dkimHost,
  type ExistingSendingDomain,
  verificationRecord,
} from './sending-domain.ts';

/** Maximum length of a string in a TXT record, in octets (RFC 1035 §3.3). */
const STRING_OCTETS_MAX = 255;

/** The value in zone file syntax: quoted strings that are concatenated when read (RFC 6376 §3.6.2.2). */
export const inStrings = (value: string): string =>
  (value.match(new RegExp(`.{1,${STRING_OCTETS_MAX}}`, 'g')) ?? []).map((part) => `"${part}"`).join(' ');

export const isLong = (value: string): boolean => value.length > STRING_OCTETS_MAX;

/** Enough to tell values apart. Higher: more space in the log and in every process. */
const SHOWN_CHARACTERS_MAX = 500;
/** Number of values kept from one answer. Five show the problem as well as more would. */
const SHOWN_VALUES_MAX = 5;
/** Room for a key split into strings, and the remedy. */
const SENTENCE_CHARACTERS_MAX = 1000;
/** Length of a value quoted in a sentence. */
const TOLD_CHARACTERS_MAX = 120;

/** Local parts of mailboxes, as in the `rua` of DMARC, are removed to keep personal data out of the log. */
const LOCAL_PART = /[^\s:;,"'<>@]+@/g;
const CONTROL = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu;

const shortened = (text: string, charactersMax: number): string =>
  text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;

const cleaned = (text: string): string => text.replace(CONTROL, '\u{fffd}').replace(LOCAL_PART, '…@');

/** Reads only as much as is kept: a name server may send 64 kB. */
const kept = (text: string, charactersMax: number): string =>
  shortened(cleaned(text.slice(0, charactersMax + 1)), charactersMax);

/** DNS answers in the form in which they are stored and shown: short, without mailboxes and control characters. */
export const shownValues = (texts: readonly string[]): readonly string[] =>
  texts.slice(0, SHOWN_VALUES_MAX).map((text) => kept(text, SHOWN_CHARACTERS_MAX));

/** The same for a sentence, in quotes. */
export const told = (text: string): string => `"${kept(text, TOLD_CHARACTERS_MAX)}"`;

/** Forms a sentence from words that are partly from outside. */
export const asSentence = (words: string): string =>
  kept(`${words.charAt(0).toUpperCase()}${words.slice(1)}.`, SENTENCE_CHARACTERS_MAX);

const QUOTE = /["“”'\\]/;
export const hasQuotes = (text: string): boolean => QUOTE.test(text);
export const withoutQuotes = (text: string): string => text.replace(/["“”'\\]/g, '').trim();

/** A record that the owner of the name must publish. */
export interface RecordToPublish {
  readonly kind: RecordKind;
  readonly type: 'TXT' | 'CNAME' | 'MX';
  readonly host: string;
  readonly value: string;
  /** Whether the domain needs it to be verified and to stay so. */
  readonly required: boolean;
  /** Purpose and caveats, in a sentence or two. */
  readonly advice: string;
  /** Key of a `dkim` record. */
  readonly key?: DkimKey;
  /** Name (lower case) that the `spf` record must include; null: none. */
  readonly includes?: string | null;
}

type Domain = Pick<ExistingSendingDomain, 'name' | 'token' | 'dkim' | 'inbound'>;

const ownership = (domain: Domain): RecordToPublish => ({
  kind: 'ownership',
  type: 'TXT',
  ...verificationRecord(domain),
  required: true,
  advice: 'Proves that the domain is yours. Do not remove it.',
});

/** Value of a key record (RFC 6376 §3.6.1, RFC 8463 §4). */
export const dkimValue = ({ algorithm, publicKey }: DkimKey): string =>
  `v=DKIM1; k=${algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519'}; p=${publicKey}`;

const splitting = (value: string): string =>
  isLong(value)
    ? ` Publish it as one record. If your DNS provider does not accept values of more than 255 characters, split it into strings: ${inStrings(value)}`
    : '';

const purposeOf = ({ algorithm }: DkimKey, required: boolean): string => {
  if (algorithm !== 'rsa-sha256') return 'The public key of a second signature, for receivers that support Ed25519.';
  return required
    ? 'The public key with which receivers verify the signature of your mail.'
    : 'The next key. It replaces the current key once it is found in the DNS; until then nothing changes.';
};

const dkim = (name: string, pair: DkimPair, isRequired: boolean): readonly RecordToPublish[] =>
  pair.keys.map((key) => {
    const value = dkimValue(key);
    const required = isRequired && key.algorithm === 'rsa-sha256';
    return {
      kind: 'dkim',
      type: 'TXT',
      host: dkimHost(name, key.selector),
      value,
      required,
      key,
      advice: `${purposeOf(key, isRequired)}${splitting(value)}`,
    };
  });

/** Host that receives reports about undelivered mail. It is below the domain, so that SPF is aligned. */
export const returnPathHost = (name: string): string => `bounces.${name}`;

const returnPath = (name: string, bounceDomain: string): RecordToPublish => ({
  kind: 'return_path',
  type: 'CNAME',
  host: returnPathHost(name),
  value: bounceDomain,
  required: false,
  advice: 'Lets bounces return to your own domain, so that SPF counts for DMARC.',
});

const tracking = (name: string, target: string): RecordToPublish => ({
  kind: 'tracking',
  type: 'CNAME',
  host: trackingHost(name),
  value: target,
  required: false,
  advice:
    'Lets tracked links and images use your own domain. Publish it after the operator of this service has set up a certificate for this name.',
});

const spf = (name: string, bounceDomain: string | null): RecordToPublish => ({
  kind: 'spf',
  type: 'TXT',
  host: name,
  required: false,
  includes: bounceDomain?.toLowerCase() ?? null,
  value: bounceDomain === null ? 'v=spf1 mx ~all' : `v=spf1 include:${bounceDomain} mx ~all`,
  advice:
    'Names the hosts that may send for the domain: add the addresses of this service (`ip4:`, `ip6:`, `a:`). A domain can have only one SPF record: if you already have one, add to it.',
});

const dmarc = (name: string): RecordToPublish => ({
  kind: 'dmarc',
  type: 'TXT',
  host: `_dmarc.${name}`,
  value: 'v=DMARC1; p=none',
  required: false,
  advice:
    'Tells receivers what to do with mail that fails authentication. Begin with `p=none`. Change it to `quarantine` or `reject` when reports (`rua=mailto:…`) show that all your mail passes. The policy of a parent domain works too.',
});

/** Preference of this service among the mail servers of a domain (RFC 5321 §5.1), with room for better and worse ones. */
const MX_PREFERENCE = 10;

const mx = (name: string, bounceDomain: string): RecordToPublish => ({
  kind: 'mx',
  type: 'MX',
  host: name,
  value: `${MX_PREFERENCE} ${bounceDomain}`,
  required: false,
  advice:
    'Leads mail to addresses of the domain to this service. Remove other MX records: mail goes to the server with the lowest number, and mailboxes elsewhere on this domain get no more mail.',
});

/** Hosts of this service that appear in the records. */
export interface ServiceHosts {
  /** Domain to which bounces are returned; null: none. */
  readonly bounceDomain: string | null;
  /** Target of tracking hosts (`trackingTarget`); null if the service has no host name. */
  readonly trackingTarget: string | null;
}

/** All records of a domain, required ones first. */
export const recordsToPublish = (
  domain: Domain,
  { bounceDomain, trackingTarget }: ServiceHosts,
): readonly RecordToPublish[] => {
  const { name } = domain;
  const required = decidingPair(domain.dkim);
  const { active, pending } = domain.dkim;
  return [
    ownership(domain),
    ...[active, pending].flatMap((pair) => (pair === null ? [] : dkim(name, pair, pair === required))),
    ...(bounceDomain === null ? [] : [returnPath(name, bounceDomain)]),
    ...(trackingTarget === null || trackingTarget === trackingHost(name) ? [] : [tracking(name, trackingTarget)]),
    // A record that includes itself is unusable for receivers (RFC 7208 §4.6.4).
    spf(name, bounceDomain?.toLowerCase() === name ? null : bounceDomain),
    dmarc(name),
    ...(bounceDomain !== null && domain.inbound.mx ? [mx(name, bounceDomain)] : []),
  ];
};
