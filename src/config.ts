import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { readSecret } from './domain/api-key/secret.ts';
import { INBOUND_MAX_DEFAULT, INBOUND_SENDER_MAX_DEFAULT } from './domain/inbound/inbound.ts';
import { isNetwork, isPublicUrl, plainPublicUrl } from './domain/kernel/addresses.ts';
import { readSourcePools, readSourceWarmUps } from './domain/message/source-pools.ts';
import { type ReputationLimits, readLimits } from './domain/reputation/reputation.ts';
import { WEBHOOKS_MAX_DEFAULT } from './domain/webhook/webhook.ts';
import { StartRefused } from './lib/async/async.ts';
import { parseMailbox } from './lib/mime/mime.ts';
import { isNameServer, readNameServer } from './lib/smtp/smtp.ts';

/** Schemas of configuration values. */

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** @param remedy tells what to write instead of a value that fails the test. */
const text = (isRight: (value: string) => boolean, remedy: string) => z.string().refine(isRight, remedy);

const hasProtocol = (value: string, ...protocols: readonly string[]): boolean =>
  protocols.includes(URL.parse(value)?.protocol ?? '');

const url = (remedy: string, ...protocols: readonly string[]) =>
  text((value) => hasProtocol(value, ...protocols), remedy).optional();

const integerAs = (minimum: number, maximum: number, advice: string) =>
  text((value) => /^\d{1,8}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum, advice).transform(
    Number,
  );

const integer = (minimum: number, maximum: number) =>
  integerAs(minimum, maximum, `set a whole number from ${minimum} to ${maximum}`);

const port = (example: number) => integerAs(0, 65_535, `set a port from 0 to 65535, such as ${example}`);

const list = (value: string): readonly string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

const listOf = (isRight: (item: string) => boolean, remedy: string) =>
  z
    .string()
    .default('')
    .transform(list)
    .refine((items) => items.every(isRight), remedy);

/** Not a URL for `URL.parse`: a cluster's names several hosts. */
const EVENT_STORE = /^(?:esdb|kurrentdb)(?:\+discover)?:\/\/[^/?]/;

const host = text(
  (value) => isIP(value) !== 0 || HOST_NAME.test(value),
  'set an address or a host name, such as 127.0.0.1',
);

const flag = z
  .enum(['true', 'false'], 'set `true` or `false`')
  .default('false')
  .transform((value) => value === 'true');

const isSmarthost = (value: string): boolean => hasProtocol(value, 'smtp:', 'smtps:') && new URL(value).hostname !== '';

/** A shorter text can be guessed from a copy of the database. */
const SECRET_KEY_CHARACTERS_MIN = 32;

const secretKey = text(
  (value) => value.length >= SECRET_KEY_CHARACTERS_MIN,
  `set at least ${SECRET_KEY_CHARACTERS_MIN} characters of \`openssl rand -hex 32\``,
);

/** The address of a mailbox with or without a name. */
const addressOf = (mailbox: string): string => {
  const parsed = parseMailbox(mailbox);
  return typeof parsed === 'string' ? mailbox : parsed.address;
};

const isUnder = (address: string | undefined, domain: string | undefined): boolean =>
  address !== undefined && domain !== undefined && address.toLowerCase().endsWith(`@${domain.toLowerCase()}`);

/** `capture`: mail goes to the inbox and does not leave the machine; `direct`: to the recipients' mail servers. */
type MailRoute = { readonly kind: 'capture' | 'direct' } | { readonly kind: 'smarthost'; readonly url: string };

const MAIL_VALUES = 'set `capture:`, `direct:`, `smtp://user:password@host:587` or `smtps://user:password@host:465`';

const readMail = (value: string): MailRoute => {
  if (value === 'capture:' || value === 'direct:') return { kind: value === 'direct:' ? 'direct' : 'capture' };
  return { kind: 'smarthost', url: value };
};

const mail = text((value) => readMail(value).kind !== 'smarthost' || isSmarthost(value), MAIL_VALUES)
  .default('capture:')
  .transform(readMail);

/** null: never. */
const hour = text(
  (value) => /^(?:off|1?\d|2[0-3])$/.test(value),
  'set an hour from 0 to 23 in UTC, or `off`',
).transform((value) => (value === 'off' ? null : Number(value)));

const limits = text(
  (value) => readLimits(value) !== undefined,
  'set three rising percentages, such as `2,4,5`, or `off`',
).transform((value) => readLimits(value) ?? null);

const isIpAddress = (value: string): boolean => isIP(value) !== 0;

