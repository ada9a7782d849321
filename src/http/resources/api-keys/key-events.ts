import { z } from 'zod';
import { readWholeStream } from '../../../commands/execute.ts';
import { type ApiKey, apiKey, type ExistingApiKey } from '../../../domain/api-key/api-key.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { allows, permissionSchema } from '../../../domain/api-key/events.ts';
import { customerEventId } from '../../../domain/customer-events/customer-events.ts';
import { environmentSchema } from '../../../domain/kernel/environment.ts';
import type { ErrorCode } from '../../../domain/kernel/errors.ts';
import type { EventContext, EventStore, RecordedEvent } from '../../../domain/kernel/event-store.ts';
import type { ApiKeyEvent, ApiKeyRefusalEvent, SendingDomainEvent } from '../../../domain/kernel/events.ts';
import { apiKeyStream } from '../../../domain/kernel/streams.ts';
import { mapConcurrently } from '../../../lib/async/async.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { errorCodeSchema, timeSchema } from '../../fields.ts';
import { rateLimitsAnswerSchema, serializeRateLimits } from './api-keys.ts';

const nothing = z.strictObject({});

const created = z.strictObject({
  name: z.string(),
  domain_id: z.string(),
  permissions: z.array(permissionSchema),
  environment: environmentSchema,
  rate_limits: rateLimitsAnswerSchema,
  allowed_cidrs: z.array(z.string()),
  expires_at: timeSchema().nullable(),
  last4: z.string(),
});

const changed = <Value extends z.ZodType>(value: Value) => z.strictObject({ from: value, to: value }).optional();

const updated = z.strictObject({
  name: changed(z.string()),
  permissions: changed(z.array(permissionSchema)),
  rate_limits: changed(rateLimitsAnswerSchema),
  allowed_cidrs: changed(z.array(z.string())),
  expires_at: changed(timeSchema().nullable()),
});

const rotated = z.strictObject({
  last4: z.string().describe('Last four characters of the new secret.'),
  previous_last4: z.string(),
  previous_key_expires_at: timeSchema().describe('Time when the grace period of the previous secret ends.'),
  revoke_previous: z.boolean().describe('true: all earlier secrets ended immediately.'),
});

const refused = z.strictObject({
  change: z.enum(['update', 'rotate', 'revoke', 'delete']),
  code: errorCodeSchema.describe('Code of the error response.'),
});

export const actorSchema = z.strictObject({
  type: z.enum(['key', 'member', 'operator', 'service', 'worker']),
  id: z.string().nullable().describe('Id of the key or member, or name of the worker.'),
  secret: z
    .number()
    .int()
    .nullable()
    .describe(
      'Number of the secret that was used, from 1; each rotation creates the next one. null: the actor is not an API key.',
    ),
  secret_last4: z.string().nullable().describe('Last four characters of that secret.'),
  session_id: z.string().nullable().describe('Session of the member. null: the actor is not a member.'),
});

export const addressSchema = () =>
  z
    .string()
    .nullable()
    .describe(
      'IP address of the request. Only auditors and live keys with `admin` see it, for one year. Otherwise null.',
    );

const entry = <Type extends string, Details extends z.ZodType>(type: Type, details: Details) =>
  z.strictObject({
    id: z.string(),
    object: z.literal('api_key_history_entry'),
    type: z.literal(type),
    at: timeSchema(),
    actor: actorSchema,
    address: addressSchema(),
    request_id: z.string().nullable(),
    leaf_index: z.number().int().nullable().describe('Index in the audit log. null: not in the audit log yet.'),
    details,
  });

export const keyHistoryEntrySchema = z
  .discriminatedUnion('type', [
    entry('api_key.created', created),
    entry('api_key.updated', updated),
    entry('api_key.rotated', rotated),
    entry('api_key.revoked', nothing),
    entry('api_key.expired', z.strictObject({ expires_at: timeSchema().nullable() })),
    entry('api_key.deleted', nothing),
    entry('api_key.change_refused', refused),
    entry('domain.deleted', z.strictObject({ domain_id: z.string() })),
  ])
  .meta({ id: 'ApiKeyHistoryEntry' });
