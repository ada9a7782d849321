import { once } from 'node:events';
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import type { Pool } from 'pg';
import { heldSince } from '../adapters/backup/restore.ts';
import { load } from '../commands/execute.ts';
import { lookAtRecords, serviceHosts } from '../commands/sending-domain/check-domain.ts';
import { readDirectory } from '../composition/first-start.ts';
import { mailProblems, type SmarthostTrial, trySmarthost } from '../composition/mail-health.ts';
import type { MailSettings, Operator } from '../composition/open-operator.ts';
import { auditState, readModelProblems, signingProblems, waitingProblems } from '../composition/service-health.ts';
import type { Config } from '../config.ts';
import { LOG_START } from '../domain/kernel/event-store.ts';
import { messageStream } from '../domain/kernel/streams.ts';
import { message, type Recipient } from '../domain/message/message.ts';
import { type RecordToPublish, recordsToPublish } from '../domain/sending-domain/records-to-publish.ts';
import { trackingTarget } from '../domain/tracking/tracking.ts';
import { type Resolver, ResolverUnavailable } from '../lib/smtp/smtp.ts';
import { createReadModels } from '../projections/read-models.ts';
import type { OperatorCommand } from './command.ts';

/**
 * Finds problems of the machine and its surroundings, each with a remedy: the certificate of the public URL, the clock,
 * the disk, access to secrets, and the DNS of sending domains. All checks run from this machine and need no running
 * service.
 */

const TLS_MS = 10_000;
const HTTPS_PORT = 443;
const DAY_MS = 86_400_000;
/** Certificates are usually renewed 30 days before they expire, so renewal has been failing for two weeks by then. */
const EXPIRES_SOON_DAYS = 14;

/** Remedies by handshake error code. */
const TLS_REMEDIES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate has expired: renew it',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet: check the clocks of this machine and of the proxy',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name: get one for this name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed: get one from a public authority',
  SELF_SIGNED_CERT_IN_CHAIN:
    "this machine does not trust the certificate's authority: get a certificate from a public one",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the intermediate certificates are missing: configure the full chain',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'the intermediate certificates are missing, or this machine does not trust the authority: configure the full chain',
};

const expiryProblem = (socket: TLSSocket, place: string, now: Date): string | null => {
  const { valid_to: until } = socket.getPeerCertificate();
  const days = Math.floor((Date.parse(until) - now.getTime()) / DAY_MS);
  return days >= EXPIRES_SOON_DAYS ? null : `${place}: the certificate expires in ${days} days: renew it`;
};

interface CheckContext {
  readonly resolver: Resolver;
  readonly now: Date;
}

/** @throws the handshake error. */
const certificateProblem = async (url: URL, place: string, { resolver, now }: CheckContext): Promise<string | null> => {
  const { hostname, port } = url;
  const [first] = (await resolver.addresses(hostname)).records;
  if (first === undefined)
    return `${place}: ${hostname} has no DNS address, so links in mail do not work: publish an A record`;
  const socket = connect({ host: first.address, port: Number(port || HTTPS_PORT), servername: hostname });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(TLS_MS) });
    return expiryProblem(socket, place, now);
  } finally {
    socket.destroy();
  }
};

const handshakeProblem = (error: unknown): string => {
  if (error instanceof ResolverUnavailable) return 'DNS did not answer for its name: try again later';
  const { code = '' } = error as NodeJS.ErrnoException;
  return (
    TLS_REMEDIES[code] ?? `no TLS connection from this machine (${code || 'timed out'}): check the proxy and its port`
  );
};

/**
 * Checks the certificate as clients see it. @param url the public URL; nothing is checked if it is absent or uses HTTP.
 */
export const tlsProblems = async (
  url: string | null | undefined,
  context: CheckContext,
): Promise<readonly string[]> => {
  if (url === null || url === undefined || !url.startsWith('https:')) return [];
  const place = `PUBLIC_URL ${url}`;
  const problem = await certificateProblem(new URL(url), place, context).catch(
    (error: unknown) => `${place}: ${handshakeProblem(error)}`,
  );
  return problem === null ? [] : [problem];
};

