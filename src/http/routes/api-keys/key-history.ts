import { z } from 'zod';
import { readWholeStream } from '../../../commands/execute.ts';
import type { ApiKey, ExistingApiKey } from '../../../domain/api-key/api-key.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { requireOwn } from '../../../domain/kernel/aggregate.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { EventStore, RecordedEvent } from '../../../domain/kernel/event-store.ts';
import type { ApiKeyEvent, ApiKeyRefusalEvent, SendingDomainEvent } from '../../../domain/kernel/events.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { apiKeyStream, keyRefusalsStream, sendingDomainStream } from '../../../domain/kernel/streams.ts';
import { endpoint } from '../../endpoint.ts';
import { decodeParts, encodeParts, invalidCursor } from '../../lists.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import {
  type KeyHistoryEvent,
  keyHistoryEntrySchema,
  serializeKeyHistoryEntry,
  statesBefore,
} from '../../schemas/key-history.ts';
import { pageParameters } from '../../validation/fields.ts';
import { readRequestFacts } from './request-facts.ts';

/** An event in the life of a key, and the key before it. */
export interface KeyEventContext<Event extends KeyHistoryEvent = KeyHistoryEvent> {
  readonly event: Event;
  readonly before: ApiKey;
}

/**
 * Position of a reader that goes from the newest entry back: number of events left, and revision of the last refusal
 * read.
 */
export interface HistoryPlace {
  readonly life: number;
  readonly refusals: number;
}

export interface HistoryPage {
  readonly happenings: readonly KeyEventContext[];
  /** null: this is the last page. */
  readonly next: HistoryPlace | null;
}

type Deletion = RecordedEvent<Extract<SendingDomainEvent, { readonly type: 'DomainDeleted' }>>;
type LifeEvent = RecordedEvent<ApiKeyEvent> | Deletion;

/** A key, and what became of it. */
export interface KeyLife {
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
  const found = await store.readStream(keyRefusalsStream(id), {
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
const decodePlace = (id: string, cursor: string | undefined): HistoryPlace | null => {
  if (cursor === undefined) return null;
  const [name, life = '', refusals = ''] = decodeParts(cursor, 3);
  if (name !== listName(id) || !NUMBER.test(life) || !NUMBER.test(refusals)) throw invalidCursor();
  return { life: Number(life), refusals: Number(refusals) };
};

const encodePlace = (id: string, place: HistoryPlace | null): string | null =>
  place === null ? null : encodeParts([listName(id), String(place.life), String(place.refusals)]);

export const listKeyHistoryRoute = endpoint(
  'GET /v1/api-keys/:id/history',
  {
    summary: 'List the history of an API key, newest first',
    description: 'Changes and refused changes, also of a deleted key. Values of the key are never returned.',
    query,
    answer: listSchema(keyHistoryEntrySchema),
  },
  async ({ caller, id, query: { limit, after } }, { deps }) => {
    const place = decodePlace(id, after);
    const { happenings, next } = await readKeyHistory(deps.context.store, caller, { id, limit, place });
    const contexts = happenings.map(({ event }) => event.metadata);
    const facts = await readRequestFacts(deps, caller, contexts);
    const leaves = await deps.readModels.audit.findAll(
      caller.organizationId,
      happenings.map(({ event }) => event.id),
    );
    const entries = happenings.map((happening) =>
      serializeKeyHistoryEntry({ ...happening, leafIndex: leaves.get(happening.event.id)?.index ?? null }, facts),
    );
    return listOf(entries, next !== null, encodePlace(id, next));
  },
);
