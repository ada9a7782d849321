import { createKey, revokeKey, rotateKey } from '../../../src/commands/api-key.ts';
import { signCheckpoint } from '../../../src/commands/audit.ts';
import { closePeriod } from '../../../src/commands/billing.ts';
import { type CommandContext, load, type Origin } from '../../../src/commands/execute.ts';
import {
  cancelMessage,
  claimAttempt,
  recordAttempt,
  rescheduleMessage,
} from '../../../src/commands/message/attempt.ts';
import { sendMessage } from '../../../src/commands/message/send-message.ts';
import { createOrganization } from '../../../src/commands/organization.ts';
import { registerDomain } from '../../../src/commands/sending-domain/change-domain.ts';
import type { Caller } from '../../../src/domain/api-key/caller.ts';
import { createKeyCacheProjection } from '../../../src/domain/api-key/key-cache-projection.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { Environment } from '../../../src/domain/kernel/environment.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import type { AttemptOutcome } from '../../../src/domain/message/attempt.ts';
import { message } from '../../../src/domain/message/message.ts';
import type { Contents } from '../../../src/domain/ports/contents.ts';
import { callerWith } from '../../support/controls/api-key.ts';
import { countedDays } from '../../support/counted-days.ts';
import { createAuditTreesOf } from '../../support/in-memory/audit-trees.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemoryDkimKeys } from '../../support/in-memory/dkim-keys.ts';
import { createInMemoryResolver } from '../../support/in-memory/dns.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { createSteppableSystem, type SteppableSystem } from '../../support/system.ts';
import { engageSome } from './engage-some.ts';
import { inboundSome } from './inbound-some.ts';
import { eraseOne, suppressSome } from './suppress-some.ts';
import { suspendSome } from './suspend-some.ts';
import { templateSome } from './template-some.ts';
import { webhookSome } from './webhook-some.ts';

/** An organization with a verified domain, and its keys and webhooks so far. */
interface Tenant {
  readonly organizationId: string;
  readonly domain: Caller['domain'];
  readonly keys: string[];
  readonly webhooks: string[];
}

export interface History {
  readonly store: EventStore;
  readonly contents: Contents;
  readonly system: SteppableSystem;
  readonly tenants: readonly Tenant[];
  /** Ids of the accepted messages, in order. */
  readonly messageIds: readonly string[];
  /** Performs this many random actions of users and workers. */
  go(steps: number): Promise<void>;
  send(
    tenant: Tenant,
    more?: { readonly to?: readonly string[]; readonly environment?: Environment; readonly scheduledAt?: string },
  ): Promise<string>;
}

export interface HistoryOptions {
  readonly seed?: number;
  readonly tenants?: number;
  /** A log with its contents. Default: in memory. */
  readonly stored?: { readonly store: EventStore; readonly contents: Contents };
}

const LEASE_MS = 60_000;
const PEOPLE = ['ann@example.net', 'bob@example.org', 'cyd@mail.example', 'dee@example.net', 'eve@example.org'];

const originOf = (organizationId: string, environment: Environment): Origin => ({
  ...{ actor: 'operator', organizationId, environment, requestId: null },
  ...{ correlationId: 'history', causationId: 'history' },
});

