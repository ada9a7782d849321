import { z } from 'zod';
import { readWholeStream } from '../../../commands/execute.ts';
import { readStream } from '../../../commands/foreign-events.ts';
import type { ApiKey, ExistingApiKey } from '../../../domain/api-key/api-key.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { SECRET_ENDS, type SecretLife, secretHistory } from '../../../domain/api-key/key-history.ts';
import { requireOwn } from '../../../domain/kernel/aggregate.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { EventStore, RecordedEvent } from '../../../domain/kernel/event-store.ts';
import type { ApiKeyEvent, ApiKeyRefusalEvent, SendingDomainEvent } from '../../../domain/kernel/events.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { apiKeyStream, keyRefusalsStream, sendingDomainStream } from '../../../domain/kernel/streams.ts';
import type { SecretSends } from '../../../projections/messages/projection.ts';
import { endpoint } from '../../endpoint.ts';
import { asOfFields, listOf, listSchema, pageParameters, timeSchema } from '../../fields.ts';
import {
  atParameter,
  decodeParts,
  decodePlace,
  encodeParts,
  encodePlace,
  invalidCursor,
  readRecent,
  readYourWrites,
  routeAsOf,
} from '../../reading.ts';
import {
  actorSchema,
  addressSchema,
  type KeyHistoryEvent,
  keyHistoryEntrySchema,
  type RequestFacts,
  readRequestFacts,
  serializeActor,
  serializeKeyHistoryEntry,
  statesBefore,
} from './key-events.ts';

/** An event in the life of a key, and the key before it. */
interface KeyEventContext<Event extends KeyHistoryEvent = KeyHistoryEvent> {
  readonly event: Event;
  readonly before: ApiKey;
}

/**
 * Position of a reader that goes from the newest entry back: number of events left, and revision of the last refusal
 * read.
 */
interface HistoryPlace {
  readonly life: number;
  readonly refusals: number;
}

interface HistoryPage {
  readonly happenings: readonly KeyEventContext[];
  /** null: this is the last page. */
  readonly next: HistoryPlace | null;
}

type Deletion = RecordedEvent<Extract<SendingDomainEvent, { readonly type: 'DomainDeleted' }>>;
type LifeEvent = RecordedEvent<ApiKeyEvent> | Deletion;

/** A key, and what became of it. */
interface KeyLife {
  readonly key: ExistingApiKey;
  /** Oldest first; new ones are only appended. */
  readonly life: readonly KeyEventContext<LifeEvent>[];
}

/** The deletion of the key's domain, if it ended the key. */
const deletionIn = (
  domainEvents: readonly RecordedEvent[],
  life: readonly KeyEventContext<LifeEvent>[],
  last: ApiKey,
): readonly KeyEventContext<LifeEvent>[] => {
  const born = life[0]?.event.position ?? '';
  const deletion = domainEvents.find(
    (event): event is Deletion => event.type === 'DomainDeleted' && event.position > born,
  );
  if (deletion === undefined) return [];
  const before = life.find(({ event }) => event.position > deletion.position)?.before ?? last;
  return before.status === 'active' ? [{ event: deletion, before }] : [];
};

/** Reads the life of a key, which may be deleted. @throws {DomainError} `not_found`, `other_organization`. */
export const readKeyLife = async (store: EventStore, caller: Caller, id: string): Promise<KeyLife> => {
  if (!isId('key', id)) throw new DomainError('not_found', 'API key not found');
  // The stream of a key holds key events only.
  const events = (await readWholeStream(store, apiKeyStream(id))) as readonly RecordedEvent<ApiKeyEvent>[];
  const states = statesBefore(events);
  const last = states.at(-1) ?? { status: 'absent' };
  const key = requireOwn(last, caller.organizationId, 'API key');
  if (caller.environment === 'test' && key.environment === 'live')
    throw new DomainError('not_found', 'API key not found');
  const own = events.map(
    (event, index): KeyEventContext<LifeEvent> => ({ event, before: states[index] ?? { status: 'absent' } }),
  );
  const deletion = deletionIn(await readWholeStream(store, sendingDomainStream(key.domainId)), own, last);
  const life = [...own, ...deletion].sort((left, right) => (left.event.position < right.event.position ? -1 : 1));
  return { key, life };
};

