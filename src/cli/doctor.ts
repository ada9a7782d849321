import { heldSince } from '../adapters/backup/restore-hold.ts';
import { load } from '../commands/execute.ts';
import { readDirectory } from '../composition/first-start.ts';
import type { MailSettings, Operator } from '../composition/open-operator.ts';
import { type SmarthostTried, trySmarthost } from '../composition/try-smarthost.ts';
import type { Config } from '../config.ts';
import { message } from '../domain/message/message.ts';
import type { Recipient } from '../domain/message/recipient.ts';
import { LOG_START } from '../domain/ports/event-store.ts';
import { type Resolver, ResolverUnavailable } from '../domain/ports/resolver.ts';
import { messageStream } from '../domain/streams.ts';
import type { Backlog } from '../projections/deliveries/backlog.ts';
import type { ProjectionLag } from '../projections/progress.ts';
import { createReadModels } from '../projections/read-models.ts';
import { auditState } from './audit/state.ts';
import type { OperatorCommand } from './command.ts';

/**
 * Looks for what stops mail from leaving or bounces from arriving: missing roles, stalled read models, waiting mail,
 * missing DNS names, a smarthost that refuses mail. The command itself shows that the configuration is valid, database and
 * log answer, and SECRET_KEY decrypts the vault.
 */

/** A read model further behind is not just busy. */
const LAG_SECONDS_MAX = 60;
/** As the alert in `docs/operations.md`: due mail leaves within seconds unless its destination limits it. */
const DUE_SECONDS_MAX = 300;
const SMTP_PORT = 25;

/** Roles by the connection pools they keep open (`composition/start-projections.ts`, `start-workers.ts`). */
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

const readModelProblems = (models: readonly ProjectionLag[]): readonly string[] =>
  models.flatMap(({ name, seconds, parkedEvents }) => [
    ...(seconds > LAG_SECONDS_MAX ? [`read model ${name} is ${Math.round(seconds)} s behind`] : []),
    ...(parkedEvents > 0
      ? [`read model ${name} has ${parkedEvents} parked events: \`npm run outbox -- projections retry-parked ${name}\``]
      : []),
  ]);

const waitingProblems = ({ waiting, oldestDueSeconds, suspendedDestinations }: Backlog): readonly string[] => {
  const seconds = Math.round(oldestDueSeconds);
  return [
    ...(seconds > DUE_SECONDS_MAX
      ? [`${waiting.due} messages are due but were not sent, the oldest for ${seconds} s: see the log of the workers`]
      : []),
    ...(suspendedDestinations > 0
      ? [`${suspendedDestinations} destinations are suspended: \`GET /v1/destinations\` says why`]
      : []),
    ...(waiting.held > 0 ? [`${waiting.held} messages are held: \`GET /v1/messages/{id}/explain\` says why`] : []),
  ];
};

/** Messages that are looked at: those that wait, the first by id, and others from anywhere. */
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

/** Contents end with a record, by retention: without one they are lost. */
const contentProblems = async ({ pool }: Operator): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ id: string }>(WITHOUT_CONTENTS);
  if (rows.length === 0) return [];
  const named = rows.map(({ id }) => id).join(', ');
  return [`the vault lost the contents of ${named}: they have to come from a backup (docs/operations.md, Retention)`];
};

/** Deferred messages read from either end of the queue. Higher takes longer, lower misses some. */
const DEFERRED_READ_MAX = 100;
const PERMANENT = 500;

const DEFERRED = `
  (select message_id as id from read_models.deliveries where waiting = 'deferred' and environment = 'live'
   order by due_at limit ${DEFERRED_READ_MAX})
  union
  (select message_id from read_models.deliveries where waiting = 'deferred' and environment = 'live'
   order by due_at desc limit ${DEFERRED_READ_MAX})`;

/** A recipient deferred after a permanent refusal: the server refused this service (its address, name or login). */
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
  /** The id of one message for each reply. */
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

/** DNS records of a name; null: the DNS does not answer. */
const known = async <Found>(
  asked: Promise<{ readonly records: readonly Found[] }>,
): Promise<readonly Found[] | null> => {
  try {
    return (await asked).records;
  } catch (error) {
    if (error instanceof ResolverUnavailable) return null;
    throw error;
  }
};

/** Hosts that receive bounces: the MX hosts, or the domain itself (RFC 5321 §5.1). */
const bounceHosts = async (resolver: Resolver, domain: string): Promise<readonly string[] | null> => {
  const records = await known(resolver.mx(domain));
  if (records === null) return null;
  return records.length === 0 ? [domain] : records.map(({ exchange }) => exchange).filter((host) => host !== '');
};

