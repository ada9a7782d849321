import { DomainError } from '../../domain/domain-error.ts';
import type { ListCursor } from '../../projections/page-of.ts';
import { timeOf } from './fields.ts';

/** Separates the parts of a cursor; in none of them. */
const SEPARATOR = '\n';
const ID = /^[a-z]{3}_[a-z2-7]{26}$/;
/** Row numbers: 64 bits, from 1. */
const PLACE = /^[1-9]\d{0,17}$/;

export const invalidCursor = (): DomainError =>
  new DomainError('invalid_cursor', 'after is not a cursor of this list', {
    details: { after: ['after is not a cursor of this list'] },
  });

/** Encodes parts as an opaque cursor. */
export const encodeParts = (parts: readonly string[]): string =>
  Buffer.from(parts.join(SEPARATOR)).toString('base64url');

/** @throws {DomainError} `invalid_cursor` unless made by `encodeParts`. */
export const decodeParts = (cursor: string, count: number): readonly string[] => {
  const parts = Buffer.from(cursor, 'base64url').toString().split(SEPARATOR);
  if (parts.length !== count || encodeParts(parts) !== cursor) throw invalidCursor();
  return parts;
};

/** @param list its name: a cursor is valid for its own list only. */
export const encodeCursor = (list: string, cursor: ListCursor | null): string | null =>
  cursor === null ? null : encodeParts([list, cursor.createdAt, cursor.id]);

/** @param ids form of the ids in the list. @throws {DomainError} `invalid_cursor`. */
export const decodeCursor = (list: string, text: string | undefined, ids = ID): ListCursor | null => {
  if (text === undefined) return null;
  const [name, createdAt = '', id = ''] = decodeParts(text, 3);
  if (name !== list || timeOf(Date.parse(createdAt)) !== createdAt || !ids.test(id)) throw invalidCursor();
  return { createdAt, id };
};

/**
 * Cursor of a list whose items are numbered.
 * @param list its name, with the id of its owner if there are several.
 */
export const encodePlace = (list: string, place: string | null): string | null =>
  place === null ? null : encodeParts([list, place]);

/** @throws {DomainError} `invalid_cursor`. */
export const decodePlace = (list: string, text: string | undefined): { readonly after?: string } => {
  if (text === undefined) return {};
  const [name, place = ''] = decodeParts(text, 2);
  if (name !== list || !PLACE.test(place)) throw invalidCursor();
  return { after: place };
};