/** Refusals below a revision, newest first, without the state of the key. */
const refusalsOf = async (
  store: EventStore,
  id: string,
  { below, limit }: { readonly below: number | undefined; readonly limit: number },
): Promise<readonly KeyEventContext[]> => {
  if (below === 0) return [];
  const found = await readStream(store, keyRefusalsStream(id), {
    direction: 'backwards',
    limit,
    ...(below === undefined ? {} : { from: below - 1 }),
  });
  return found.map((event) => ({ event: event as RecordedEvent<ApiKeyRefusalEvent>, before: { status: 'absent' } }));
};

const isRefusal = ({ event }: KeyEventContext): boolean => event.type === 'KeyChangeRefused';

/**
 * Reads a page of a key's history, newest first. The key may be deleted.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const readKeyHistory = async (
  store: EventStore,
  caller: Caller,
  { id, limit, place }: { readonly id: string; readonly limit: number; readonly place: HistoryPlace | null },
): Promise<HistoryPage> => {
  const { life: all } = await readKeyLife(store, caller, id);
  const life = all.slice(0, place?.life ?? all.length).reverse();
  const refusals = await refusalsOf(store, id, { below: place?.refusals, limit: limit + 1 });
  const merged = [...life, ...refusals].sort((left, right) => (left.event.position > right.event.position ? -1 : 1));
  const happenings = merged.slice(0, limit);
  const refused = happenings.filter(isRefusal);
  const newestRefusal = (refusals[0]?.event.revision ?? -1) + 1;
  const next = {
    life: life.length - (happenings.length - refused.length),
    refusals: refused.at(-1)?.event.revision ?? place?.refusals ?? newestRefusal,
  };
  return { happenings, next: merged.length > happenings.length ? next : null };
};

const query = z.strictObject(pageParameters);
const NUMBER = /^(?:0|[1-9]\d{0,8})$/;

const listName = (id: string): string => `key-history:${id}`;

/** @throws {DomainError} `invalid_cursor`. */
const decodeHistoryPlace = (id: string, cursor: string | undefined): HistoryPlace | null => {
  if (cursor === undefined) return null;
  const [name, life = '', refusals = ''] = decodeParts(cursor, 3);
  if (name !== listName(id) || !NUMBER.test(life) || !NUMBER.test(refusals)) throw invalidCursor();
  return { life: Number(life), refusals: Number(refusals) };
};

const encodeHistoryPlace = (id: string, place: HistoryPlace | null): string | null =>
  place === null ? null : encodeParts([listName(id), String(place.life), String(place.refusals)]);

export const listKeyHistoryRoute = endpoint(
  'GET /v1/api-keys/:id/history',
  {
    summary: 'List the history of an API key',
    description:
      'Returns changes and refused changes, the newest first, also of a deleted key. Secrets are never returned.',
    query,
    answer: listSchema(keyHistoryEntrySchema),
  },
  async ({ caller, id, query: { limit, after } }, { deps }) => {
    const place = decodeHistoryPlace(id, after);
    const { happenings, next } = await readKeyHistory(deps.context.store, caller, { id, limit, place });
    const contexts = happenings.map(({ event }) => event.metadata);
    const facts = await readRequestFacts(deps, caller, contexts);
    await readRecent(deps, ['audit']);
    const leaves = await deps.readModels.audit.findAll(
      caller.organizationId,
      happenings.map(({ event }) => event.id),
    );
    const entries = happenings.map((happening) =>
      serializeKeyHistoryEntry({ ...happening, leafIndex: leaves.get(happening.event.id)?.index ?? null }, facts),
    );
    return listOf(entries, next !== null, encodeHistoryPlace(id, next));
  },
);

