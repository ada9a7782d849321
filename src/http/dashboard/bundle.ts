import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import type { Metafile } from 'esbuild';

/**
 * Bundles the dashboard from `src/dashboard`. The same sources produce the same bytes and names on every instance.
 * Bundling takes 0.2 to 0.5 s in a child process, which is stopped afterwards. The output is stored next to the compiled
 * modules, and later starts reuse it unless a source has changed.
 */

const SOURCES = fileURLToPath(new URL('../../dashboard/', import.meta.url));
const ENTRY = 'main';
/** Detects that another file is missing. A file of its own, so that its name is the same in all versions. */
const WATCH = 'files';
/** URL path of the bundled files. */
export const ASSETS_PATH = '/dashboard/assets';

const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/dashboard', import.meta.url));

/** Names have a hash of the contents in them. */
export interface Bundle {
  readonly files: readonly (readonly [name: string, bytes: Buffer])[];
  readonly watch: string;
  readonly script: string;
  readonly style: string;
  /** Modules that the script imports. The page names them, or browsers would request them only after the script. */
  readonly imported: readonly string[];
}

/** A bundle, and what it was made of. */
export interface StoredBundle {
  readonly bundle: Bundle;
  readonly sources: readonly Source[];
}

interface Source {
  readonly path: string;
  readonly bytes: number;
  /** Time of the last change, ms. */
  readonly changed: number;
}

const sourceAt = async (path: string): Promise<Source> => {
  const { size, mtimeMs } = await stat(path);
  return { path, bytes: size, changed: mtimeMs };
};

const isUnchanged = async ({ path, bytes, changed }: Source): Promise<boolean> => {
  const now = await sourceAt(path);
  return now.bytes === bytes && now.changed === changed;
};

/** @returns null: none is kept, or a source has changed. */
const readKept = async (cache: string): Promise<Bundle | null> => {
  try {
    const { bundle, sources } = deserialize(await readFile(cache)) as StoredBundle;
    return (await Promise.all(sources.map(isUnchanged))).every(Boolean) ? bundle : null;
  } catch {
    return null;
  }
};

/** Whole or not at all. Where the folder is not writable, nothing is kept. */
const keep = async (cache: string, kept: StoredBundle): Promise<void> => {
  const made = `${cache}.${randomUUID()}`;
  try {
    await mkdir(dirname(cache), { recursive: true });
    await writeFile(made, serialize(kept));
    await rename(made, cache);
  } catch {}
};

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Names of what a file imports at once. */
const importedBy = ({ outputs }: Metafile, name: string): readonly string[] =>
  Object.entries(outputs)
    .filter(([path]) => nameOf(path) === name)
    .flatMap(([, { imports }]) => imports)
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => nameOf(path));

const make = async (): Promise<StoredBundle> => {
  const { build, stop } = await import('esbuild');
  try {
    const common = {
      absWorkingDir: SOURCES,
      outdir: `${SOURCES}out`,
      write: false,
      bundle: true,
      minify: true,
      target: 'es2022',
      entryNames: '[name]-[hash]',
      logLevel: 'silent',
      metafile: true,
    } as const;
    const [watch, screens] = await Promise.all([
      build({ ...common, entryPoints: { [WATCH]: `${SOURCES}files.ts` }, format: 'iife' }),
      build({
        ...common,
        entryPoints: { [ENTRY]: `${SOURCES}main.tsx` },
        splitting: true,
        format: 'esm',
        jsx: 'automatic',
        jsxImportSource: 'preact',
        loader: { '.woff2': 'file' },
        chunkNames: 'chunk-[hash]',
        assetNames: '[name]-[hash]',
        publicPath: ASSETS_PATH,
      }),
    ]);
    const files = [...watch.outputFiles, ...screens.outputFiles].map(
      ({ path, contents }) => [nameOf(path), Buffer.from(contents)] as const,
    );
    const entry = (named: string, extension: string): string =>
      files.find(([name]) => name.startsWith(`${named}-`) && name.endsWith(extension))?.[0] ?? '';
    const script = entry(ENTRY, '.js');
    const bundle: Bundle = {
      files,
      watch: entry(WATCH, '.js'),
      script,
      style: entry(ENTRY, '.css'),
      imported: importedBy(screens.metafile, script),
    };
    const bundled = [...Object.keys(watch.metafile.inputs), ...Object.keys(screens.metafile.inputs)];
    const how = [import.meta.url, import.meta.resolve('esbuild')].map((url) => fileURLToPath(url));
    const paths = new Set([...bundled.map((path) => join(SOURCES, path)), ...how]);
    return { bundle, sources: await Promise.all([...paths].map(sourceAt)) };
  } finally {
    await stop();
  }
};

/** @param cache file in which it is kept. @throws {Error} of esbuild. */
export const readBundle = async (cache: string = CACHE): Promise<Bundle> => {
  const kept = await readKept(cache);
  if (kept !== null) return kept;
  const made = await make();
  await keep(cache, made);
  return made.bundle;
};
