import { heldSince } from '../adapters/backup/restore-hold.ts';
import { load } from '../commands/execute.ts';
import { serviceHosts } from '../commands/sending-domain/check-domain.ts';
import { readDirectory } from '../composition/first-start.ts';
import { mailProblems, type SmarthostTrial, trySmarthost } from '../composition/mail-health.ts';
import type { MailSettings, Operator } from '../composition/open-operator.ts';
import { auditState, readModelProblems, waitingProblems } from '../composition/service-health.ts';
import type { Config } from '../config.ts';
import { LOG_START } from '../domain/kernel/event-store.ts';
import { messageStream } from '../domain/kernel/streams.ts';
import { message, type Recipient } from '../domain/message/message.ts';
import { recordsToPublish } from '../domain/sending-domain/records-to-publish.ts';
import { trackingTarget } from '../domain/tracking/tracking.ts';
import { createReadModels } from '../projections/read-models.ts';
import type { OperatorCommand } from './command.ts';
import {
  clockProblems,
  diskProblems,
  dnsProblems,
  permissionProblems,
  type SendingDomainRecords,
  tlsProblems,
} from './machine-problems.ts';

/**
 * Finds what keeps mail from leaving or bounces from arriving: missing roles, stalled read models, pending mail,
 * missing DNS names, a smarthost that rejects mail. Reaching this command already proves that the configuration is
 * valid, the database and log respond, and SECRET_KEY decrypts the vault.
 */

/** Detects roles by their open connection pools (`composition/start-projections.ts`, `start-workers.ts`). */
const ROLES_SEEN = `
  select distinct application_name as name from pg_stat_activity
  where datname = current_database() and application_name in ('outbox projections', 'outbox workers')`;

const roleProblems = async ({ pool }: Operator, due: number): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ name: string }>(ROLES_SEEN);
  const waits = due > 0 ? `, and ${due} messages are due` : '';
  const missing = (role: string): boolean => rows.every(({ name }) => name !== `outbox ${role}`);
  return [
    ...(missing('workers') ? [`no process has the role workers: no mail leaves and no webhook is posted${waits}`] : []),
    ...(missing('projections')
      ? ['no process has the role projections: lists, statistics and mail retries do not advance']
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
  return [`the vault lost the contents of ${named}: they have to come from a backup (docs/operations.md, Retention)`];
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
    `mail accepted before the restore of ${since.toISOString()} is held: \`npm run outbox -- restore --release\` delivers it`,
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
      `mail waits because this service was refused: ${reply}: \`GET /v1/messages/${id}/explain\` has details`,
  );
};

const NOT_GIVEN = 'the smarthost was not tested: run this command with the MAIL_URL of the service';

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
    'checks what stops mail from leaving or bounces from arriving: DNS, TLS, smarthost, clock, database, disk and permissions of files',
  run: async (operator, _, config) => {
    const { context, pool, store, system, places, mail } = operator;
    const readModels = createReadModels({ pool, store, system });
    const backlog = await readModels.deliveries.backlog();
    const { organizations, domains, keys } = await readDirectory({ store: context.store, system });
    const audit = await auditState(operator, await readModels.audit.disputed());
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
  // All other problems may be temporary or intentional.
  exitCode: (result) =>
    'problems' in result && Array.isArray(result.problems) && result.problems.includes(result.smarthost) ? 1 : 0,
};
