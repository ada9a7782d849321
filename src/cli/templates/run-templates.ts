import { z } from 'zod';
import { type Difference, differencesOf } from '../../domain/template/differences.ts';
import { atOnce } from '../../lib/async/async.ts';
import type { Invocation, Result, ServiceCommand } from '../command.ts';
import { type Answer, checked, type Service, ServiceRefused } from '../customer/service.ts';
import { type Progress, UsageError } from '../terminal.ts';
import {
  digestOf,
  LOCALE,
  type LocalTemplate,
  type Lock,
  normalTemplate,
  readTemplates,
  requireAlias,
  type Template,
  writeLock,
  writeTemplate,
} from './files.ts';

/** Client for the templates of a running service. */

interface RemoteTemplate {
  readonly template: Template;
  readonly hasDraft: boolean;
  readonly etag: string;
}

const PAGE = 100;

const text = z.string();
const localized = { subject: text, html: text, text: text.nullable(), preheader: text.nullable() };
const templateSchema = z.object({
  name: text,
  description: text.nullable(),
  has_draft: z.boolean(),
  content: z.object({
    ...localized,
    from: text.nullable(),
    reply_to: z.array(text),
    layout: text.nullable(),
    format: z.enum(['html', 'mjml']),
    inline_css: z.boolean(),
    variables: z.array(z.record(text, z.unknown())),
    locales: z.record(text.regex(LOCALE), z.object(localized)),
  }),
});
const listSchema = z.object({ data: z.array(z.object({ alias: text })), next_cursor: text.nullable() });
const versionSchema = z.object({ version: z.number() });

const BASE = '/v1/templates';

const remote = (answer: Answer<unknown>): RemoteTemplate => {
  const { name, description, has_draft: hasDraft, content } = checked(templateSchema, answer);
  return {
    template: normalTemplate({ name, description, ...content }),
    hasDraft,
    etag: answer.headers.get('etag') ?? '',
  };
};

const templatesOf = ({ ask, target }: Service) => {
  const { origin } = new URL(target.url);
  return {
    origin,
    /** All templates by alias. */
    list: async (): Promise<ReadonlyMap<string, RemoteTemplate>> => {
      const found = new Map<string, RemoteTemplate>();
      for (let after: string | null = ''; after !== null; ) {
        const page: z.output<typeof listSchema> = checked(
          listSchema,
          await ask('GET', BASE, { query: { limit: PAGE, after: after || undefined } }),
        );
        for (const { alias } of page.data) {
          requireAlias(alias);
          found.set(alias, remote(await ask('GET', `${BASE}/${alias}`)));
        }
        after = page.next_cursor;
      }
      return found;
    },
    create: async (alias: string, template: Template): Promise<RemoteTemplate> =>
      remote(await ask('POST', BASE, { body: { alias, ...template } })),
    /** @throws {ServiceRefused} 412 if the template has changed since. */
    change: async (alias: string, template: Template, etag: string): Promise<RemoteTemplate> =>
      remote(await ask('PATCH', `${BASE}/${alias}`, { body: template, ifMatch: etag })),
    /** @returns the version number. @throws {ServiceRefused} 412 if the template has changed since. */
    publish: async (alias: string, etag: string): Promise<number> =>
      checked(versionSchema, await ask('POST', `${BASE}/${alias}/publish`, { ifMatch: etag })).version,
  };
};

type TemplatesApi = ReturnType<typeof templatesOf>;

/**
 * Templates as files: `pull`, `push` and `diff`. A template's lock records the last common state of files and service,
 * which distinguishes a one-sided change from a conflict. Templates are written as a whole, under `If-Match`.
 */

export interface Row {
  readonly template: string;
  readonly result: string;
  readonly version?: number;
  readonly details?: readonly string[];
  readonly changes?: readonly Difference[];
}

interface Pair {
  readonly alias: string;
  readonly local: LocalTemplate | undefined;
  readonly remote: RemoteTemplate | undefined;
}

type Comparison = 'same' | 'changed here' | 'changed there' | 'conflict';

/** Finds the side that has changed since the last common state. */
const comparisonOf = ({ local, remote }: Pair, origin: string): Comparison => {
  const base = local?.lock[origin];
  const [here, there] = [local, remote].map((each) => (each === undefined ? undefined : digestOf(each.template)));
  if (here === there) return 'same';
  if (there === base) return 'changed here';
  return here === undefined || here === base ? 'changed there' : 'conflict';
};

interface Work {
  readonly api: TemplatesApi;
  readonly root: string;
  readonly isDry: boolean;
  readonly publishes: boolean;
  readonly overwrites: boolean;
}

const open = async (
  service: Service,
  invocation: Invocation,
  canBeAbsent = false,
): Promise<{ work: Work; pairs: readonly Pair[] }> => {
  const [root, more] = invocation.positionals;
  if (root === undefined || more !== undefined) throw new UsageError('expected one folder');
  const api = templatesOf(service);
  const locals = await readTemplates(root, canBeAbsent);
  const remotes = await api.list();
  const aliases = [...new Set([...locals.keys(), ...remotes.keys()])].sort();
  const is = (option: string): boolean => invocation.values[option] === true;
  return {
    work: { api, root, isDry: is('dry-run'), publishes: is('publish'), overwrites: is('overwrite') },
    pairs: aliases.map((alias) => ({ alias, local: locals.get(alias), remote: remotes.get(alias) })),
  };
};

const conflict = (alias: string, why: string): Row => ({ template: alias, result: 'conflict', details: [why] });
const CHANGED_THERE = 'changed on the service since the last pull or push: pull first, or push with --overwrite';