/** @param read returns the value, or a sentence about the first fault. */
const byAddress = <Value extends object>(
  read: (text: string, isAddress: (text: string) => boolean) => Value | string,
) =>
  z.string().transform((text, context): Value => {
    const value = read(text, isIpAddress);
    if (typeof value !== 'string') return value;
    context.addIssue(value);
    return z.NEVER;
  });

/** Addresses with a warm-up that no mail is sent from. Invalid values are reported elsewhere. */
const hasStrayWarmUp = ({ SOURCE_WARM_UPS = '', SOURCE_ADDRESSES = '', SOURCE_POOLS = '' }: Environment): boolean => {
  const warmUps = readSourceWarmUps(SOURCE_WARM_UPS, isIpAddress);
  const pools = readSourcePools(SOURCE_POOLS, isIpAddress);
  if (typeof warmUps === 'string' || typeof pools === 'string') return false;
  const used = new Set([...list(SOURCE_ADDRESSES), ...[...pools.values()].flat()]);
  return [...warmUps.keys()].some((address) => !used.has(address));
};

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

const isIssuer = (value: string): boolean => {
  const read = URL.parse(value);
  if (read === null || read.username + read.password + read.search + read.hash !== '') return false;
  return read.protocol === 'https:' || (read.protocol === 'http:' && LOOPBACK.has(read.hostname));
};

/** URL of an OpenID provider (OpenID Connect Discovery §3). Plain HTTP is allowed on this machine only. */
const issuer = text(isIssuer, 'set the https URL of the provider, such as `https://accounts.example.com`').optional();

export type Environment = Readonly<Record<string, string | undefined>>;

/** Conflicts between variables. They are checked even if values are invalid, so that one start reports all problems. */
const CONFLICTS: readonly {
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
    variable: 'SOURCE_POOLS',
    problem: 'set SOURCE_ADDRESSES too, for mail that no pool is for',
    isIn: ({ SOURCE_POOLS, SOURCE_ADDRESSES }) => SOURCE_POOLS !== undefined && SOURCE_ADDRESSES === undefined,
  },
  {
    variable: 'SOURCE_WARM_UPS',
    problem: 'set only addresses of SOURCE_ADDRESSES and SOURCE_POOLS',
    isIn: hasStrayWarmUp,
  },
  {
    variable: 'PREVIOUS_SECRET_KEY',
    problem: 'is the same as SECRET_KEY: set the previous SECRET_KEY, or omit it',
    isIn: (given) => given.PREVIOUS_SECRET_KEY !== undefined && given.PREVIOUS_SECRET_KEY === given.SECRET_KEY,
  },
  {
    variable: 'SECRET_KEY',
    problem: 'is required with DATABASE_URL: set the output of `openssl rand -hex 32`, the same for every process',
    isIn: (given) => given.DATABASE_URL !== undefined && given.SECRET_KEY === undefined,
  },
];

/** Roles of one process. Scale out by starting processes with fewer roles. */
const ROLES = ['api', 'projections', 'workers'] as const;
type Role = (typeof ROLES)[number];
const isRole = (value: string): value is Role => ROLES.some((role) => role === value);

