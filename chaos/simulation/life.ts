import { createSimulatedTransport } from '../../src/adapters/mail/capture.ts';
import { createInProcessQueues } from '../../src/adapters/queue/in-process.ts';
import type { CommandContext } from '../../src/commands/execute.ts';
import type { LoadKeyCache } from '../../src/domain/api-key/key-cache-projection.ts';
import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import type { MailTransport } from '../../src/domain/ports/mail.ts';
import { createKeyCache } from '../../src/http/auth/key-cache.ts';
import { serializePosts } from '../../src/http/compat/webhook-formats.ts';
import { StoreUnavailable } from '../../src/lib/async/async.ts';
import { createWorkers, LOCAL_ATTEMPT_TIMES, type Workers } from '../../src/workers/create-workers.ts';
import type { WorkerPlace } from '../../src/workers/delivery/dispatch.ts';
import { createInMemoryDkimKeys } from '../../test/support/in-memory/dkim-keys.ts';
import { createInMemoryResolver } from '../../test/support/in-memory/dns.ts';
import { TRACKING_KEYS } from '../../test/support/tracking-keys.ts';
import type { Breakage } from './breakage.ts';
import { processStore } from './parts/event-store.ts';
import type { Operators } from './parts/operators.ts';
import { processQueues } from './parts/queue.ts';
import { processWebhookTarget } from './parts/receiver.ts';
import { processTransport } from './parts/transport.ts';
import { processVault } from './parts/vault.ts';
import { createProcess, type Process } from './process.ts';
import type { World } from './world.ts';

/** A process of the service with all roles, from start to end. */
export interface Life {
  readonly process: Process;
  readonly workers: Workers;
  readonly context: CommandContext;
  readonly loadKeyCache: LoadKeyCache;
}

/** The transport for test keys normally answers at once. Here it takes time, in which the process may die. */
const simulatedTransport = ({ ground }: World, process: Process): MailTransport => {
  const transport = createSimulatedTransport();
  return {
    ...transport,
    send: (mail, options) =>
      process.call({ what: 'simulates mail', fate: ground.plainFate(), work: () => transport.send(mail, options) }),
  };
};

const timetableAway = (): Error => new StoreUnavailable('the read models cannot be reached');

const queriesOf = ({ ground, readModels }: World, process: Process) => {
  const ask = <Query, T>(what: string, work: (query: Query) => Promise<T>) => {
    return (query: Query): Promise<T> =>
      process.call({ what, work: () => work(query), fate: ground.fateUnless('timetable fails', timetableAway) });
  };
  return {
    timetable: {
      due: ask('asks what is due', readModels.timetable.due),
    },
    expiredKeys: ask('asks which keys have expired', readModels.expired),
  };
};

/** A worker that was silent for this long is not counted. */
const SILENT_MS = 10_000;

/** Queues on Redis, or in the memory of a process, which knows its place among the workers. */
const queuesOf = ({ ground, engine, sessions }: World, process: Process) => {
  if (sessions === undefined) return { queues: processQueues(ground, engine, process) };
  const { nowMs } = ground.scheduler;
  sessions.set(process, nowMs());
  process.onDeath(() => sessions.delete(process));
  const look = async (): Promise<WorkerPlace> => {
    sessions.set(process, nowMs());
    const awake = [...sessions].filter(([, lookedMs]) => nowMs() - lookedMs < SILENT_MS).map(([worker]) => worker);
    return { workers: awake.length, place: awake.indexOf(process) };
  };
  const fate = () => ground.fateUnless('timetable fails', timetableAway);
  return {
    queues: createInProcessQueues(process),
    workerPlace: () => process.call({ what: 'looks for other workers', work: look, fate: fate() }),
  };
};

/** Records suspensions that a process appends, because the process applies them even if the log never receives them. */
const hearing = (store: EventStore, { suspended }: Operators): EventStore => ({
  ...store,
  append: (append) => {
    for (const { type, data } of append.events) {
      if (type === 'DestinationSuspended') suspended(data.operator, data.until);
    }
    return store.append(append);
  },
});

const PUBLIC_URL = 'https://mail.example.test';

export const createLife = (
  world: World,
  { name, skewMs }: { readonly name: string; readonly skewMs: number },
  breakage: Breakage,
): Life => {
  const { ground, log, vault, office, receiver } = world;
  const process = createProcess(ground, name, skewMs);
  const { system, logger } = process;
  const reached = processVault(ground, vault, process);
  const plainStore = hearing(processStore(ground, log, process), world.operators);
  const { destinations } = world.operators;
  const store = breakage.store?.(plainStore, process) ?? plainStore;
  const secrets = breakage.secrets?.(reached.secrets, process) ?? reached.secrets;
  const webhookTarget = processWebhookTarget(ground, receiver, process);
  const smtp = processTransport(ground, office, process);
  const queries = queriesOf(world, process);
  const context: CommandContext = {
    store,
    secrets,
    system,
    webhookTarget,
    contents: reached.contents,
    capturing: true,
    resolver: createInMemoryResolver(),
    dkimKeys: createInMemoryDkimKeys(),
  };
  const workers = createWorkers({
    store,
    secrets,
    system,
    logger,
    webhookTarget,
    serializeEvents: serializePosts,
    serializeMail: () => Promise.reject(new Error('no mail is received here')),
    contents: reached.contents,
    webhookDeliveries: reached.webhookDeliveries,
    ...queuesOf(world, process),
    transports: { live: breakage.transport?.(smtp) ?? smtp, test: simulatedTransport(world, process) },
    ...queries,
    ...(destinations === undefined ? {} : { destinations: breakage.destinations?.(destinations) ?? destinations }),
    timetable: breakage.timetable ?? queries.timetable,
    times: LOCAL_ATTEMPT_TIMES,
    publicUrl: () => PUBLIC_URL,
    trackingKeys: TRACKING_KEYS,
    onFatal: (error) => world.violate('scenario', `${name} had to end: ${String(error)}`),
  });
  // Loaded once and never started: polling would read the log four times a second, and nothing authenticates here.
  const { load: loadKeyCache } = createKeyCache({ store, system, logger, capturing: true });
  return { process, workers, context, loadKeyCache };
};
