import { type Invocation, optional, optionalCount, type ServiceCommand } from '../command.ts';
import { CommandFailed, printableJson, type Terminal, table, UsageError } from '../terminal.ts';
import type { RequestOptions, Service } from './service.ts';

/** Commands that list resources, or read or change one. */

export type Fields = Readonly<Record<string, unknown>>;

export interface Page {
  readonly data: readonly Fields[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export const PAGE = 100;
const LISTED_DEFAULT = 25;
/** Higher: a mistyped limit reads for minutes. Lower: large lists take several runs with `--after`. */
export const LISTED_MAX = 10_000;

type Query = NonNullable<RequestOptions['query']>;

/** The single positional argument. @throws {UsageError} */
export const nameIn = ({ positionals }: Invocation, what: string): string => {
  const [name, ...more] = positionals;
  if (name === undefined || name === '' || more.length > 0) throw new UsageError(`expected one ${what}`);
  return encodeURIComponent(name);
};

/** Reads pages until the limit. @returns `next` also at the end of a feed, which is read on from there. */
export const listed = async (
  { ask }: Service,
  path: string,
  { limit, after, ...query }: Query & { readonly limit: number },
): Promise<{ readonly found: readonly Fields[]; readonly next: string | null; readonly hasMore: boolean }> => {
  const found: Fields[] = [];
  let next = typeof after === 'string' ? after : null;
  let hasMore: boolean;
  do {
    const asked = { ...query, limit: Math.min(PAGE, limit - found.length), after: next ?? undefined };
    const { body } = await ask<Page>('GET', path, { query: asked });
    found.push(...body.data);
    next = body.next_cursor;
    hasMore = body.has_more && next !== null;
  } while (hasMore && found.length < limit);
  return { found, next, hasMore };
};

/** Says where a list continues; with `--json` as JSON too, on standard error, because the output is the list. */
export const noteNext = (
  { json, note }: Pick<Terminal, 'json' | 'note'>,
  { next, hasMore }: { readonly next: string | null; readonly hasMore: boolean },
): void => {
  if (next === null) return;
  if (json) process.stderr.write(`${printableJson({ next_cursor: next, has_more: hasMore })}\n`);
  else note(`${hasMore ? 'for more' : 'to continue from here'}: --after ${next}`);
};

interface NamedKind {
  readonly what: string;
  readonly path: string;
  readonly prefix: string;
}

const DOMAINS: NamedKind = { what: 'domain', path: '/v1/domains', prefix: 'dom_' };
const KEYS: NamedKind = { what: 'key', path: '/v1/api-keys', prefix: 'key_' };
/** Query parameters that are ids, for which people write names. */
const NAMED: Readonly<Record<string, NamedKind>> = { domain: DOMAINS, domain_id: DOMAINS, key_id: KEYS };

/** @throws {CommandFailed} if nothing has the name, or several have it. */
const idOf = async (service: Service, { what, path, prefix }: NamedKind, idOrName: string): Promise<string> => {
  if (idOrName.startsWith(prefix)) return idOrName;
  const name = idOrName.toLowerCase();
  const { found } = await listed(service, path, { limit: LISTED_MAX });
  const ids = found.filter((one) => String(one.name).toLowerCase() === name).map(({ id }) => String(id));
  const [id] = ids;
  if (id === undefined)
    throw new CommandFailed(`${what} ${name} not found. List ${what}s with \`outbox ${what}s list\``);
  if (ids.length > 1)
    throw new CommandFailed(`several ${what}s are named ${name}: choose one by its id: ${ids.join(', ')}`);
  return id;
};

/** A query with ids instead of the names of domains and keys. @throws {CommandFailed} the domain or key does not exist. */
export const withIds = async <Value>(
  service: Service,
  query: Readonly<Record<string, Value>>,
): Promise<Record<string, Value | string>> => {
  const ids: Record<string, Value | string> = { ...query };
  for (const [parameter, value] of Object.entries(query)) {
    const kind = NAMED[parameter];
    if (kind !== undefined && typeof value === 'string') ids[parameter] = await idOf(service, kind, value);
  }
  return ids;
};

interface ListDescription {
  readonly name: string;
  readonly summary: string;
  readonly path: string;
  /** Query parameters by option. */
  readonly filters?: Readonly<Record<string, string>>;
  /** Fields of the table, or functions of the row, by heading. */
  readonly columns: Readonly<Record<string, string | ((row: Fields) => unknown)>>;
}

const cell = (value: unknown): string | null => {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.map((one) => cell(one) ?? '-').join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

export const listCommand = ({ name, summary, path, filters = {}, columns }: ListDescription): ServiceCommand => ({
  name,
  usage: `${Object.keys(filters)
    .map((option) => `[--${option} VALUE] `)
    .join('')}[--limit N] [--after CURSOR]`,
  summary,
  needs: 'service',
  run: async (service, invocation, terminal) => {
    const given = Object.entries(filters).map(([option, parameter]) => [parameter, optional(invocation, option)]);
    const limit = Math.min(optionalCount(invocation, 'limit') ?? LISTED_DEFAULT, LISTED_MAX);
    const named: Query = await withIds<string | undefined>(service, Object.fromEntries(given));
    const query = { ...named, limit, after: optional(invocation, 'after') };
    const { found, next, hasMore } = await listed(service, path, query);
    noteNext(terminal, { next, hasMore });
    if (terminal.json) return found;
    const rows = found.map((one) =>
      Object.values(columns).map((field) => cell(typeof field === 'string' ? one[field] : field(one))),
    );
    terminal.print({}, () => (rows.length === 0 ? 'none' : table(Object.keys(columns), rows, terminal.columns)));
    return undefined;
  },
});

/** A command that changes or reads one resource by its id. */
export const oneCommand = (
  { what, ...description }: Pick<ServiceCommand, 'name' | 'usage' | 'summary' | 'textOf'> & { readonly what: string },
  ask: (service: Service, id: string, invocation: Invocation) => Promise<Fields | undefined>,
): ServiceCommand => ({
  ...description,
  needs: 'service',
  run: async (service, invocation) => {
    const id = nameIn(invocation, what);
    return (await ask(service, id, invocation)) ?? { [what.split(':')[0] ?? 'id']: decodeURIComponent(id), done: true };
  },
});

export const definedIn = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
