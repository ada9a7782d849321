import { type Invocation, optional, optionalCount, type ServiceCommand } from '../command.ts';
import { table } from '../terminal.ts';
import { nameIn } from './messages.ts';
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

/** Reads pages until the limit. */
export const listed = async (
  { ask }: Service,
  path: string,
  { limit, after, ...query }: Query & { readonly limit: number },
): Promise<{ readonly found: readonly Fields[]; readonly next: string | null }> => {
  const found: Fields[] = [];
  let next = typeof after === 'string' ? after : null;
  do {
    const asked = { ...query, limit: Math.min(PAGE, limit - found.length), after: next ?? undefined };
    const { body } = await ask<Page>('GET', path, { query: asked });
    found.push(...body.data);
    next = body.has_more ? body.next_cursor : null;
  } while (next !== null && found.length < limit);
  return { found, next };
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
    const query = { ...Object.fromEntries(given), limit, after: optional(invocation, 'after') };
    const { found, next } = await listed(service, path, query);
    if (terminal.json) return found;
    const rows = found.map((one) =>
      Object.values(columns).map((field) => cell(typeof field === 'string' ? one[field] : field(one))),
    );
    terminal.print({}, () => (rows.length === 0 ? 'none' : table(Object.keys(columns), rows, terminal.columns)));
    if (next !== null) terminal.note(`for more: --after ${next}`);
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