/** Tokens and request signatures tolerate minutes, but worker leases only seconds. */
const CLOCK_MS_MAX = 2_000;

/** Compares this machine's clock with the database's. */
export const clockProblems = async (pool: Pick<Pool, 'query'>): Promise<readonly string[]> => {
  const before = Date.now();
  const { rows } = await pool.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  );
  const after = Date.now();
  const theirs = rows[0]?.ms ?? before;
  // Ignores any difference that the round trip can explain.
  const offMs = theirs < before ? before - theirs : Math.max(0, theirs - after);
  if (offMs <= CLOCK_MS_MAX) return [];
  const seconds = (offMs / 1000).toFixed(1);
  return [
    `the clocks of this machine and the database differ by ${seconds} s: run chrony or systemd-timesyncd on both`,
  ];
};

const SPACE_BYTES_MIN = 1_000_000_000;
const SPACE_SHARE_MIN = 0.05;
const GIGABYTE = 1_000_000_000;

/** @param folder absent: nothing is stored on this machine. */
export const diskProblems = async (folder: string): Promise<readonly string[]> => {
  const found = await statfs(folder).catch(() => null);
  if (found === null) return [];
  const [free, all] = [found.bavail * found.bsize, found.blocks * found.bsize];
  if (free >= SPACE_BYTES_MIN && free >= all * SPACE_SHARE_MIN) return [];
  return [
    `DATA_DIR ${folder} has ${(free / GIGABYTE).toFixed(1)} GB free of ${(all / GIGABYTE).toFixed(1)} GB: free some space or move it. The service stops accepting mail when the disk is full`,
  ];
};

const OTHERS_READ = 0o004;
const ANYONE_ELSE = 0o077;
const OTHERS_WRITE = 0o002;

interface PermissionRule {
  readonly path: string;
  /** Mode bits that must not be set. */
  readonly never: number;
  readonly problem: string;
  readonly remedy: string;
}

const permissionProblem = async ({ path, never, problem, remedy }: PermissionRule): Promise<string | null> => {
  const found = await stat(path).catch(() => null);
  if (found === null || (found.mode & never) === 0) return null;
  return `${path} ${problem}: run \`${remedy} ${path}\``;
};

const SECRET_KEY_FILE = 'secret-key';

/** Finds secrets that other users can read or change. Missing files are skipped. */
export const permissionProblems = async ({
  dataDir,
  tlsFiles,
  webhookTlsFiles,
}: Pick<Config, 'dataDir' | 'tlsFiles' | 'webhookTlsFiles'>): Promise<readonly string[]> => {
  const keys = [tlsFiles?.key, webhookTlsFiles?.key].filter((path) => path !== undefined);
  const guarded: readonly PermissionRule[] = [
    { path: dataDir, never: OTHERS_WRITE, problem: 'is writable by every user', remedy: 'chmod o-w' },
    {
      path: join(dataDir, SECRET_KEY_FILE),
      never: ANYONE_ELSE,
      problem: 'is readable by other users, who can decrypt the vault with it',
      remedy: 'chmod 600',
    },
    ...keys.map((path) => ({ path, never: OTHERS_READ, problem: 'is readable by every user', remedy: 'chmod o-rwx' })),
  ];
  return (await Promise.all(guarded.map(permissionProblem))).filter((problem) => problem !== null);
};

/** Each domain takes several DNS queries. */
const DOMAINS_MAX = 50;

interface SendingDomainRecords {
  readonly name: string;
  readonly records: readonly RecordToPublish[];
}

const domainProblems = async (
  resolver: Resolver,
  { name, records }: SendingDomainRecords,
): Promise<readonly string[]> => {
  const required = records.filter((record) => record.required);
  const seen = await lookAtRecords(resolver, name, required);
  return required.flatMap(({ type, host, value }, at) => {
    const state = seen[at]?.state;
    if (state === 'valid') return [];
    const record = `domain ${name}: ${type} ${host}`;
    if (state === 'unknown') return [`${record}: DNS did not answer: try again later`];
    const remedy = `publish ${value}, then run \`outbox domains verify\``;
    // A problem is a sentence of its own elsewhere: here its full stop would be followed by a colon.
    const problem = (seen[at]?.problem ?? 'is missing').replace(/\.$/, '');
    return [`${record}: ${problem}: ${remedy}`];
  });
};

