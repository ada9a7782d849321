import { z } from 'zod';
import { type System, TimedOut, withTimeout } from '../lib/async/async.ts';
import { timeSchema } from './fields.ts';

/** Health of the whole service, for operators. No field holds or counts data of one organization. */

const STATUS_SENTENCE =
  '`attention`: see `problems`. `unknown`: the part did not answer in time. `unused`: this service, or this process, ' +
  'does not use the part.';
const statusSchema = z.enum(['ok', 'attention', 'unknown', 'unused']);

const part = <Facts extends z.ZodRawShape>(facts: Facts) =>
  z.strictObject({
    status: statusSchema.describe(STATUS_SENTENCE),
    problems: z.array(z.string()).describe('What is wrong and what to do, as sentences.'),
    facts: z.strictObject(facts).nullable().describe('null: the status is `unknown` or `unused`.'),
  });

const count = (says: string) => z.number().int().min(0).describe(says);
const seconds = (says: string) => z.number().min(0).describe(`${says} In seconds.`);
const milliseconds = (says: string) => z.number().min(0).describe(`${says} In milliseconds.`);
const bytes = (says: string) => z.number().min(0).describe(`${says} In bytes.`);
const roleSchema = z.enum(['api', 'projections', 'workers']);

const partsSchema = z.strictObject({
  process: part({
    version: z.string(),
    roles: z.array(roleSchema),
    uptime_seconds: seconds('Time since this process started.'),
    memory_bytes: bytes('Resident memory of the answering instance.'),
    event_loop_delay_ms: z.strictObject({
      mean: milliseconds('Mean in the last minute.'),
      max: milliseconds('Maximum in the last minute.'),
    }),
    is_leader: z
      .boolean()
      .nullable()
      .describe(
        'true: this process does the jobs that only one process may do. null: this process does not have the role `workers`.',
      ),
  }).describe('The process that answers this request.'),
  instances: part({
    data: z.array(
      z.strictObject({
        name: z.string().describe('Host name and process id.'),
        version: z.string(),
        roles: z.array(roleSchema),
        connected_since: timeSchema().describe('Start of its session with the database.'),
      }),
    ),
  }).describe('All processes of the service that are connected to the database.'),
  log: part({
    engine: z.enum(['postgresql', 'eventstoredb']),
    position: z.string().describe('Position of the last event.'),
    appends_per_minute: count('Appends by this process in the last minute.'),
    append_ms: z
      .strictObject({ p50: milliseconds('Median duration.'), p99: milliseconds('99th percentile.') })
      .nullable()
      .describe('Duration of these appends. null: there were none.'),
  }).describe('The event log.'),
  read_models: part({
    data: z.array(
      z.strictObject({
        name: z.string(),
        events_behind: count('Events of the log that the read model has not applied yet.')
          .nullable()
          .describe('null: unknown.'),
        seconds_behind: seconds('Age of the oldest of these events.'),
        parked_events: count('Events that could not be applied.'),
        is_rebuilding: z.boolean(),
      }),
    ),
  }),
  queues: part({
    data: z.array(
      z.strictObject({
        name: z
          .enum(['transactional_mail', 'bulk_mail', 'due_mail', 'webhook_deliveries'])
          .describe(
            '`transactional_mail` and `bulk_mail`: jobs of mail that is about to be sent; not listed by a process without the ' +
              'role `workers` if there is no Redis. `due_mail`: all mail that is due. ' +
              '`webhook_deliveries`: events that are due to be posted.',
          ),
        waiting: count('Waiting jobs. 100,000: that many or more.'),
        active: count('Jobs in progress.').nullable().describe('null: unknown.'),
        oldest_seconds: seconds('Time for which the oldest job has been due.').nullable().describe('null: unknown.'),
      }),
    ),
    scheduled: count('Messages scheduled by their senders, once per recipient domain. 100,000: that many or more.'),
    deferred: count('Messages that wait for another attempt, once per recipient domain.'),
    held: count('Messages that are held, once per recipient domain.'),
  }),
  rates: part({
    accepted_per_minute: z.number().min(0).describe('Messages per minute.'),
    delivered_per_minute: z.number().min(0).describe('Recipients per minute.'),
    window_seconds: seconds('Period of the count: the last minute, or less under load.'),
  }),
  database: part({
    version: z.string(),
    size_bytes: bytes('Size of the database.'),
    connections: count('Connections to the database.'),
    connections_max: count('Maximum number of connections that the server accepts.'),
    latency_ms: milliseconds('Duration of an empty query.'),
  }).describe('PostgreSQL.'),
  redis: part({
    latency_ms: milliseconds('Duration of a PING.'),
    memory_bytes: bytes('Memory in use.').nullable().describe('null: Redis does not report it.'),
  }),
  mail: part({
    kind: z.enum(['capture', 'direct', 'smarthost']),
    smarthost: z.enum(['works', 'refuses']).nullable().describe('null: no smarthost is used.'),
    checked_at: timeSchema(),
  }).describe('How mail is sent, checked at most once a minute.'),
  disk: part({
    free_bytes: bytes('Free space on the disk of the data folder.'),
    size_bytes: bytes('Size of that disk.'),
  }),
  audit: part({
    checked_at: timeSchema()
      .nullable()
      .describe('Time when the last check of the audit trees ended. null: no check has ended yet.'),
    verdict: z.enum(['no fault', 'consistent', 'faults', 'undecided']).nullable(),
    faults: count('Faults that the check found.'),
    logs_disputed: count('Audit logs that a witness contradicts.'),
    logs_foreign: count('Audit logs with an event that this service did not write.'),
  }),
  backup: part({
    taken_at: timeSchema().describe('Time when the last `backup` ended.'),
    age_seconds: seconds('Age of this backup.'),
  }).describe('`unused`: the command `backup` of this service has not been used.'),
});