/** A value that a key has or had. */
const keySecretSchema = z
  .strictObject({
    object: z.literal('api_key_secret'),
    number: z.number().int().describe('1 for the first secret of the key, one more with each rotation.'),
    last4: z.string(),
    status: z
      .enum(['current', 'grace', 'ended'])
      .describe(
        '`current`: the newest secret. `grace`: replaced, but works until `ends_at`. `ended`: no longer works.',
      ),
    created_at: timeSchema(),
    created_by: actorSchema,
    address: addressSchema(),
    request_id: z.string().nullable(),
    ends_at: timeSchema().nullable().describe('Time when the secret ended or will end. null: no end is set.'),
    end_reason: z.enum(SECRET_ENDS).nullable(),
    sends: z.number().int().describe('Number of messages that were accepted with this secret.'),
    recipients: z.number().int().describe('Number of recipients of those messages.'),
    first_send_at: timeSchema().nullable(),
    last_send_at: timeSchema().nullable(),
  })
  .meta({ id: 'ApiKeySecret' });
export type SerializedKeySecret = z.infer<typeof keySecretSchema>;

/** Every secret that a key ever had, and what was sent with it. */

/** Data needed to serialize a secret. */
interface SecretContext {
  /** ISO 8601. */
  readonly now: string;
  readonly newest: number;
  /** By number. */
  readonly sends: ReadonlyMap<number, SecretSends>;
  readonly facts: RequestFacts;
}

const statusOf = ({ number, end }: SecretLife, { now, newest }: SecretContext): SerializedKeySecret['status'] => {
  if (end !== null && end.at <= now) return 'ended';
  return number === newest ? 'current' : 'grace';
};

const serializeSecret = (life: SecretLife, context: SecretContext): SerializedKeySecret => {
  const { data, metadata } = life.created;
  const sends = context.sends.get(life.number);
  return {
    object: 'api_key_secret',
    number: life.number,
    last4: data.secret.last4,
    status: statusOf(life, context),
    created_at: metadata.occurredAt,
    created_by: serializeActor(metadata, context.facts),
    address: context.facts.address(metadata),
    request_id: metadata.requestId,
    ends_at: life.end?.at ?? null,
    end_reason: life.end?.reason ?? null,
    sends: sends?.messages ?? 0,
    recipients: sends?.recipients ?? 0,
    first_send_at: sends?.firstAt.toISOString() ?? null,
    last_send_at: sends?.lastAt.toISOString() ?? null,
  };
};

export const listKeySecretsRoute = endpoint(
  'GET /v1/api-keys/:id/secrets',
  {
    summary: 'List the secrets of an API key',
    description:
      'Returns who created each secret, when and why it ended, and how much was sent with it; the newest first, also for a ' +
      'deleted key. The secrets themselves are never returned. Counts stay when messages are erased. ' +
      '`GET /v1/messages?key_id=<id>&secret=<number>` lists the messages. With `at`, the secrets are as they were at that ' +
      'time, but the counts include everything sent until now.',
    query: z.strictObject({ ...pageParameters, at: atParameter() }),
    answer: listSchema(keySecretSchema).extend(asOfFields()),
  },
  async ({ caller, id, query: { limit, after, at } }, route) => {
    const past = await routeAsOf(route, caller, at);
    if (past === null) throw new DomainError('not_found', 'the organization did not exist at that time');
    const { deps } = past?.route ?? route;
    const { context, readModels } = deps;
    const list = `key-secrets:${id}`;
    const place = decodePlace(list, after);
    const { key, life } = await readKeyLife(context.store, caller, id);
    const all = secretHistory(
      life.map(({ event }) => event),
      key.expiresAt,
    );
    const rest = all.filter(({ number }) => place.after === undefined || number < Number(place.after));
    const page = rest.slice(0, limit);
    const [first, last] = [page.at(-1)?.number ?? 0, page[0]?.number ?? 0];
    await readYourWrites(deps, ['messages']);
    const secretContext = {
      now: context.system.now().toISOString(),
      newest: all[0]?.number ?? 0,
      sends: await readModels.apiKeys.sends({
        organizationId: caller.organizationId,
        keyId: id,
        from: first,
        to: last,
      }),
      facts: await readRequestFacts(
        deps,
        caller,
        page.map(({ created }) => created.metadata),
      ),
    };
    const hasMore = rest.length > page.length;
    const answer = listOf(
      page.map((secret) => serializeSecret(secret, secretContext)),
      hasMore,
      encodePlace(list, hasMore ? String(first) : null),
    );
    return past === undefined ? answer : { ...answer, as_of: past.asOf };
  },
);
