import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import {
  addressOf,
  EVENT_STORE,
  HOST_NAME,
  host,
  isUnder,
  limits,
  list,
  listOf,
  type MailRoute,
  mail,
  port,
  secretKey,
  text,
  url,
} from './config-values.ts';
import { CONFIGURATION } from './config-variables.ts';
import { isNetwork } from './domain/address-ranges.ts';
import { readSecret } from './domain/api-key/secret.ts';
import { parseMailbox } from './domain/email-address.ts';
import { isNameServer, type NameServer, readNameServer } from './domain/name-server.ts';
import { isPublicUrl, plainPublicUrl } from './domain/public-url.ts';
import { type ReputationLimits, readLimits } from './domain/reputation/evaluate-reputation.ts';
import { StartRefused } from './domain/start-refused.ts';

/** What one process may do; scaled out by starting processes with fewer. */
const ROLES = ['api', 'projections', 'workers'] as const;
type Role = (typeof ROLES)[number];

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

export interface Config {
  /** Absent: the built-in PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Absent: the log is in PostgreSQL. */
  readonly eventStoreUrl: string | undefined;
  /** Absent: the queue is in PostgreSQL, and each process counts rate limits for itself. */
  readonly redisUrl: string | undefined;
  readonly mail: MailRoute;
  /** IPs that mail to the recipients' own servers comes from. Empty: any. */
  readonly sourceAddresses: readonly string[];
  /** Whether it may go to servers on this machine and in private networks. */
  readonly allowPrivateMx: boolean;
  readonly roles: ReadonlySet<Role>;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  /** Without a slash at its end. Absent: the address that the API listens on. */
  readonly publicUrl: string | undefined;
  /** Addresses and networks (CIDR). */
  readonly trustedProxies: readonly string[];
  /** Absent, with the built-in PostgreSQL alone: made in `dataDir`. */
  readonly secretKey: string | undefined;
  /** Opens what `secretKey` does not, and seals nothing. */
  readonly previousSecretKey: string | undefined;
  /** Whether new message contents are encrypted. */
  readonly encryptContents: boolean;
  /** Lower case. Absent: undelivered mail goes back to its sender. */
  readonly bounceDomain: string | undefined;
  /** 0: a free one. */
  readonly bouncePort: number;
  /** Who reads what is written to the postmaster of `bounceDomain`. Absent: nobody. */
  readonly postmaster: string | undefined;
  /** Absent: this machine's name. */
  readonly ehloName: string | undefined;
  /** Resolvers. Empty: those of the machine. */
  readonly dnsServers: readonly NameServer[];
  /** Of live bulk mail, by domain. */
  readonly sendingLimits: ReputationLimits;
  readonly logLevel: LogLevel;
  readonly adminKey: string | undefined;
  /** 0: a free one. Absent: metrics are not served. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  /** 0: a free one. Absent: mail is taken by HTTP alone. */
  readonly submissionPort: number | undefined;
  /** With TLS from the first byte on. 0: a free one. Absent: not listened on. */
  readonly submissionTlsPort: number | undefined;
  /** Both or neither; PEM. Absent: submission serves this machine alone, and mail comes back in clear. */
  readonly tlsFiles: { readonly cert: string; readonly key: string } | undefined;
  /** Of mail servers, in direct delivery. Absent: 25. Set by tests alone: servers on the internet listen on no other. */
  readonly mxPort: number | undefined;
}

const isRole = (value: string): value is Role => ROLES.some((role) => role === value);

const roles = z
  .string()
  .default(ROLES.join(','))
  .transform(list)
  .refine((names) => names.length > 0 && names.every(isRole), `set any of ${ROLES.join(', ')}, separated by commas`)
  .transform((names): ReadonlySet<Role> => new Set(names.filter(isRole)));