/** null: it answers at one of its addresses, or the DNS does not answer. */
const hostProblem = async (resolver: Resolver, host: string, port: number): Promise<string | null> => {
  const addresses = await known(resolver.addresses(host));
  if (addresses === null) return null;
  if (addresses.length === 0) return `${host} has no address in the DNS`;
  const tried = await Promise.all(
    addresses.map(({ address, family }) => trySmarthost(`smtp://${family === 6 ? `[${address}]` : address}:${port}`)),
  );
  return tried.some(({ works }) => works) ? null : `${host} does not answer at port ${port} (seen from here)`;
};

/** Whether bounces and complaints reach BOUNCE_DOMAIN. */
const returnProblems = async (
  { context: { resolver } }: Operator,
  { bounceDomain }: MailSettings,
  { mxPort: port = SMTP_PORT }: Config,
): Promise<readonly string[]> => {
  if (bounceDomain === null) return [];
  const lost = 'bounces and complaints are lost';
  const hosts = await bounceHosts(resolver, bounceDomain);
  if (hosts === null)
    return [`the DNS does not answer for BOUNCE_DOMAIN ${bounceDomain}: bounces and complaints may be lost`];
  if (hosts.length === 0) return [`BOUNCE_DOMAIN ${bounceDomain} has a null MX: ${lost}`];
  const problems = await Promise.all(hosts.map((host) => hostProblem(resolver, host, port)));
  // One working host is enough.
  if (problems.includes(null)) return [];
  return [
    `BOUNCE_DOMAIN ${bounceDomain}: ${problems.join(', ')}: ${lost}. Give it an MX record that names this service`,
  ];
};

const directProblems = async (
  { context: { resolver } }: Operator,
  { ehloName }: MailSettings,
): Promise<readonly string[]> => {
  if (ehloName === null) return ['EHLO_NAME is not set: many servers refuse mail from a server without a public name'];
  if ((await known(resolver.addresses(ehloName)))?.length !== 0) return [];
  return [
    `EHLO_NAME ${ehloName} has no address in the DNS: many servers refuse mail from a name that they cannot resolve`,
  ];
};

const mailProblems = async (operator: Operator, config: Config): Promise<readonly string[]> => {
  const { mail } = operator;
  if (mail === undefined) return ['MAIL_URL is not known: start the service once'];
  if (mail.kind === 'capture') return ['MAIL_URL is capture: no mail leaves this machine'];
  return [
    ...(mail.publicUrl === null
      ? ['PUBLIC_URL is not set: links in mail use the address that the API listens on']
      : []),
    ...(mail.kind === 'direct' ? await directProblems(operator, mail) : []),
    ...(await returnProblems(operator, mail, config)),
  ];
};

const NOT_GIVEN = 'the smarthost was not tested: run this command with the MAIL_URL of the service';

/** Tests the MAIL_URL of this shell: the service stores the smarthost's password nowhere else. */
const smarthostOf = async (mail: MailSettings | undefined, config: Config): Promise<Partial<SmarthostTried>> => {
  if (config.mail.kind === 'smarthost')
    return trySmarthost(config.mail.url, config.ehloName ?? mail?.ehloName ?? undefined);
  return mail?.kind === 'smarthost' ? { sentence: NOT_GIVEN } : {};
};

export const doctorCommand: OperatorCommand = {
  name: 'doctor',
  usage: '',
  summary: 'checks what stops mail from leaving or bounces from arriving',
  run: async (operator, _, config) => {
    const { context, pool, store, system, places, mail } = operator;
    const readModels = createReadModels({ pool, store, system });
    const backlog = await readModels.deliveries.backlog();
    const { organizations, domains, keys } = await readDirectory({ store: context.store, system });
    const audit = await auditState(operator, await readModels.audit.disputed());
    const smarthost = await smarthostOf(mail, config);
    const problems = [
      ...(await roleProblems(operator, backlog.waiting.due)),
      ...readModelProblems(await readModels.lag()),
      ...waitingProblems(backlog),
      ...(await restoreProblems(operator)),
      ...(await contentProblems(operator)),
      ...(await refusalProblems(operator)),
      ...(await mailProblems(operator, config)),
      ...audit.problems,
      ...(smarthost.works === false ? [smarthost.sentence] : []),
      ...((await store.head()) === LOG_START ? ['the log is empty: start the service once'] : []),
    ];
    const counted = { organizations: organizations.size, domains: domains.size, keys: keys.size };
    const found = { ...counted, smarthost: smarthost.sentence ?? null, audit_check: audit.sentence, problems };
    return { places, log_id: await store.logId(), ...found };
  },
  // Other problems may be temporary or intended.
  exitCode: (result) =>
    'problems' in result && Array.isArray(result.problems) && result.problems.includes(result.smarthost) ? 1 : 0,
};
