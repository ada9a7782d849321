import { z } from 'zod';
import type { Caller } from '../domain/api-key/key-authority.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { ListCursor, ListPage } from '../projections/page-of.ts';
import type { ProjectionName } from '../projections/projection.ts';
import { atParameter, routeAsOf } from './as-of.ts';
import { readYourWrites } from './consistency.ts';
import { endpoint, type Registration, type RouteContext } from './endpoint.ts';
import type { Described } from './openapi/operation.ts';
import type { GuardedRouteName } from './route-table.ts';
import { asOfFields, listOf, listSchema } from './schemas/envelope.ts';
import { pageParameters, timeOf } from './validation/fields.ts';

/** Lists: their cursors, and the route of a list that is a read model. */

/** Separates the parts of a cursor; in none of them. */
const SEPARATOR = '\n';
const ID = /^[a-z]{3}_[a-z2-7]{26}$/;
/** Row numbers: 64 bits, from 1. */
const PLACE = /^[1-9]\d{0,17}$/;

/** @param field the parameter that it came in. */
export const invalidCursor = (field = 'after'): DomainError => {
  const problem = `${field} is not a cursor of this list`;
  return new DomainError('invalid_cursor', problem, { details: { [field]: [problem] } });
};

/** Encodes parts as an opaque cursor. */
export const encodeParts = (parts: readonly string[]): string =>
  Buffer.from(parts.join(SEPARATOR)).toString('base64url');

/** @throws {DomainError} `invalid_cursor` unless made by `encodeParts`. */
export const decodeParts = (cursor: string, count: number, field?: string): readonly string[] => {
  const parts = Buffer.from(cursor, 'base64url').toString().split(SEPARATOR);
  if (parts.length !== count || encodeParts(parts) !== cursor) throw invalidCursor(field);
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

/** The cursor of a list, or where what was made at a time begins, if that is later on. @param latest ISO 8601. */
export const cursorFrom = (after: ListCursor | null, latest: string): ListCursor => {
  const start = { createdAt: new Date(Date.parse(latest) + 1).toISOString(), id: '' };
  return after === null || after.createdAt > start.createdAt ? start : after;
};

/** A list read at a past moment may have another order, so its cursors have another name. */
const nameThen = (list: string, at: string | undefined): string => (at === undefined ? list : `${list}@`);

interface ListDefinition<Item extends z.ZodType, Filters extends z.ZodRawShape>
  extends Pick<Described, 'summary' | 'description'> {
  /** Its read model, which catches up with the log first. */
  readonly of: ProjectionName;
  readonly item: Item;
  /** Query parameters besides those of every list. */
  readonly filters?: Filters;
  /** Name of the list in its cursors. Default: that of the read model. */
  readonly list?: string;
  /** Whether the list can be read as it was (`?at=`). */
  readonly takesAt?: boolean;
  /** Form of the ids in the list. Default: ids of this service. */
  readonly ids?: RegExp;
}

type ListBy<Filters extends z.ZodRawShape> = z.output<z.ZodObject<Filters>> & {
  readonly limit: number;
  readonly after: ListCursor | null;
  /** The list is read at a past moment: it includes items deleted since, and the route reads streams up to the moment. */
  readonly withDeleted: boolean;
  /** Latest creation time of items in a list read at a past moment (ISO 8601); null: the current list. */
  readonly latest: string | null;
};

/**
 * The route of a newest-first list. As it was, a page may hold fewer items than its limit: those made or deleted since.
 * @param read the page of its read model, serialized.
 */
export const listEndpoint = <Item extends z.ZodType, const Filters extends z.ZodRawShape = Record<never, never>>(
  name: GuardedRouteName,
  { of, item, filters, list = of, ids, takesAt = false, ...described }: ListDefinition<Item, Filters>,
  read: (by: ListBy<Filters>, caller: Caller, route: RouteContext) => Promise<ListPage<z.output<Item>>>,
): Registration => {
  const at = takesAt ? { at: atParameter() } : {};
  return endpoint(
    name,
    {
      ...described,
      query: z.strictObject({ ...pageParameters, ...filters, ...at }),
      answer: listSchema(item).extend(takesAt ? asOfFields() : {}),
    },
    async ({ caller, query: { after: cursor, ...sent } }, route) => {
      const { at, ...asked } = sent as typeof sent & { readonly at?: string };
      const named = nameThen(list, at);
      const after = decodeCursor(named, cursor, ids);
      await readYourWrites(route.deps, [of]);
      const past = await routeAsOf(route, caller, at);
      if (past === null) return listOf([], false, null);
      const then = { withDeleted: past !== undefined, latest: past?.latest ?? null };
      const by = { ...asked, after, ...then } as unknown as ListBy<Filters>; // what the schema above has parsed
      const { items, hasMore, next } = await read(by, caller, past?.route ?? route);
      const page = listOf(items, hasMore, encodeCursor(named, next));
      return past === undefined ? page : { ...page, as_of: past.asOf };
    },
  );
};
