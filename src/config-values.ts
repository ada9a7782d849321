import { isIP } from 'node:net';
import { z } from 'zod';
import { readLimits } from './domain/reputation/evaluate-reputation.ts';
import { parseMailbox } from './lib/mime/mime.ts';

/** Schemas of configuration values. */

export const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** @param remedy tells what to write instead of a value that fails the test. */
export const text = (isRight: (value: string) => boolean, remedy: string) => z.string().refine(isRight, remedy);

const hasProtocol = (value: string, ...protocols: readonly string[]): boolean =>
  protocols.includes(URL.parse(value)?.protocol ?? '');

export const url = (remedy: string, ...protocols: readonly string[]) =>
  text((value) => hasProtocol(value, ...protocols), remedy).optional();

const integerAs = (minimum: number, maximum: number, advice: string) =>
  text((value) => /^\d{1,5}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum, advice).transform(
    Number,
  );

export const integer = (minimum: number, maximum: number) =>
  integerAs(minimum, maximum, `set a whole number from ${minimum} to ${maximum}`);

export const port = (example: number) => integerAs(0, 65_535, `set a port from 0 to 65535, such as ${example}`);

export const list = (value: string): readonly string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

export const listOf = (isRight: (item: string) => boolean, remedy: string) =>
  z
    .string()
    .default('')
    .transform(list)
    .refine((items) => items.every(isRight), remedy);

/** Not a URL for `URL.parse`: a cluster's names several hosts. */
export const EVENT_STORE = /^(?:esdb|kurrentdb)(?:\+discover)?:\/\/[^/?]/;

export const host = text(
  (value) => isIP(value) !== 0 || HOST_NAME.test(value),
  'set an address or a host name, such as 127.0.0.1',
);

export const flag = z
  .enum(['true', 'false'], 'set `true` or `false`')
  .default('false')
  .transform((value) => value === 'true');

const isSmarthost = (value: string): boolean => hasProtocol(value, 'smtp:', 'smtps:') && new URL(value).hostname !== '';

/** A shorter text can be guessed from a copy of the database. */
const SECRET_KEY_CHARACTERS_MIN = 32;

export const secretKey = text(
  (value) => value.length >= SECRET_KEY_CHARACTERS_MIN,
  `set at least ${SECRET_KEY_CHARACTERS_MIN} characters of \`openssl rand -hex 32\``,
);

/** The address of a mailbox with or without a name. */
export const addressOf = (mailbox: string): string => {
  const parsed = parseMailbox(mailbox);
  return typeof parsed === 'string' ? mailbox : parsed.address;
};

const isUnder = (address: string | undefined, domain: string | undefined): boolean =>
  address !== undefined && domain !== undefined && address.toLowerCase().endsWith(`@${domain.toLowerCase()}`);

/** `capture`: mail goes to the inbox and does not leave the machine; `direct`: to the recipients' mail servers. */
export type MailRoute = { readonly kind: 'capture' | 'direct' } | { readonly kind: 'smarthost'; readonly url: string };

const MAIL_VALUES = 'set `capture:`, `direct:`, `smtp://user:password@host:587` or `smtps://user:password@host:465`';

const readMail = (value: string): MailRoute => {
  if (value === 'capture:' || value === 'direct:') return { kind: value === 'direct:' ? 'direct' : 'capture' };
  return { kind: 'smarthost', url: value };
};

export const mail = text((value) => readMail(value).kind !== 'smarthost' || isSmarthost(value), MAIL_VALUES)
  .default('capture:')
  .transform(readMail);

/** null: never. */
export const hour = text(
  (value) => /^(?:off|1?\d|2[0-3])$/.test(value),
  'set an hour from 0 to 23 in UTC, or `off`',
).transform((value) => (value === 'off' ? null : Number(value)));

export const limits = text(
  (value) => readLimits(value) !== undefined,
  'set three rising percentages, such as `2,4,5`, or `off`',
).transform((value) => readLimits(value) ?? null);

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

const isIssuer = (value: string): boolean => {
  const read = URL.parse(value);
  if (read === null || read.username + read.password + read.search + read.hash !== '') return false;
  return read.protocol === 'https:' || (read.protocol === 'http:' && LOOPBACK.has(read.hostname));
};

/** URL of an OpenID provider (OpenID Connect Discovery §3). Plain HTTP is allowed on this machine only. */
export const issuer = text(
  isIssuer,
  'set the https URL of the provider, such as `https://accounts.example.com`',
).optional();

export type Environment = Readonly<Record<string, string | undefined>>;

/** Conflicts between variables. They are checked even if values are invalid, so that one start reports all problems. */
export const CONFLICTS: readonly {
  readonly variable: string;
  readonly problem: string;
  isIn(given: Environment): boolean;
}[] = [
  {
    variable: 'TLS_KEY_FILE',
    problem: 'set both TLS_CERT_FILE and TLS_KEY_FILE, or neither',
    isIn: (given) => (given.TLS_CERT_FILE === undefined) !== (given.TLS_KEY_FILE === undefined),
  },
  {
    variable: 'WEBHOOK_KEY_FILE',
    problem: 'set both WEBHOOK_CERT_FILE and WEBHOOK_KEY_FILE, or neither',
    isIn: (given) => (given.WEBHOOK_CERT_FILE === undefined) !== (given.WEBHOOK_KEY_FILE === undefined),
  },
  {
    variable: 'OIDC_ISSUER',
    problem: 'set OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET, or none of them',
    isIn: ({ OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }) =>
      new Set([OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET].map((each) => each === undefined)).size > 1,
  },
  {
    variable: 'POSTMASTER',
    problem: 'set an address outside BOUNCE_DOMAIN: mail to that domain comes back to this service',
    isIn: ({ POSTMASTER, BOUNCE_DOMAIN }) => isUnder(POSTMASTER && addressOf(POSTMASTER), BOUNCE_DOMAIN),
  },
  {
    variable: 'PREVIOUS_SECRET_KEY',
    problem: 'is the same as SECRET_KEY: set the key that was SECRET_KEY before, or leave it out',
    isIn: (given) => given.PREVIOUS_SECRET_KEY !== undefined && given.PREVIOUS_SECRET_KEY === given.SECRET_KEY,
  },
  {
    variable: 'SECRET_KEY',
    problem: 'is required with DATABASE_URL: set the output of `openssl rand -hex 32`, the same for every process',
    isIn: (given) => given.DATABASE_URL !== undefined && given.SECRET_KEY === undefined,
  },
];