const schema = z
  .object({
    DATABASE_URL: url('set `postgres://user:password@host:5432/database`', 'postgres:', 'postgresql:'),
    EVENTSTORE_URL: text(
      (value) => EVENT_STORE.test(value),
      'set `esdb://host:2113?tls=false` or the like; of a cluster, `esdb://host:2113,host:2113`',
    ).optional(),
    REDIS_URL: url('set `redis://:password@host:6379` or `rediss://…`', 'redis:', 'rediss:'),
    MAIL_URL: mail,
    SOURCE_ADDRESSES: listOf((item) => isIP(item) !== 0, 'set addresses by commas, such as `192.0.2.7,2001:db8::7`'),
    ALLOW_PRIVATE_MX: z.enum(['true', 'false'], 'set `true` or `false`').default('false'),
    ROLES: roles,
    HOST: host.default('127.0.0.1'),
    PORT: port(3000).default(3000),
    DATA_DIR: z.string().default('./data'),
    PUBLIC_URL: text(
      isPublicUrl,
      'set the address of the API as its clients see it, such as `https://mail.example.com`',
    ).optional(),
    TRUSTED_PROXIES: listOf(isNetwork, 'set addresses or networks separated by commas, such as `10.0.0.0/8,192.0.2.7`'),
    SECRET_KEY: secretKey.optional(),
    PREVIOUS_SECRET_KEY: secretKey.optional(),
    ENCRYPT_CONTENTS: z.enum(['true', 'false'], 'set `true` or `false`').default('false'),
    EHLO_NAME: text((value) => HOST_NAME.test(value), 'set a host name, such as `mail.example.com`').optional(),
    DNS_SERVERS: listOf(isNameServer, 'set addresses by commas, such as `127.0.0.1,[2001:db8::1]:5353`'),
    BOUNCE_DOMAIN: text((value) => HOST_NAME.test(value), 'set a host name, such as `bounces.example.com`')
      .transform((value) => value.toLowerCase())
      .optional(),
    BOUNCE_PORT: port(25).default(25),
    POSTMASTER: text(
      (value) => typeof parseMailbox(value) !== 'string',
      'set an address that you read, such as `postmaster@example.com`',
    )
      .transform(addressOf)
      .optional(),
    BOUNCE_RATES: limits.default(readLimits('2,4,5') ?? null),
    COMPLAINT_RATES: limits.default(readLimits('0.08,0.2,0.3') ?? null),
    LOG_LEVEL: z.enum(LOG_LEVELS, `set one of ${LOG_LEVELS.join(', ')}`).default('info'),
    OUTBOX_ADMIN_KEY: text(
      (value) => readSecret(value) === 'live',
      'set a key made by `npm run outbox -- keys generate`',
    ).optional(),
    METRICS_PORT: port(9464).optional(),
    METRICS_HOST: host.default('127.0.0.1'),
    SUBMISSION_PORT: port(587).optional(),
    SUBMISSION_TLS_PORT: port(465).optional(),
    TLS_CERT_FILE: z.string().optional(),
    TLS_KEY_FILE: z.string().optional(),
  })
  .refine((read) => (read.TLS_CERT_FILE === undefined) === (read.TLS_KEY_FILE === undefined), {
    path: ['TLS_KEY_FILE'],
    error: 'set both TLS_CERT_FILE and TLS_KEY_FILE, or neither',
    when: () => true,
  })
  .refine((read) => !isUnder(read.POSTMASTER, read.BOUNCE_DOMAIN), {
    path: ['POSTMASTER'],
    error: 'set an address of another domain than BOUNCE_DOMAIN: what is written there comes to this service itself',
    when: () => true,
  })
  .refine((read) => read.PREVIOUS_SECRET_KEY === undefined || read.PREVIOUS_SECRET_KEY !== read.SECRET_KEY, {
    path: ['PREVIOUS_SECRET_KEY'],
    error: 'is the same as SECRET_KEY: set the key that was SECRET_KEY before, or leave it out',
    when: () => true,
  })
  .refine((read) => read.DATABASE_URL === undefined || read.SECRET_KEY !== undefined, {
    path: ['SECRET_KEY'],
    error: 'is needed with DATABASE_URL: set the output of `openssl rand -hex 32`, the same for every process',
    // Said beside the other problems, not after them.
    when: () => true,
  });

type Environment = Readonly<Record<string, string | undefined>>;

/** Compose files pass variables that are not set as empty ones. */
const given = (environment: Environment): Environment =>
  Object.fromEntries(
    CONFIGURATION.map(({ name }) => [name, environment[name]?.trim()]).filter(
      ([, value]) => value !== '' && value !== undefined,
    ),
  );

const refusal = (issues: readonly z.core.$ZodIssue[]): StartRefused =>
  new StartRefused(issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));

/**
 * Reads the configuration, complete and checked.
 * @throws {StartRefused} all problems at once, a line for each.
 */
export const readConfig = (environment: Environment): Config => {
  const result = schema.safeParse(given(environment));
  if (!result.success) throw refusal(result.error.issues);
  const read = result.data;
  return {
    databaseUrl: read.DATABASE_URL,
    eventStoreUrl: read.EVENTSTORE_URL,
    redisUrl: read.REDIS_URL,
    mail: read.MAIL_URL,
    sourceAddresses: read.SOURCE_ADDRESSES,
    allowPrivateMx: read.ALLOW_PRIVATE_MX === 'true',
    roles: read.ROLES,
    host: read.HOST,
    port: read.PORT,
    dataDir: resolve(read.DATA_DIR),
    publicUrl: read.PUBLIC_URL === undefined ? undefined : plainPublicUrl(read.PUBLIC_URL),
    trustedProxies: read.TRUSTED_PROXIES,
    secretKey: read.SECRET_KEY,
    previousSecretKey: read.PREVIOUS_SECRET_KEY,
    encryptContents: read.ENCRYPT_CONTENTS === 'true',
    bounceDomain: read.BOUNCE_DOMAIN,
    bouncePort: read.BOUNCE_PORT,
    postmaster: read.POSTMASTER,
    ehloName: read.EHLO_NAME,
    dnsServers: read.DNS_SERVERS.map(readNameServer),
    sendingLimits: { bounces: read.BOUNCE_RATES, complaints: read.COMPLAINT_RATES },
    logLevel: read.LOG_LEVEL,
    adminKey: read.OUTBOX_ADMIN_KEY,
    metricsPort: read.METRICS_PORT,
    metricsHost: read.METRICS_HOST,
    submissionPort: read.SUBMISSION_PORT,
    submissionTlsPort: read.SUBMISSION_TLS_PORT,
    tlsFiles:
      read.TLS_CERT_FILE === undefined || read.TLS_KEY_FILE === undefined
        ? undefined
        : { cert: resolve(read.TLS_CERT_FILE), key: resolve(read.TLS_KEY_FILE) },
    mxPort: Number(environment.OUTBOX_TRIAL_MX_PORT ?? 0) || undefined,
  };
};
