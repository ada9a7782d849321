import { mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { replaceFile } from '../replace-file.ts';
import {
  type Format,
  hasFolder,
  LOCK,
  type LocalizedTemplate,
  type Lock,
  requireAlias,
  SETTINGS,
  SOURCES,
  TEXT,
  type Template,
} from './files.ts';

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
