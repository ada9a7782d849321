import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import {
  addressOf,
  CONFLICTS,
  type Environment,
  EVENT_STORE,
  flag,
  HOST_NAME,
  host,
  hour,
  integer,
  issuer,
  limits,
  list,
  listOf,
  mail,
  port,
  secretKey,
  text,
  url,
} from './config-values.ts';
import { readSecret } from './domain/api-key/secret.ts';
import { isNetwork, isPublicUrl, plainPublicUrl } from './domain/kernel/addresses.ts';
import { type ReputationLimits, readLimits } from './domain/reputation/evaluate-reputation.ts';
import { WEBHOOKS_MAX_DEFAULT } from './domain/webhook/webhook.ts';
import { StartRefused } from './lib/async/async.ts';
import { parseMailbox } from './lib/mime/mime.ts';
import { isNameServer, readNameServer } from './lib/smtp/smtp.ts';

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
    listOf((item) => isIP(item) !== 0, 'set addresses separated by commas, such as `192.0.2.7,2001:db8::7`'),
  ],
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
    text((value) => readSecret(value) === 'live', 'set a key made by `npm run outbox -- keys generate`').optional(),
  ],
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
type Parsed = { readonly [Name in keyof Settings]: z.output<Settings[Name][1]> };

/** The environment variables of this service. */
export const VARIABLES: readonly string[] = Object.values(SETTINGS).map(([variable]) => variable);

type Combined = 'bounceRates' | 'complaintRates' | 'tlsCertFile' | 'tlsKeyFile' | 'webhookCertFile' | 'webhookKeyFile';

/** Paths of a certificate chain and its key, in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface Config extends Omit<Parsed, Combined> {
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
  const parsed = Object.fromEntries(read.map(({ name, result }) => [name, result.data])) as Parsed; // each by its schema
  const { bounceRates, complaintRates, tlsCertFile, tlsKeyFile, webhookCertFile, webhookKeyFile, ...rest } = parsed;
  return {
    ...rest,
    sendingLimits: { bounces: bounceRates, complaints: complaintRates },
    tlsFiles: filesAt(tlsCertFile, tlsKeyFile),
    webhookTlsFiles: filesAt(webhookCertFile, webhookKeyFile),
    mxPort: Number(environment.OUTBOX_TEST_MX_PORT ?? 0) || undefined,
  };
};