/** A log written by the real use cases. The same seed gives the same log. */
export const createHistory = async ({ seed = 1, tenants = 2, stored }: HistoryOptions = {}): Promise<History> => {
  const system = createSteppableSystem({ seed, start: '2026-11-20T22:00:00.000Z' });
  const contents = stored?.contents ?? createInMemoryContents();
  const store = stored?.store ?? createInMemoryEventStore({ codec: eventCodec, system, contents });
  const context: CommandContext = {
    ...{ store, contents, secrets: createInMemorySecrets(), system, capturing: true },
    ...{ resolver: createInMemoryResolver(), dkimKeys: createInMemoryDkimKeys() },
    webhookTarget: {
      problemWith: async () => null,
      post: () => Promise.reject(new Error('nothing is posted here')),
      close: async () => undefined,
    },
  };
  const messageIds: string[] = [];
  const all: Tenant[] = [];

  /** A random integer from 0 to `limit - 1`. */
  const below = (limit: number): number => (system.randomBytes(4).reduce((n, byte) => n * 256 + byte, 0) >>> 0) % limit;
  const pick = <T>(values: readonly T[]): T | undefined => values[below(Math.max(1, values.length))];
  const random = (): number => below(1000) / 1000;

  const callerOf = ({ organizationId, domain, keys }: Tenant, environment: Environment): Caller =>
    callerWith({ keyId: pick(keys) ?? 'key_none', organizationId, environment, permissions: ['admin'], domain });

  const newTenant = async (number: number): Promise<Tenant> => {
    const organizationId = await createOrganization(context, { name: `Tenant ${number}`, ceilings: null });
    const name = `tenant-${number}.example`;
    const { domain } = await registerDomain(context, originOf(organizationId, 'live'), { name });
    return { organizationId, domain: { id: domain.domainId, name, verified: true }, keys: [], webhooks: [] };
  };

  const send: History['send'] = async (tenant, { to, environment = 'live', ...schedule } = {}) => {
    const addresses = to ?? Array.from({ length: 1 + below(3) }, () => pick(PEOPLE) ?? '');
    const { message } = await sendMessage(
      context,
      { ...originOf(tenant.organizationId, environment), secret: 1 + (messageIds.length % 3) },
      callerOf(tenant, environment),
      {
        ...{ body: addresses, idempotencyKey: null },
        draft: {
          from: { address: `shop@${tenant.domain.name}` },
          recipients: addresses.map((address, index) => ({
            address,
            kind: index === 0 ? ('to' as const) : ('cc' as const),
          })),
          ...{ replyTo: [], subject: 'Hello "you" \\ there', text: 'Hello', headers: {}, attachments: [] },
          tags: below(2) === 0 ? [] : [{ name: 'campaign', value: `c${below(3)}` }],
          metadata: { order: String(below(100)) },
          stream: below(4) === 0 ? 'bulk' : 'transactional',
          ttlSeconds: 86_400,
          ...schedule,
        },
      },
    );
    messageIds.push(message.accepted.messageId);
    return message.accepted.messageId;
  };

  const outcomeFor = (recipientId: string): AttemptOutcome => {
    const smtp = { code: 250, enhanced: '2.0.0', mx: 'mx.example.net', tls: 'TLSv1.3', replyId: null };
    const refused = { ...smtp, code: 550, enhanced: '5.1.1' };
    const outcomes: readonly AttemptOutcome[] = [
      { recipientId, outcome: 'delivered', smtp },
      { recipientId, outcome: 'delivered', smtp, complained: below(3) === 0 },
      { recipientId, outcome: 'deferred', smtp: { ...smtp, code: 451 }, reason: 'try again later' },
      { recipientId, outcome: 'bounced', smtp: refused, reason: 'no such mailbox' },
      { recipientId, outcome: below(2) === 0 ? 'suppressed' : 'failed', reason: 'not sent' },
      { recipientId, outcome: 'unknown' },
    ];
    return pick([...outcomes, ...outcomes.slice(0, 1), ...outcomes.slice(0, 1)]) ?? { recipientId, outcome: 'unknown' };
  };

  const attempt = async (): Promise<void> => {
    const messageId = pick(messageIds.slice(-60));
    if (messageId === undefined) return;
    const claim = await claimAttempt(context, { messageId, leaseMs: LEASE_MS, random: random() });
    if (!claim.claimed || below(8) === 0) return; // the worker was killed
    await system.advance(below(9000));
    const outcomes = claim.recipientIds.map(outcomeFor);
    await recordAttempt(context, {
      message: claim.message,
      attempt: claim.attempt,
      outcomes,
      replies: [],
      random: random(),
    });
  };

  type Action = (tenant: Tenant) => Promise<unknown>;
  const hence = (seconds: number): string => new Date(system.now().getTime() + seconds * 1000).toISOString();

  /** A random recent message, and who may change it. */
  const someMessage = async () => {
    const messageId = pick(messageIds.slice(-60)) ?? '';
    const { state } = await load(store, message, messageStream(messageId));
    if (state.status === 'absent') throw new DomainError('not_found', 'it does not exist yet');
    return { messageId, origin: originOf(state.organizationId, state.environment) };
  };

  const cancelSome: Action = async () => {
    const { messageId, origin } = await someMessage();
    await cancelMessage(context, origin, { messageId });
  };
  const rescheduleSome: Action = async () => {
    const { messageId, origin } = await someMessage();
    await rescheduleMessage(context, origin, { messageId, scheduledAt: hence(below(100_000)) });
  };

  const makeKey: Action = async ({ organizationId, domain, keys }) => {
    const { key } = await createKey(context, originOf(organizationId, 'live'), {
      ...{ by: 'operator', domainId: domain.id, name: 'a key', environment: below(3) === 0 ? 'test' : 'live' },
      ...{ permissions: ['admin'], rateLimits: { send: 10 }, allowedCidrs: [], expiresAt: null },
    });
    keys.push(key.keyId);
  };

  const byOperator = { by: 'operator', loadKeyCache: async () => createKeyCacheProjection() } as const;

  const rotateSomeKey: Action = async ({ organizationId, keys }) => {
    const command = { ...byOperator, keyId: pick(keys) ?? '', gracePeriodMinutes: 5, revokePrevious: true };
    await rotateKey(context, originOf(organizationId, 'live'), command);
  };

  const revokeSomeKey: Action = async ({ organizationId, keys }) => {
    await revokeKey(context, originOf(organizationId, 'live'), { ...byOperator, keyId: pick(keys) ?? '' });
  };

  const hookSome: Action = ({ organizationId, webhooks }) =>
    webhookSome(context, originOf(organizationId, 'live'), webhooks, below);

  const changeTemplate: Action = ({ organizationId }) => templateSome(context, originOf(organizationId, 'live'), below);

  const billSome: Action = ({ organizationId }) => {
    const month = `20${27 + below(70)}-01`;
    const counted = { days: countedDays([[`${month}-01`, below(100)]]), countedTo: { position: '', at: null } };
    return closePeriod(context, { organizationId, month, count: async () => counted });
  };
  const signSome: Action = ({ organizationId }) =>
    signCheckpoint(context, { tree: organizationId, trees: createAuditTreesOf(store), host: 'mail.example' });
  const sendSome: Action = (tenant) => send(tenant, { environment: below(4) === 0 ? 'test' : 'live' });

  const actions: readonly Action[] = [
    ...Array.from({ length: 14 }, () => sendSome),
    ...Array.from({ length: 4 }, () => (tenant: Tenant) => send(tenant, { scheduledAt: hence(1 + below(100_000)) })),
    ...Array.from({ length: 18 }, () => attempt),
    ...[cancelSome, rescheduleSome, rescheduleSome],
    ...Array.from({ length: 3 }, () => () => engageSome(context, pick(messageIds.slice(-60)) ?? '', below)),
    (tenant) => suppressSome(context, originOf(tenant.organizationId, 'live'), below),
    (tenant) => inboundSome(context, originOf(tenant.organizationId, 'live'), tenant.domain, below),
    (tenant) => suspendSome(context, originOf(tenant.organizationId, 'live'), below),
    (tenant) => eraseOne(context, originOf(tenant.organizationId, 'live'), below),
    ...[changeTemplate, changeTemplate, changeTemplate, changeTemplate], // one in five creates a template
    ...[signSome, billSome, makeKey, makeKey, rotateSomeKey, revokeSomeKey],
    ...Array.from({ length: 5 }, () => hookSome),
    ...Array.from({ length: 3 }, () => () => system.advance(below(600_000))),
    () => system.advance(below(90_000_000)),
  ];

  /** Ignores domain errors: a random action may be invalid in the current state. */
  const step = async (): Promise<void> => {
    const tenant = pick(all);
    const act = pick(actions);
    if (tenant === undefined || act === undefined) return;
    await act(tenant).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
    });
  };

  for (let number = 1; number <= tenants; number += 1) all.push(await newTenant(number));
  return {
    ...{ store, contents, system, tenants: all, messageIds, send },
    go: async (steps) => {
      for (let done = 0; done < steps; done += 1) await step();
    },
  };
};
