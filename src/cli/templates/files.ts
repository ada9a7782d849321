import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import { sha256Hex } from '../../domain/kernel/digest.ts';
import { LIST_KNOWN_FIELDS, sentencesIn } from '../../http/problems.ts';
import { canonicalJson } from '../../lib/transparency/transparency.ts';
import { replaceFile } from '../replace-file.ts';
import { CommandFailed } from '../terminal.ts';

/**
 * Templates as files: `welcome/{template.yaml, template.html | template.mjml, text.liquid, template.lock}` and, per
 * language, `welcome/locales/de/{template.html, text.liquid}`. Links are never followed, and each file is replaced
 * atomically.
 */

interface LocalizedTemplate {
  readonly subject: string;
  readonly html: string;
  readonly text: string | null;
  readonly preheader: string | null;
}

/** A template without its alias, with the API's field names. */
export interface Template extends LocalizedTemplate {
  readonly name: string;
  readonly description: string | null;
  readonly from: string | null;
  readonly reply_to: readonly string[];
  readonly layout: string | null;
  readonly format: 'html' | 'mjml';
  readonly inline_css: boolean;
  readonly variables: readonly Readonly<Record<string, unknown>>[];
  readonly locales: Readonly<Record<string, LocalizedTemplate>>;
}

/** The last common state of files and service: digests by service address. */
export type Lock = Readonly<Record<string, string>>;

export interface LocalTemplate {
  readonly template: Template;
  readonly lock: Lock;
}

/** Higher than the service's limit for one part, and low enough to bound memory. */
const FILE_BYTES_MAX = 1_000_000;
const ALIAS = /^[a-z0-9-]{1,64}$/;
export const LOCALE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}$/;
const LOCK = 'template.lock';
const SETTINGS = 'template.yaml';
const SOURCES = { html: 'template.html', mjml: 'template.mjml' } as const;
const TEXT = 'text.liquid';

const nullable = z.string().nullable().default(null);
const settingsSchema = z.strictObject({
  name: z.string(),
  description: nullable,
  subject: z.string(),
  preheader: nullable,
  from: nullable,
  reply_to: z.array(z.string()).default([]),
  layout: nullable,
  inline_css: z.boolean().default(false),
  variables: z
    .array(
      z.strictObject({
        name: z.string(),
        type: z.string(),
        required: z.boolean().default(true),
        default: z.unknown().optional(),
        example: z.unknown().optional(),
        description: z.string().optional(),
      }),
    )
    .default([]),
  locales: z.record(z.string().regex(LOCALE), z.strictObject({ subject: z.string(), preheader: nullable })).default({}),
});
type Settings = z.output<typeof settingsSchema>;

/** Ignores CRLF line ends and the final line feed that editors add. */
const normalText = (text: string): string => text.replaceAll('\r\n', '\n').replace(/\n$/, '');

const normalLocalized = ({ subject, html, text, preheader }: LocalizedTemplate): LocalizedTemplate => ({
  subject,
  html: normalText(html),
  text: text === null ? null : normalText(text),
  preheader,
});

export const normalTemplate = (template: Template): Template => ({
  ...template,
  ...normalLocalized(template),
  locales: Object.fromEntries(Object.entries(template.locales).map(([tag, each]) => [tag, normalLocalized(each)])),
});

export const digestOf = (template: Template): string => sha256Hex(canonicalJson(template));

/** @throws {CommandFailed} if the alias is not a valid folder name. */
export const requireAlias = (alias: string): void => {
  if (!ALIAS.test(alias)) throw new CommandFailed(`'${alias}' is not a valid alias: use 1 to 64 of a-z, 0-9 and -`);
};

const problem = (path: string, sentence: string): CommandFailed => new CommandFailed(`${path}: ${sentence}`);
const isErrno = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException)?.code === code;