const roles = z
  .string()
  .default(ROLES.join(','))
  .transform(list)
  .refine((names) => names.length > 0 && names.every(isRole), `set any of ${ROLES.join(', ')}, separated by commas`)
  .transform((names): ReadonlySet<Role> => new Set(names.filter(isRole)));

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** Every setting: the environment variable it is read from, and the values it takes. */
const SETTINGS = {
  /** Absent: the built-in PostgreSQL in `dataDir`. */
  databaseUrl: ['DATABASE_URL', url('set `postgres://user:password@host:5432/database`', 'postgres:', 'postgresql:')],
  /** Absent: the log is in PostgreSQL. */
  eventStoreUrl: [
    'EVENTSTORE_URL',
    text(
      (value) => EVENT_STORE.test(value),
      'set `esdb://host:2113?tls=false` or, for a cluster, `esdb://host:2113,host:2113`',
    ).optional(),
  ],
  /** Absent: the queue is in PostgreSQL, and each process counts rate limits for itself. */
  redisUrl: ['REDIS_URL', url('set `redis://:password@host:6379` or `rediss://…`', 'redis:', 'rediss:')],
  mail: ['MAIL_URL', mail],
  /** IPs that direct delivery sends from. Empty: any. */
  sourceAddresses: [
    'SOURCE_ADDRESSES',
    listOf(isIpAddress, 'set addresses separated by commas, such as `192.0.2.7,2001:db8::7`'),
  ],
  /** IPs by the mail that leaves from them. Other mail, or all if absent, leaves from `sourceAddresses`. */
  sourcePools: ['SOURCE_POOLS', byAddress(readSourcePools).optional()],
  /** First days of the warm-ups of new IPs. */
  sourceWarmUps: ['SOURCE_WARM_UPS', byAddress(readSourceWarmUps).optional()],
  /** Direct delivery may connect to this machine and to private networks. */
  allowPrivateMx: ['ALLOW_PRIVATE_MX', flag],
  roles: ['ROLES', roles],
  host: ['HOST', host.default('127.0.0.1')],
  /** 0: a free port. */
  port: ['PORT', port(3000).default(3000)],
  /** Absolute. */
  dataDir: [
    'DATA_DIR',
    z
      .string()
      .default('./data')
      .transform((path) => resolve(path)),
  ],
  /** Without a trailing slash. Absent: the address that the API listens on. */
  publicUrl: [
    'PUBLIC_URL',
    text(isPublicUrl, 'set the address of the API as its clients see it, such as `https://mail.example.com`')
      .transform(plainPublicUrl)
      .optional(),
  ],
  /** Addresses and networks (CIDR). */
  trustedProxies: [
    'TRUSTED_PROXIES',
    listOf(isNetwork, 'set addresses or networks separated by commas, such as `10.0.0.0/8,192.0.2.7`'),
  ],
  /** Absent, only with the built-in PostgreSQL: generated in `dataDir`. */
  secretKey: ['SECRET_KEY', secretKey.optional()],
  /** Decrypts what `secretKey` does not; never encrypts. */
  previousSecretKey: ['PREVIOUS_SECRET_KEY', secretKey.optional()],
  /** New message contents are encrypted. */
  encryptContents: ['ENCRYPT_CONTENTS', flag],
  /** Absent: this machine's name. */
  ehloName: [
    'EHLO_NAME',
    text((value) => HOST_NAME.test(value), 'set a host name, such as `mail.example.com`').optional(),
  ],
  /** Resolvers. Empty: those of the machine. */
  dnsServers: [
    'DNS_SERVERS',
    listOf(isNameServer, 'set addresses separated by commas, such as `127.0.0.1,[2001:db8::1]:5353`').transform(
      (servers) => servers.map(readNameServer),
    ),
  ],
  /** Lower case. Absent: bounces go to the sender. */
  bounceDomain: [
    'BOUNCE_DOMAIN',
    text((value) => HOST_NAME.test(value), 'set a host name, such as `bounces.example.com`')
      .transform((value) => value.toLowerCase())
      .optional(),
  ],
  /** 0: a free port. */
  bouncePort: ['BOUNCE_PORT', port(25).default(25)],
  /** Gets the mail to the postmaster of `bounceDomain`. Absent: such mail is refused. */
  postmaster: [
    'POSTMASTER',
    text(
      (value) => typeof parseMailbox(value) !== 'string',
      'set an address that you read, such as `postmaster@example.com`',
    )
      .transform(addressOf)
      .optional(),
  ],
  bounceRates: ['BOUNCE_RATES', limits.default(readLimits('2,4,5') ?? null)],
  complaintRates: ['COMPLAINT_RATES', limits.default(readLimits('0.08,0.2,0.3') ?? null)],
  logLevel: ['LOG_LEVEL', z.enum(LOG_LEVELS, `set one of ${LOG_LEVELS.join(', ')}`).default('info')],
  adminKey: [
    'OUTBOX_ADMIN_KEY',
    text((value) => readSecret(value) === 'live', 'set a key made by `outbox keys generate`').optional(),
  ],
  /** File for the first keys and sign-in link. Absent: they are printed. */
  firstKeyFile: ['OUTBOX_FIRST_KEY_FILE', z.string().optional()],
  /** Absent: the built-in plan. */
  plansFile: ['PLANS_FILE', z.string().optional()],
  /** How many readings of contents and exports are put on record, in percent. */
  readingsPercent: ['READINGS_ON_RECORD', integer(0, 100).default(100)],
  /** Seconds between checkpoints of an audit tree that grows. */
  auditInterval: ['AUDIT_INTERVAL', integer(1, 86_400).default(60)],
  /** Hour of the day (UTC) in which the audit trees are checked. null: never. */
  auditCheckHour: ['AUDIT_CHECK_HOUR', hour.default(3)],
  /** Path of a tlog-policy file. Absent: no witness is asked. */
  auditWitnesses: ['AUDIT_WITNESSES', z.string().optional()],
  /** OpenID provider at which members may sign in. Absent, all three: none. */
  oidcIssuer: ['OIDC_ISSUER', issuer],
  oidcClientId: ['OIDC_CLIENT_ID', z.string().optional()],
  oidcClientSecret: ['OIDC_CLIENT_SECRET', z.string().optional()],
  /** 0: a free port. Absent: no submission over SMTP. */
  submissionPort: ['SUBMISSION_PORT', port(587).optional()],
  /** With TLS from the first byte. 0: a free port. Absent: none. */
  submissionTlsPort: ['SUBMISSION_TLS_PORT', port(465).optional()],
  tlsCertFile: ['TLS_CERT_FILE', z.string().optional()],
  tlsKeyFile: ['TLS_KEY_FILE', z.string().optional()],
  /** Webhooks of an organization. Those that exist above it stay. */
  webhooksMax: ['WEBHOOKS_MAX', integer(1, 10_000).default(WEBHOOKS_MAX_DEFAULT)],
  /** Copies of inbound mail a minute of one organization, and mails of one sender to it. */
  inboundMax: ['INBOUND_MAX_PER_MINUTE', integer(1, 10_000_000).default(INBOUND_MAX_DEFAULT)],
  inboundSenderMax: ['INBOUND_SENDER_MAX_PER_MINUTE', integer(1, 10_000_000).default(INBOUND_SENDER_MAX_DEFAULT)],
  /** The IPs that webhooks are posted from. None: any. */
  webhookSourceAddresses: [
    'WEBHOOK_SOURCE_ADDRESSES',
    listOf((address) => isIP(address) !== 0, 'set addresses separated by commas, such as `192.0.2.8,2001:db8::8`'),
  ],
  webhookCertFile: ['WEBHOOK_CERT_FILE', z.string().optional()],
  webhookKeyFile: ['WEBHOOK_KEY_FILE', z.string().optional()],
  /** 0: a free port. Absent: no metrics. */
  metricsPort: ['METRICS_PORT', port(9464).optional()],
  metricsHost: ['METRICS_HOST', host.default('127.0.0.1')],
} as const;

