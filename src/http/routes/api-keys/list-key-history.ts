import { z } from 'zod';
import { DomainError } from '../../../domain/domain-error.ts';
import { isId } from '../../../domain/ids.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { keyHistoryEntryShape } from '../../schemas/key-history.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { showKeyHistoryEntry } from '../../schemas/show-key-history.ts';
import { decodeParts, encodeParts, invalidCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { type HistoryPlace, readKeyHistory } from './read-key-history.ts';

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

export const listKeyHistoryRoute = (route: RouteContext): void => {
  const { store } = route.deps.context;
  defineEndpoint(
    route,
    'GET /v1/api-keys/:id/history',
    {
      summary: 'List who did what to an API key, newest first',
      description: 'Changes, and those that were refused; of a deleted key too. Never its values.',
      query,
      answer: listShape(keyHistoryEntryShape),
    },
    async ({ caller, id, query: { limit, after } }) => {
      if (!isId('key', id)) throw new DomainError('not_found', 'API key not found');
      const place = decodePlace(id, after);
      const { happenings, next } = await readKeyHistory(store, caller, { id, limit, place });
      const entries = happenings.map(({ event, before }) => showKeyHistoryEntry(event, before));
      return listOf(entries, next !== null, encodePlace(id, next));
    },
  );
};