/** The file's text; null if it does not exist. @throws {CommandFailed} if it is a link, too large or not UTF-8. */
const readText = async (path: string): Promise<string | null> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error) => {
    if (isErrno(error, 'ENOENT')) return null;
    throw problem(path, isErrno(error, 'ELOOP') ? 'is a symbolic link' : 'cannot be read');
  });
  if (file === null) return null;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw problem(path, 'is not a file');
    if (stats.size > FILE_BYTES_MAX) throw problem(path, `is larger than ${FILE_BYTES_MAX} bytes`);
    return normalText(new TextDecoder('utf-8', { fatal: true }).decode(await file.readFile()));
  } catch (error) {
    throw error instanceof TypeError ? problem(path, 'is not UTF-8') : error;
  } finally {
    await file.close();
  }
};

/** True if the folder exists. @throws {CommandFailed} if it is a link or not a folder. */
const hasFolder = async (path: string): Promise<boolean> => {
  const stats = await lstat(path).catch(() => null);
  if (stats?.isSymbolicLink() === true) throw problem(path, 'is a symbolic link');
  if (stats !== null && !stats.isDirectory()) throw problem(path, 'is not a folder');
  return stats !== null;
};

const parseSettings = (path: string, text: string): Settings => {
  const document = parseDocument(text, { schema: 'core', logLevel: 'error' });
  const [first] = document.errors;
  if (first !== undefined) throw problem(path, first.message);
  const toValue = (): unknown => {
    try {
      return document.toJS({ maxAliasCount: 0 });
    } catch {
      throw problem(path, 'YAML aliases (*name) are not supported');
    }
  };
  const value = toValue();
  const parsed = settingsSchema.safeParse(value, LIST_KNOWN_FIELDS);
  if (parsed.success) return parsed.data;
  const sentences = sentencesIn(parsed.error.issues, value).map((one) => one.replace(/^body /, 'the file '));
  throw problem(path, sentences.join('; '));
};

type Format = Template['format'];

const readParts = async (folder: string, format: Format): Promise<Pick<LocalizedTemplate, 'html' | 'text'>> => {
  const html = await readText(join(folder, SOURCES[format]));
  if (html === null) throw problem(join(folder, SOURCES[format]), 'is missing');
  return { html, text: await readText(join(folder, TEXT)) };
};

const readLocales = async (
  folder: string,
  settings: Settings['locales'],
  format: Format,
): Promise<Template['locales']> => {
  const there = (await hasFolder(folder)) ? await readdir(folder, { withFileTypes: true }) : [];
  const unnamed = there.find((each) => each.isDirectory() && !Object.hasOwn(settings, each.name));
  if (unnamed !== undefined) throw problem(join(folder, unnamed.name), `is not among the locales of ${SETTINGS}`);
  const locales: Record<string, LocalizedTemplate> = {};
  for (const [tag, { subject, preheader }] of Object.entries(settings)) {
    await hasFolder(join(folder, tag));
    locales[tag] = { subject, preheader, ...(await readParts(join(folder, tag), format)) };
  }
  return locales;
};

const readLock = async (path: string): Promise<Lock> => {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse((await readText(path)) ?? '{}'));
  } catch (error) {
    throw error instanceof CommandFailed ? error : problem(path, 'was not written by push or pull: delete it');
  }
};

const readTemplate = async (folder: string): Promise<LocalTemplate | null> => {
  const text = await readText(join(folder, SETTINGS));
  if (text === null) return null;
  const { locales, ...settings } = parseSettings(join(folder, SETTINGS), text);
  const isThere = async (name: string): Promise<boolean> => (await readText(join(folder, name))) !== null;
  const format: Format = (await isThere(SOURCES.mjml)) ? 'mjml' : 'html';
  if (format === 'mjml' && (await isThere(SOURCES.html)))
    throw problem(folder, 'has both HTML and MJML: delete one of them');
  const parts = await readParts(folder, format);
  const template = {
    ...settings,
    ...parts,
    format,
    locales: await readLocales(join(folder, 'locales'), locales, format),
  };
  return { template, lock: await readLock(join(folder, LOCK)) };
};

interface Entry {
  readonly name: string;
  isSymbolicLink(): boolean;
  isDirectory(): boolean;
}