/** Checks the current DNS records that domains need for sending. */
export const dnsProblems = async (
  resolver: Resolver,
  domains: readonly SendingDomainRecords[],
): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const domain of domains.slice(0, DOMAINS_MAX)) found.push(...(await domainProblems(resolver, domain)));
  const others = domains.length - DOMAINS_MAX;
  return others > 0 ? [...found, `${others} more domains were not checked: run \`outbox domains list\``] : found;
};

/**
 * Finds what keeps mail from leaving or bounces from arriving: missing roles, stalled read models, pending mail,
 * missing DNS names, a smarthost that rejects mail. Reaching this command already proves that the configuration is
 * valid, the database and log respond, and SECRET_KEY decrypts the vault.
 */

/** Detects roles by their open connection pools (`composition/start-workers.ts`). */
const ROLES_SEEN = `
  select distinct application_name as name from pg_stat_activity
  where datname = current_database() and application_name in ('outbox projections', 'outbox workers')`;

const roleProblems = async ({ pool }: Operator, due: number): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ name: string }>(ROLES_SEEN);
  const waits = due > 0 ? `. ${due} messages are due` : '';
  const missing = (role: string): boolean => rows.every(({ name }) => name !== `outbox ${role}`);
  return [
    ...(missing('workers') ? [`no running process has the role workers: mail and webhooks are not sent${waits}`] : []),
    ...(missing('projections')
      ? ['no running process has the role projections: lists, statistics and mail retries do not advance']
      : []),
  ];
};

/** Messages to inspect per group: pending ones, the first by id, and those after a random id. */
const CONTENTS_SEEN_MAX = 5_000;
const WITHOUT_CONTENTS = `
  with seen as (
    (select m.message_id, m.content_id from read_models.deliveries d join read_models.messages m using (message_id)
     limit ${CONTENTS_SEEN_MAX})
    union (select message_id, content_id from read_models.messages order by message_id limit ${CONTENTS_SEEN_MAX})
    union (select message_id, content_id from read_models.messages
           where message_id > (select 'msg_' || chr(97 + floor(random() * 26)::integer))
           order by message_id limit ${CONTENTS_SEEN_MAX})
  )
  select message_id as id from seen
  where not exists (select from vault.contents c where c.id = seen.content_id::uuid)
  order by message_id limit 10`;

/**
 * Finds messages whose contents have no row in the vault. Retention keeps the row when it erases contents, so without
 * one they are lost.
 */
const contentProblems = async ({ pool }: Operator): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ id: string }>(WITHOUT_CONTENTS);
  if (rows.length === 0) return [];
  const named = rows.map(({ id }) => id).join(', ');
  return [`the vault has lost the contents of ${named}: restore them from a backup (docs/operations.md, Retention)`];
};

/** Deferred messages read from each end of the queue. Higher: takes longer. Lower: misses some problems. */
const DEFERRED_READ_MAX = 100;
const PERMANENT = 500;

const DEFERRED = `
  (select message_id as id from read_models.deliveries where waiting = 'deferred' and environment = 'live'
   order by due_at limit ${DEFERRED_READ_MAX})
  union
  (select message_id from read_models.deliveries where waiting = 'deferred' and environment = 'live'
   order by due_at desc limit ${DEFERRED_READ_MAX})`;

/**
 * A recipient deferred after a permanent rejection: the server rejects this service itself (its IP address, name or
 * login).
 */
const isRefusedForUs = ({ status, smtp }: Recipient): boolean =>
  status === 'deferred' && (smtp?.code ?? 0) >= PERMANENT;

const replyOf = ({ smtp, category }: Recipient): string =>
  `${smtp?.mx} says ${smtp?.code} ${smtp?.enhanced ?? ''} (${category ?? 'unknown'})`;

const restoreProblems = async ({ pool }: Operator): Promise<readonly string[]> => {
  const since = await heldSince(pool);
  if (since === undefined) return [];
  return [
    `mail accepted before the restore of ${since.toISOString()} is held: run \`outbox restore --release\` to send it`,
  ];
};