type Settings = typeof SETTINGS;
type SettingValues = { readonly [Name in keyof Settings]: z.output<Settings[Name][1]> };

/** The environment variables of this service. */
export const VARIABLES: readonly string[] = Object.values(SETTINGS).map(([variable]) => variable);

type CombinedSetting =
  | 'bounceRates'
  | 'complaintRates'
  | 'tlsCertFile'
  | 'tlsKeyFile'
  | 'webhookCertFile'
  | 'webhookKeyFile';

/** Paths of a certificate chain and its key, in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface Config extends Omit<SettingValues, CombinedSetting> {
  /** Limits of live bulk mail, by sending domain. */
  readonly sendingLimits: ReputationLimits;
  /** Absent: submission serves this machine only, and bounces arrive without TLS. */
  readonly tlsFiles: TlsFiles | undefined;
  /** Shown to webhook endpoints that ask for a client certificate. Absent: none is. */
  readonly webhookTlsFiles: TlsFiles | undefined;
  /** Port of mail servers in direct delivery. Absent: 25. Set by tests only: servers on the internet use no other. */
  readonly mxPort: number | undefined;
}

/** Compose files pass unset variables as empty ones. */
const givenIn = (environment: Environment): Environment =>
  Object.fromEntries(VARIABLES.map((name) => [name, environment[name]?.trim() || undefined]));

const filesAt = (cert: string | undefined, key: string | undefined): TlsFiles | undefined =>
  cert === undefined || key === undefined ? undefined : { cert: resolve(cert), key: resolve(key) };

/**
 * Reads and checks the configuration.
 * @throws {StartRefused} with all problems, one per line.
 */
export const readConfig = (environment: Environment): Config => {
  const given = givenIn(environment);
  const read = Object.entries(SETTINGS).map(([name, [variable, schema]]) => ({
    name,
    variable,
    result: schema.safeParse(given[variable]),
  }));
  const problems = [
    ...read.flatMap(({ variable, result }) =>
      (result.error?.issues ?? []).map(({ message }) => `${variable}: ${message}`),
    ),
    ...CONFLICTS.filter(({ isIn }) => isIn(given)).map(({ variable, problem }) => `${variable}: ${problem}`),
  ];
  if (problems.length > 0) throw new StartRefused(problems.join('\n'));
  const parsed = Object.fromEntries(read.map(({ name, result }) => [name, result.data])) as SettingValues; // each by its schema
  const { bounceRates, complaintRates, tlsCertFile, tlsKeyFile, webhookCertFile, webhookKeyFile, ...rest } = parsed;
  return {
    ...rest,
    sendingLimits: { bounces: bounceRates, complaints: complaintRates },
    tlsFiles: filesAt(tlsCertFile, tlsKeyFile),
    webhookTlsFiles: filesAt(webhookCertFile, webhookKeyFile),
    mxPort: Number(environment.OUTBOX_TEST_MX_PORT ?? 0) || undefined,
  };
};
