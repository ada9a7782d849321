import { createSimulatedTransport } from '../../src/adapters/mail/capture.ts';
import { createSmtpTransport } from '../../src/adapters/mail/smarthost.ts';
import { createInProcessQueues } from '../../src/adapters/queue/in-process.ts';
import { createHttpWebhookTarget } from '../../src/adapters/webhook-target/http.ts';
import { type CommandContext, load, type Origin } from '../../src/commands/execute.ts';
import { sendMessage } from '../../src/commands/message/send-message.ts';
import { createOrganization } from '../../src/commands/organization.ts';
import { registerWebhook, type WebhookWithSecret } from '../../src/commands/webhook.ts';
import type { Caller } from '../../src/domain/api-key/caller.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import type { Environment } from '../../src/domain/kernel/environment.ts';
import { LOG_START, type RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../src/domain/kernel/streams.ts';
import type { MessageDraft } from '../../src/domain/message/draft.ts';
import { type ExistingMessage, isOpen, message } from '../../src/domain/message/message.ts';
import { TTL_SECONDS_DEFAULT } from '../../src/domain/message/retry-schedule.ts';
import { createInboundPosts } from '../../src/http/compat/inbound-posts.ts';
import { serializePosts } from '../../src/http/compat/webhook-formats.ts';
import { parseMailLeniently } from '../../src/lib/mime/mime.ts';
import { type DueDelivery, type DueQuery, mailFlowOf } from '../../src/projections/deliveries/queries.ts';
import {
  createWorkers,
  LOCAL_ATTEMPT_TIMES,
  type Workers,
  type WorkersDependencies,
} from '../../src/workers/create-workers.ts';
import type { HeldMail } from '../../src/workers/delivery/released.ts';
import type { Timetable } from '../../src/workers/delivery/sweep.ts';
import { callerWith } from '../support/controls/api-key.ts';
import { createInMemoryContents } from '../support/in-memory/contents.ts';
import { createInMemoryDkimKeys } from '../support/in-memory/dkim-keys.ts';
import { createInMemoryResolver } from '../support/in-memory/dns.ts';
import { createInMemorySecrets } from '../support/in-memory/secrets.ts';
import { createInMemoryWebhookDeliveries } from '../support/in-memory/webhook-deliveries.ts';
import { createInMemoryEventStore } from '../support/in-memory-event-store.ts';
import { TRACKING_KEYS } from '../support/tracking-keys.ts';
import { createRecordingLogger, type RecordingLogger } from './recording-logger.ts';
import { createShiftableSystem, type ShiftableSystem } from './shiftable-system.ts';

/** The dependencies of the workers, in this process. Each can be replaced by a real one. */
export type Parts = Partial<
  Pick<
    WorkersDependencies,
    'store' | 'contents' | 'webhookDeliveries' | 'queues' | 'times' | 'timetable' | 'heldMail' | 'expiredKeys'
  >
> & {
  readonly smtpUrl?: string;
};

export interface Service {
  readonly context: CommandContext;
  readonly dependencies: WorkersDependencies;
  readonly system: ShiftableSystem;
  readonly logger: RecordingLogger;
  /** Fatal errors of worker processes, in order. */
  readonly fatal: readonly unknown[];
  readonly organizationId: string;
  /** Workers of another process with the same dependencies. */
  workers(parts?: Partial<WorkersDependencies>): Workers;
  /** @returns the message's id. */
  send(
    to: readonly string[] | string,
    environment?: Environment,
    text?: string,
    later?: Partial<Pick<MessageDraft, 'scheduledAt' | 'ttlSeconds' | 'unsubscribe' | 'stream' | 'tags'>>,
  ): Promise<string>;
  message(id: string): Promise<ExistingMessage>;
  history(id: string): Promise<readonly string[]>;
  webhook(url: string, events: readonly string[], environment?: Environment): Promise<WebhookWithSecret>;
  close(): Promise<void>;
}

const NEVER = '9999';
const NOWHERE = 'smtp://127.0.0.1:9';

/** The timetable, computed from the log itself. */
const timetableOf = ({ store }: Pick<WorkersDependencies, 'store'>): Timetable => {
  const dueIn = async ({ bulk, before }: Pick<DueQuery, 'bulk' | 'before'>): Promise<readonly DueDelivery[]> => {
    const { events } = await store.readAll({ from: LOG_START, filter: { categories: ['message'] }, limit: 100_000 });
    const streams = Map.groupBy(events, ({ stream }) => stream);
    const due = await Promise.all([...streams.keys()].map((stream) => load(store, message, stream)));
    return due
      .flatMap(({ state }) => (state.status === 'absent' ? [] : [state]))
      .filter(({ accepted }) => (accepted.stream === 'bulk') === bulk)
      .flatMap((state) =>
        [...new Set(state.recipients.map(({ domain }) => domain))].map((destination) => ({
          ...{ messageId: state.accepted.messageId, organizationId: state.organizationId },
          ...{ destination, environment: state.environment },
          ...{ dueAt: dueAtOf(state, destination), expiresAt: state.expiresAt },
        })),
      )
      .filter(({ dueAt }) => dueAt <= before);
  };
  return {
    due: async (asked) => ({
      due: (await dueIn(asked)).filter((row) => !asked.without.includes(mailFlowOf(row))),
      next: '',
    }),
  };
};

const dueAtOf = ({ recipients, acceptedAt }: ExistingMessage, destination: string): string => {
  const open = recipients.filter(({ status, domain }) => isOpen(status) && domain === destination);
  return (
    open
      .map(({ lease, held, nextAttemptAt }) => lease?.until ?? held?.until ?? nextAttemptAt ?? acceptedAt)
      .sort()[0] ?? NEVER
  );
};

/** The same for held mail. */
const heldMailOf = ({ store }: Pick<WorkersDependencies, 'store'>): HeldMail => {
  const held = async () => {
    const { events } = await store.readAll({ from: LOG_START, filter: { categories: ['message'] }, limit: 100_000 });
    const ids = [...new Set(events.flatMap(({ type, stream }) => (type === 'RecipientsHeld' ? [stream] : [])))];
    const messages = await Promise.all(ids.map(async (stream) => (await load(store, message, stream)).state));
    return messages.flatMap((state) =>
      state.status === 'absent'
        ? []
        : state.recipients.flatMap(({ held: by, domain }) =>
            by?.heldBy ? [{ holder: by.heldBy, state, domain }] : [],
          ),
    );
  };
  return {
    holders: async () => [...new Set((await held()).map(({ holder }) => holder))],
    held: async ({ holder: of, total }) => ({
      due: (await held())
        .filter(({ holder }) => holder === of)
        .slice(0, total)
        .map(({ state: { accepted, environment, expiresAt }, domain: destination }) => ({
          ...{ messageId: accepted.messageId, destination, environment, dueAt: expiresAt, expiresAt },
        })),
      next: '',
    }),
  };
};

export const openService = async (parts: Parts = {}): Promise<Service> => {
  const system = createShiftableSystem();
  const logger = createRecordingLogger();
  const contents = parts.contents ?? createInMemoryContents();
  const store = parts.store ?? createInMemoryEventStore({ codec: eventCodec, system, contents });
  const secrets = createInMemorySecrets();
  const webhookTarget = createHttpWebhookTarget({ system, allowLoopback: true });
  const transports = {
    live: createSmtpTransport({ url: parts.smtpUrl ?? NOWHERE, ehloName: 'outbox.test', system }),
    test: createSimulatedTransport(),
  };
  const context: CommandContext = {
    ...{ store, contents, secrets, system, webhookTarget, capturing: true },
    resolver: createInMemoryResolver(),
    dkimKeys: createInMemoryDkimKeys(),
  };
  const organizationId = await createOrganization(context, { name: 'Test', ceilings: null });
  const origin = (environment: Environment): Origin => ({
    ...{ actor: 'operator', organizationId, environment, requestId: null },
    ...{ correlationId: 'test', causationId: 'test' },
  });
  const caller = (environment: Environment): Caller =>
    callerWith({ keyId: 'key_1', organizationId, environment, permissions: ['send'] });

  const fatal: unknown[] = [];
  const dependencies: WorkersDependencies = {
    ...{ store, contents, secrets, transports, webhookTarget, serializeEvents: serializePosts, system, logger },
    serializeMail: createInboundPosts({
      ...{ store, contents, secrets, system, publicUrl: () => 'https://mail.example.test' },
      mailParser: { parseLeniently: async (raw) => parseMailLeniently(Buffer.concat(raw)) },
    }),
    queues: parts.queues ?? createInProcessQueues({ system, logger }),
    timetable: parts.timetable ?? timetableOf({ store }),
    heldMail: heldMailOf({ store }),
    expiredKeys: async () => [],
    webhookDeliveries: parts.webhookDeliveries ?? createInMemoryWebhookDeliveries(),
    times: LOCAL_ATTEMPT_TIMES,
    publicUrl: () => 'https://mail.example.test',
    trackingKeys: TRACKING_KEYS,
    onFatal: (error) => fatal.push(error),
    ...parts,
  };
  const started: Workers[] = [];

  const history = (id: string): Promise<readonly RecordedEvent[]> => store.readStream(messageStream(id));

  return {
    ...{ context, dependencies, system, logger, fatal, organizationId },

    workers: (more = {}) => {
      const workers = createWorkers({
        ...dependencies,
        queues: parts.queues ?? createInProcessQueues({ system, logger }),
        ...more,
      });
      started.push(workers);
      return workers;
    },

    send: async (to, environment = 'live', text = 'Hello there', later = {}) => {
      const recipients = [to].flat().map((address) => ({ address, kind: 'to' as const }));
      const { message: sent } = await sendMessage(context, origin(environment), caller(environment), {
        ...{ body: null, idempotencyKey: null },
        draft: {
          ...{ from: { address: 'shop@example.test' }, recipients, replyTo: [], subject: 'Hello', text },
          ...{ headers: {}, attachments: [], tags: [], metadata: {} },
          ...{ stream: 'transactional', ttlSeconds: TTL_SECONDS_DEFAULT, ...later },
        },
      });
      return sent.accepted.messageId;
    },

    message: async (id) => {
      const { state } = await load(store, message, messageStream(id));
      if (state.status === 'absent') throw new Error(`there is no message ${id}`);
      return state;
    },

    history: async (id) => (await history(id)).map(({ type }) => type),

    webhook: (url, events, environment = 'live') =>
      registerWebhook(context, origin(environment), { url, events, environment, description: null }),

    close: async () => {
      await Promise.all(started.map((workers) => workers.stop()));
      await Promise.all([transports.live.close(), transports.test.close(), webhookTarget.close()]);
      await store.close();
    },
  };
};