/** @param act its errors become rows, so that the remaining templates are processed. */
const rowOf = async (alias: string, act: () => Promise<Row>): Promise<Row> => {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ServiceRefused)) throw error;
    if (error.status === 412 || error.status === 409) return conflict(alias, CHANGED_THERE);
    return { template: alias, result: 'refused', details: error.sentences };
  }
};

/** Sorts layouts before the templates that use them, which require a published layout. */
const layoutsFirst = (pairs: readonly Pair[]): readonly Pair[] => {
  const byAlias = new Map(pairs.map((pair) => [pair.alias, pair]));
  const ordered = new Set<Pair>();
  const add = (pair: Pair, users: readonly Pair[]): void => {
    const layout = byAlias.get(pair.local?.template.layout ?? '');
    if (layout !== undefined && !users.includes(layout)) add(layout, [...users, pair]);
    ordered.add(pair);
  };
  for (const pair of pairs) add(pair, [pair]);
  return [...ordered];
};

const lockOf = ({ api }: Work, { lock, template }: LocalTemplate) => ({ ...lock, [api.origin]: digestOf(template) });

const send = async ({ api }: Work, { alias, remote }: Pair, local: LocalTemplate): Promise<RemoteTemplate> =>
  remote === undefined ? await api.create(alias, local.template) : await api.change(alias, local.template, remote.etag);

const pushChanged = async (work: Work, pair: Pair, local: LocalTemplate): Promise<Row> => {
  const { alias: template, remote } = pair;
  if (work.isDry) return { template, result: remote === undefined ? 'to create' : 'to change' };
  const sent = await send(work, pair, local);
  await writeLock(work.root, template, lockOf(work, local));
  if (work.publishes) return { template, result: 'published', version: await work.api.publish(template, sent.etag) };
  return { template, result: remote === undefined ? 'created' : 'changed' };
};

const pushSame = async (work: Work, { alias: template, remote }: Pair, local: LocalTemplate): Promise<Row> => {
  const publishes = work.publishes && remote?.hasDraft === true;
  if (work.isDry) return { template, result: publishes ? 'to publish' : 'unchanged' };
  if (local.lock[work.api.origin] !== digestOf(local.template))
    await writeLock(work.root, template, lockOf(work, local));
  if (!publishes) return { template, result: 'unchanged' };
  return { template, result: 'published', version: await work.api.publish(template, remote.etag) };
};

const push = async (work: Work, pair: Pair): Promise<Row> => {
  const { alias, local } = pair;
  if (local === undefined) return { template: alias, result: 'not here' };
  const comparison = comparisonOf(pair, work.api.origin);
  if (comparison === 'same') return pushSame(work, pair, local);
  if (comparison === 'changed here' || work.overwrites) return pushChanged(work, pair, local);
  return conflict(alias, pair.remote === undefined ? 'deleted on the service: push with --overwrite' : CHANGED_THERE);
};

/** Updates the lock if it does not record the common state yet. */
const pullSame = async (work: Work, { alias: template, local }: Pair, lock: Lock): Promise<Row> => {
  if (!work.isDry && local?.lock[work.api.origin] !== lock[work.api.origin]) await writeLock(work.root, template, lock);
  return { template, result: 'unchanged' };
};

const pull = async (work: Work, pair: Pair): Promise<Row> => {
  const { alias: template, local, remote } = pair;
  if (remote === undefined) return { template, result: 'not on the service' };
  const lock = { ...local?.lock, [work.api.origin]: digestOf(remote.template) };
  const comparison = comparisonOf(pair, work.api.origin);
  if (comparison === 'same') return pullSame(work, pair, lock);
  if (comparison === 'changed here' && !work.overwrites) return { template, result: 'changed here' };
  if (comparison === 'conflict' && !work.overwrites)
    return conflict(template, 'changed here and on the service: pull with --overwrite to discard the local changes');
  if (work.isDry) return { template, result: 'to write' };
  await writeTemplate(work.root, template, remote.template, lock);
  return { template, result: 'written' };
};

const compare = ({ alias, local, remote }: Pair): readonly Row[] => {
  if (remote === undefined) return [{ template: alias, result: 'only here' }];
  if (local === undefined) return [{ template: alias, result: 'only on the service' }];
  const changes = atOnce(differencesOf({ ...remote.template }, { ...local.template }));
  return changes.length === 0 ? [] : [{ template: alias, result: 'differs', changes }];
};

const rows = (found: readonly Row[]): Result => found.map((row) => ({ ...row }));

const inTurn = async (
  pairs: readonly Pair[],
  work: (pair: Pair) => Promise<Row>,
  progress: Progress,
): Promise<Result> => {
  const done: Row[] = [];
  try {
    for (const pair of pairs) {
      done.push(await work(pair));
      progress.at(done.length, pairs.length, 'templates');
    }
    return rows(done);
  } finally {
    progress.end();
  }
};

/** Writes the service's templates to files. */
export const runPull: ServiceCommand['run'] = async (service, invocation, terminal) => {
  const { work, pairs } = await open(service, invocation, true);
  return inTurn(pairs, (pair) => pull(work, pair), terminal.progress('pull'));
};

/** Uploads files as drafts. */
export const runPush: ServiceCommand['run'] = async (service, invocation, terminal) => {
  const { work, pairs } = await open(service, invocation);
  const each = (pair: Pair): Promise<Row> => rowOf(pair.alias, () => push(work, pair));
  return inTurn(layoutsFirst(pairs), each, terminal.progress('push'));
};

export const runDiff: ServiceCommand['run'] = async (service, invocation) =>
  rows((await open(service, invocation)).pairs.flatMap(compare));