export const serviceSchema = z
  .strictObject({
    object: z.literal('service'),
    at: timeSchema(),
    status: statusSchema.describe('The worst status of all parts: `attention`, then `unknown`, then `ok`.'),
    parts: partsSchema,
  })
  .meta({ id: 'Service' });

export type SerializedService = z.infer<typeof serviceSchema>;
export type ServiceParts = SerializedService['parts'];
export type PartName = keyof ServiceParts;
export type PartStatus = z.infer<typeof statusSchema>;

/**
 * Collects the health of the service part by part. Parts are asked at once, and each has its own time-out, so that one
 * that hangs is `unknown` and holds no other up. It is not asked again before it has answered.
 */

/** Facts and problems of a part. */
interface PartHealth<Facts> {
  /** null: this service, or this process, has no such part. */
  readonly facts: Facts | null;
  /** Sentences for operators, without data of an organization. */
  readonly problems: readonly string[];
}

/** How each part is asked. */
export type HealthParts = {
  readonly [Name in PartName]: () => Promise<PartHealth<NonNullable<ServiceParts[Name]['facts']>>>;
};

/** A person waits. Longer keeps the screen empty, shorter calls a busy database unknown. */
const PART_MS_MAX = 2_000;
/** Operators who look at once share an answer. Longer shows older figures. */
const SHARED_MS = 1_000;

interface Part {
  readonly status: PartStatus;
  readonly problems: string[];
  readonly facts: unknown;
}

const unknown = (error: unknown): Part => ({
  status: 'unknown',
  problems: [
    error instanceof TimedOut ? `no answer within ${PART_MS_MAX / 1000} s` : 'it cannot be read at the moment',
  ],
  facts: null,
});

const known = ({ facts, problems }: PartHealth<unknown>): Part => {
  if (problems.length > 0) return { status: 'attention', problems: [...problems], facts };
  return { status: facts === null ? 'unused' : 'ok', problems: [], facts };
};

const worstOf = (parts: readonly Part[]): PartStatus => {
  const has = (status: PartStatus): boolean => parts.some((part) => part.status === status);
  if (has('attention')) return 'attention';
  return has('unknown') ? 'unknown' : 'ok';
};

/** @returns the health as it was at most a second ago. Never rejects. */
export const createServiceHealth = (parts: HealthParts, system: System): (() => Promise<SerializedService>) => {
  const asking = new Map<string, Promise<PartHealth<unknown>>>();
  let shared: { readonly untilMs: number; readonly answer: Promise<SerializedService> } | undefined;

  const askOnce = (name: string, ask: () => Promise<PartHealth<unknown>>): Promise<PartHealth<unknown>> => {
    const under = asking.get(name);
    if (under !== undefined) return under;
    const asked = ask().finally(() => asking.delete(name));
    asking.set(name, asked);
    return asked;
  };

  const answerOf = async (name: string, ask: () => Promise<PartHealth<unknown>>): Promise<readonly [string, Part]> => {
    try {
      return [name, known(await withTimeout({ ms: PART_MS_MAX, system }, askOnce(name, ask)))];
    } catch (error) {
      return [name, unknown(error)];
    }
  };

  const collect = async (): Promise<SerializedService> => {
    const found = await Promise.all(Object.entries(parts).map(([name, ask]) => answerOf(name, ask)));
    return {
      object: 'service',
      at: system.now().toISOString(),
      status: worstOf(found.map(([, part]) => part)),
      parts: Object.fromEntries(found) as ServiceParts, // each by the function of its name
    };
  };

  return () => {
    const nowMs = system.monotonicMs();
    if (shared === undefined || nowMs >= shared.untilMs) shared = { untilMs: nowMs + SHARED_MS, answer: collect() };
    return shared.answer;
  };
};