const readEntry = async (root: string, entry: Entry): Promise<LocalTemplate | null> => {
  if (entry.isSymbolicLink()) throw problem(join(root, entry.name), 'is a symbolic link');
  const local = entry.isDirectory() ? await readTemplate(join(root, entry.name)) : null;
  if (local !== null) requireAlias(entry.name);
  return local;
};

/**
 * Reads the templates of a folder by alias. Folders without `template.yaml` are skipped.
 * @param canBeAbsent true: a missing folder is treated as empty.
 * @throws {CommandFailed} naming each file.
 */
export const readTemplates = async (
  root: string,
  canBeAbsent: boolean,
): Promise<ReadonlyMap<string, LocalTemplate>> => {
  const problems: string[] = [];
  const noted = (error: unknown): null => {
    if (!(error instanceof CommandFailed)) throw error;
    problems.push(error.message);
    return null;
  };
  const entries = await readdir(root, { withFileTypes: true }).catch((error) => {
    if (canBeAbsent && isErrno(error, 'ENOENT')) return [];
    throw problem(root, 'is not a readable folder');
  });
  const templates = new Map<string, LocalTemplate>();
  for (const entry of entries.filter(({ name }) => !name.startsWith('.'))) {
    const local = await readEntry(root, entry).catch(noted);
    if (local !== null) templates.set(entry.name, local);
  }
  if (problems.length > 0) throw new CommandFailed(problems.join('\n'));
  return templates;
};

/** Writes templates as files. Other files in their folders stay unchanged. */

const withoutDefaults = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([, value]) =>
        value !== null && value !== false && !(typeof value === 'object' && Object.keys(value).length === 0),
    ),
  );

const settingsText = ({ html: _, text: __, format: ___, locales, ...fields }: Template): string =>
  stringify(
    withoutDefaults({
      ...fields,
      locales: Object.fromEntries(
        Object.entries(locales).map(([tag, { subject, preheader }]) => [tag, withoutDefaults({ subject, preheader })]),
      ),
    }),
    { lineWidth: 0 },
  );

const writeParts = async (folder: string, { html, text }: LocalizedTemplate, format: Format): Promise<void> => {
  await replaceFile(join(folder, SOURCES[format]), `${html}\n`);
  await rm(join(folder, SOURCES[format === 'html' ? 'mjml' : 'html']), { force: true });
  if (text === null) await rm(join(folder, TEXT), { force: true });
  else await replaceFile(join(folder, TEXT), `${text}\n`);
};

const removeLocale = async (folder: string): Promise<void> => {
  for (const name of [...Object.values(SOURCES), TEXT]) await rm(join(folder, name), { force: true });
  await rmdir(folder).catch(() => undefined); // keeps a folder that has other files
};

/** Records the common state of files and service. */
export const writeLock = async (root: string, alias: string, lock: Lock): Promise<void> =>
  replaceFile(join(root, alias, LOCK), `${JSON.stringify(lock, null, 2)}\n`);

/**
 * Writes a template's files and then its lock. After an interruption, the next pull sees changed files.
 * @throws {CommandFailed} if a link is in place of a folder.
 */
export const writeTemplate = async (root: string, alias: string, template: Template, lock: Lock): Promise<void> => {
  requireAlias(alias);
  const folder = join(root, alias);
  const localesFolder = join(folder, 'locales');
  const before = (await hasFolder(folder)) && (await hasFolder(localesFolder)) ? await readdir(localesFolder) : [];
  for (const tag of before) await hasFolder(join(localesFolder, tag));
  await mkdir(folder, { recursive: true });
  for (const tag of before.filter((each) => !Object.hasOwn(template.locales, each)))
    await removeLocale(join(localesFolder, tag));
  for (const [tag, localized] of Object.entries(template.locales)) {
    await mkdir(join(localesFolder, tag), { recursive: true });
    await writeParts(join(localesFolder, tag), localized, template.format);
  }
  await writeParts(folder, template, template.format);
  await replaceFile(join(folder, SETTINGS), settingsText(template));
  await writeLock(root, alias, lock);
};
