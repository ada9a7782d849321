import { type ApiKey, apiKey, type ExistingApiKey } from '../../domain/api-key/api-key.ts';
import { customerEventId } from '../../domain/customer-events.ts';
import type { ErrorCode } from '../../domain/error-catalogue.ts';
import type { ApiKeyEvent, ApiKeyRefusalEvent, SendingDomainEvent } from '../../domain/events.ts';
import type { RecordedEvent } from '../../domain/ports/event-store.ts';
import { showLimits } from './api-key.ts';
import type { KeyHistoryEntryShape } from './key-history.ts';

type Actor = KeyHistoryEntryShape['actor'];
type Told = KeyHistoryEntryShape extends infer Entry
  ? Entry extends { readonly type: infer Type; readonly details: infer Details }
    ? { readonly type: Type; readonly details: Details }
    : never
  : never;

/** What happened in the life of a key. */
export type KeyHistoryEvent =
  | RecordedEvent<ApiKeyRefusalEvent>
  | RecordedEvent<Extract<SendingDomainEvent, { readonly type: 'DomainDeleted' }>>
  | RecordedEvent<ApiKeyEvent>;

/** `key:<id>`, `worker:<job>`, `operator`, `service`. */
const actorOf = (actor: string): Actor => {
  const [type = '', id = null] = actor.split(':', 2);
  return { type: type as Actor['type'], id }; // the log knows no others (`EventContext`)
};

type Changes = Extract<ApiKeyEvent, { readonly type: 'KeyUpdated' }>['data'];

const fromTo = <Value, Shown>(from: Value, to: Value | undefined, show: (value: Value) => Shown) =>
  to === undefined ? undefined : { from: show(from), to: show(to) };

const copied = <Item>(items: readonly Item[]): Item[] => [...items];
const asIs = <Value>(value: Value): Value => value;

const changesOf = (before: ExistingApiKey, { name, permissions, rateLimits, allowedCidrs, expiresAt }: Changes) => ({
  name: fromTo(before.name, name, asIs),
  permissions: fromTo(before.permissions, permissions, copied),
  rate_limits: fromTo(before.rateLimits, rateLimits, showLimits),
  allowed_cidrs: fromTo(before.allowedCidrs, allowedCidrs, copied),
  expires_at: fromTo(before.expiresAt, expiresAt, asIs),
});

const createdOf = ({ data }: Extract<ApiKeyEvent, { readonly type: 'KeyCreated' }>): Told => ({
  type: 'api_key.created',
  details: {
    ...{ name: data.name, domain_id: data.domainId, environment: data.environment },
    permissions: [...data.permissions],
    rate_limits: showLimits(data.rateLimits),
    allowed_cidrs: [...data.allowedCidrs],
    expires_at: data.expiresAt,
    last4: data.secret.last4,
  },
});

const changeOf = (before: ExistingApiKey, event: Exclude<ApiKeyEvent, { readonly type: 'KeyCreated' }>): Told => {
  switch (event.type) {
    case 'KeyUpdated':
      return { type: 'api_key.updated', details: changesOf(before, event.data) };
    case 'KeyRotated':
      return {
        type: 'api_key.rotated',
        details: {
          ...{ last4: event.data.secret.last4, previous_last4: before.secret.last4 },
          ...{ previous_key_expires_at: event.data.previousExpiresAt, revoke_previous: event.data.revokesPrevious },
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

const toldOf = (event: KeyHistoryEvent, before: ApiKey): Told => {
  if (event.type === 'KeyCreated') return createdOf(event);
  if (event.type === 'KeyChangeRefused') {
    const { change, code } = event.data;
    return { type: 'api_key.change_refused', details: { change, code: code as ErrorCode } }; // written from a refusal
  }
  if (event.type === 'DomainDeleted') return { type: 'domain.deleted', details: { domain_id: event.data.domainId } };
  if (before.status === 'absent') throw new Error(`the stream of a key begins with ${event.type}`);
  return changeOf(before, event);
};

/** One entry of a key's history. @param before the key as it was until then. */
export const showKeyHistoryEntry = (event: KeyHistoryEvent, before: ApiKey): KeyHistoryEntryShape =>
  ({
    id: customerEventId(event.id, 0),
    object: 'api_key_history_entry',
    at: event.metadata.occurredAt,
    actor: actorOf(event.metadata.actor),
    request_id: event.metadata.requestId,
    ...toldOf(event, before),
  }) as KeyHistoryEntryShape; // type and details belong together in `Told`

/** States of a key before each of its events, in their order. */
export const statesBefore = (events: readonly RecordedEvent<ApiKeyEvent>[]): readonly ApiKey[] => {
  const states: ApiKey[] = [apiKey.initial];
  for (const event of events) states.push(apiKey.evolve(states.at(-1) ?? apiKey.initial, event, event.metadata));
  return states;
};