export type SerializedKeyHistoryEntry = z.infer<typeof keyHistoryEntrySchema>;

type Actor = z.infer<typeof actorSchema>;
type Details = SerializedKeyHistoryEntry extends infer Entry
  ? Entry extends { readonly type: infer Type; readonly details: infer Details }
    ? { readonly type: Type; readonly details: Details }
    : never
  : never;

/** An event in the life of a key. */
export type KeyHistoryEvent =
  | RecordedEvent<ApiKeyRefusalEvent>
  | RecordedEvent<Extract<SendingDomainEvent, { readonly type: 'DomainDeleted' }>>
  | RecordedEvent<ApiKeyEvent>;

/** Facts about the requests that caused the events. */
export interface RequestFacts {
  /** Last characters of the secret that authenticated; null: none did, or the key is not shown. */
  secretLast4(metadata: EventContext): string | null;
  /** null: not kept, or not shown. */
  address(metadata: EventContext): string | null;
}

/** `key:<id>`, `member:<id>`, `worker:<job>`, `operator`, `service`. */
export const serializeActor = (metadata: EventContext, facts: RequestFacts): Actor => {
  const [type = '', id = null] = metadata.actor.split(':', 2);
  return {
    type: type as Actor['type'], // the log has no others (`EventContext`)
    id,
    secret: metadata.secret ?? null,
    secret_last4: facts.secretLast4(metadata),
    session_id: metadata.session ?? null,
  };
};

type Changes = Extract<ApiKeyEvent, { readonly type: 'KeyUpdated' }>['data'];

const fromTo = <Value, Shown>(from: Value, to: Value | undefined, show: (value: Value) => Shown) =>
  to === undefined ? undefined : { from: show(from), to: show(to) };

const copied = <Item>(items: readonly Item[]): Item[] => [...items];
const asIs = <Value>(value: Value): Value => value;

const changesOf = (before: ExistingApiKey, { name, permissions, rateLimits, allowedCidrs, expiresAt }: Changes) => ({
  name: fromTo(before.name, name, asIs),
  permissions: fromTo(before.permissions, permissions, copied),
  rate_limits: fromTo(before.rateLimits, rateLimits, serializeRateLimits),
  allowed_cidrs: fromTo(before.allowedCidrs, allowedCidrs, copied),
  expires_at: fromTo(before.expiresAt, expiresAt, asIs),
});

const createdOf = ({ data }: Extract<ApiKeyEvent, { readonly type: 'KeyCreated' }>): Details => ({
  type: 'api_key.created',
  details: {
    name: data.name,
    domain_id: data.domainId,
    environment: data.environment,
    permissions: [...data.permissions],
    rate_limits: serializeRateLimits(data.rateLimits),
    allowed_cidrs: [...data.allowedCidrs],
    expires_at: data.expiresAt,
    last4: data.secret.last4,
  },
});

const changeOf = (before: ExistingApiKey, event: Exclude<ApiKeyEvent, { readonly type: 'KeyCreated' }>): Details => {
  switch (event.type) {
    case 'KeyUpdated':
      return { type: 'api_key.updated', details: changesOf(before, event.data) };
    case 'KeyRotated':
      return {
        type: 'api_key.rotated',
        details: {
          last4: event.data.secret.last4,
          previous_last4: before.secret.last4,
          previous_key_expires_at: event.data.previousExpiresAt,
          revoke_previous: event.data.revokesPrevious,
        },
      };
    case 'KeyRevoked':
      return { type: 'api_key.revoked', details: {} };
    case 'KeyExpired':
      return { type: 'api_key.expired', details: { expires_at: before.expiresAt } };
    case 'KeyDeleted':
      return { type: 'api_key.deleted', details: {} };
    default:
      return event satisfies never;
  }
};