const refusalProblems = async ({ context: { store }, pool }: Operator): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ id: string }>(DEFERRED);
  /** One message id for each reply. */
  const refused = new Map<string, string>();
  for (const { id } of rows) {
    const { state } = await load(store, message, messageStream(id));
    const recipients = state.status === 'absent' ? [] : state.recipients;
    for (const recipient of recipients.filter(isRefusedForUs)) refused.set(replyOf(recipient), id);
  }
  return [...refused].map(
    ([reply, id]) =>
      `mail waits because a mail server rejects this service: ${reply}. For details see \`GET /v1/messages/${id}/explain\``,
  );
};

const NOT_GIVEN = "the smarthost was not tested: run this command with the service's MAIL_URL";

/** Tests the MAIL_URL of this shell: the service does not store the smarthost's password. */
const smarthostOf = async (mail: MailSettings | undefined, config: Config): Promise<Partial<SmarthostTrial>> => {
  if (config.mail.kind === 'smarthost')
    return trySmarthost(config.mail.url, config.ehloName ?? mail?.ehloName ?? undefined);
  return mail?.kind === 'smarthost' ? { sentence: NOT_GIVEN } : {};
};

type Domains = Awaited<ReturnType<typeof readDirectory>>['domains'];

/** Records of existing domains, if mail leaves this machine. */
const recordsOf = ({ mail }: Operator, domains: Domains): readonly SendingDomainRecords[] => {
  if (mail === undefined || mail.kind === 'capture') return [];
  const hosts = serviceHosts({ bounceDomain: mail.bounceDomain, trackingTarget: trackingTarget(mail.publicUrl) });
  return [...domains.values()].flatMap(({ domain }) =>
    domain.status === 'registered' ? [{ name: domain.name, records: recordsToPublish(domain, hosts) }] : [],
  );
};

const machineProblems = async (operator: Operator, config: Config, domains: Domains): Promise<readonly string[]> => {
  const { context, pool, system, mail } = operator;
  const { resolver } = context;
  return [
    ...(await tlsProblems(config.publicUrl ?? mail?.publicUrl, { resolver, now: system.now() })),
    ...(await clockProblems(pool)),
    ...(await diskProblems(config.dataDir)),
    ...(await permissionProblems(config)),
    ...(await dnsProblems(resolver, recordsOf(operator, domains))),
  ];
};

export const doctorCommand: OperatorCommand = {
  name: 'doctor',
  usage: '',
  summary:
    'finds what keeps mail from being sent or bounces from arriving: DNS, TLS, smarthost, clock, database, disk and file permissions',
  run: async (operator, _, config) => {
    const { context, pool, store, system, places, mail } = operator;
    const readModels = createReadModels({ pool, store, system });
    const backlog = await readModels.deliveries.backlog();
    const { organizations, domains, keys } = await readDirectory({ store: context.store, system });
    const { problems: signing } = await signingProblems(readModels.audit);
    const audit = await auditState(operator, signing);
    const smarthost = await smarthostOf(mail, config);
    const machine = await machineProblems(operator, config, domains);
    const problems = [
      ...(await roleProblems(operator, backlog.waiting.due)),
      ...readModelProblems(await readModels.lag()),
      ...waitingProblems(backlog),
      ...(await restoreProblems(operator)),
      ...(await contentProblems(operator)),
      ...(await refusalProblems(operator)),
      ...(await mailProblems(operator.context, mail, config)),
      ...machine,
      ...audit.problems,
      ...(smarthost.works === false ? [smarthost.sentence] : []),
      ...((await store.head()) === LOG_START ? ['the log is empty: start the service once'] : []),
    ];
    const counted = { organizations: organizations.size, domains: domains.size, keys: keys.size };
    const found = { ...counted, smarthost: smarthost.sentence ?? null, audit_check: audit.sentence, problems };
    return { places, log_id: await store.logId(), ...found };
  },
  exitCode: (result) => ('problems' in result && Array.isArray(result.problems) && result.problems.length > 0 ? 1 : 0),
};