const detailsOf = (event: KeyHistoryEvent, before: ApiKey): Details => {
  if (event.type === 'KeyCreated') return createdOf(event);
  if (event.type === 'KeyChangeRefused') {
    const { change, code } = event.data;
    return { type: 'api_key.change_refused', details: { change, code: code as ErrorCode } }; // written from a refusal
  }
  if (event.type === 'DomainDeleted') return { type: 'domain.deleted', details: { domain_id: event.data.domainId } };
  if (before.status === 'absent') throw new Error(`the stream of a key begins with ${event.type}`);
  return changeOf(before, event);
};

interface KeyHistoryItem {
  readonly event: KeyHistoryEvent;
  /** The key before the event. */
  readonly before: ApiKey;
  /** null: the audit tree does not have it yet. */
  readonly leafIndex: number | null;
}

/** Serializes an entry of a key's history. */
export const serializeKeyHistoryEntry = (
  { event, before, leafIndex }: KeyHistoryItem,
  facts: RequestFacts,
): SerializedKeyHistoryEntry =>
  ({
    id: customerEventId(event.id, 0),
    object: 'api_key_history_entry',
    at: event.metadata.occurredAt,
    actor: serializeActor(event.metadata, facts),
    address: facts.address(event.metadata),
    request_id: event.metadata.requestId,
    leaf_index: leafIndex,
    ...detailsOf(event, before),
  }) as SerializedKeyHistoryEntry; // type and details are paired in `Details`

/** States of a key before each of its events, in order. */
export const statesBefore = (events: readonly RecordedEvent<ApiKeyEvent>[]): readonly ApiKey[] => {
  const states: ApiKey[] = [apiKey.initial];
  for (const event of events) states.push(apiKey.evolve(states.at(-1) ?? apiKey.initial, event, event.metadata));
  return states;
};

const KEY_ACTOR = 'key:';

/** Streams read at once. More takes connections from other requests, fewer makes a page of many keys slower. */
const CONCURRENCY = 4;

/** Last characters of all secrets of a key, the first one first; none if the caller may not see the key. */
const last4sOf = async (store: EventStore, caller: Caller, keyId: string): Promise<readonly string[]> => {
  // The stream of a key holds key events only.
  const events = (await readWholeStream(store, apiKeyStream(keyId))) as readonly RecordedEvent<ApiKeyEvent>[];
  const [first] = events;
  if (first?.type !== 'KeyCreated' || first.metadata.organizationId !== caller.organizationId) return [];
  if (caller.environment === 'test' && first.data.environment === 'live') return [];
  return events.flatMap(({ type, data }) =>
    type === 'KeyCreated' || type === 'KeyRotated' ? [data.secret.last4] : [],
  );
};

const keyIdOf = ({ actor, secret }: EventContext): string | null =>
  secret !== undefined && actor.startsWith(KEY_ACTOR) ? actor.slice(KEY_ACTOR.length) : null;

/** Auditors, and live keys with `admin`. */
const seesAddresses = ({ auditor, environment, permissions }: Caller): boolean =>
  auditor !== undefined || (environment === 'live' && allows(permissions, 'admin'));

/** Reads which secrets made these events, and from where. @param all contexts of a page of events. */
export const readRequestFacts = async (
  { context: { store, system }, requestOrigins }: Pick<HttpDependencies, 'context' | 'requestOrigins'>,
  caller: Caller,
  all: readonly EventContext[],
): Promise<RequestFacts> => {
  const keyIds = new Set(all.map(keyIdOf).filter((keyId) => keyId !== null));
  const origins = all.map(({ originId }) => originId).filter((originId) => originId !== undefined);
  const [last4s, addresses] = await Promise.all([
    mapConcurrently([...keyIds], { system, concurrency: CONCURRENCY }, async (keyId) => {
      return [keyId, await last4sOf(store, caller, keyId)] as const;
    }),
    seesAddresses(caller) && origins.length > 0
      ? requestOrigins.addressesOf(caller.organizationId, origins)
      : new Map<string, string>(),
  ]);
  const secrets = new Map(last4s);
  return {
    secretLast4: (metadata) => secrets.get(keyIdOf(metadata) ?? '')?.[(metadata.secret ?? 0) - 1] ?? null,
    address: ({ originId = '' }) => addresses.get(originId) ?? null,
  };
};
