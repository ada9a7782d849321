import { hash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Metafile } from 'esbuild';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../domain/kernel/errors.ts';
import { acceptedIn, isNotModified } from '../lib/http/http.ts';
import type { RouteContext } from './endpoint.ts';

/**
 * Bundles the dashboard from `src/dashboard`. The same sources produce the same bytes and names on every instance.
 * Bundling takes 0.2 to 0.5 s in a child process, which is stopped afterwards. The output is stored next to the compiled
 * modules, and later starts reuse it unless a source has changed.
 */

const SOURCES = fileURLToPath(new URL('../dashboard/', import.meta.url));
const ENTRY = 'main';
/** Detects that another file is missing. A file of its own, so that its name is the same in all versions. */
const WATCH = 'files';
/** URL path of the bundled files. */
const ASSETS_PATH = '/dashboard/assets';

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/dashboard', import.meta.url));

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
  /** From the folder of the sources: a copied installation must not compare with the files of the original. */
  readonly path: string;
  readonly bytes: number;
  /** Time of the last change, ms. */
  readonly changed: number;
}

const sourceAt = async (path: string): Promise<Source> => {
  const { size, mtimeMs } = await stat(join(SOURCES, path));
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

const makeBundle = async (): Promise<StoredBundle> => {
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
    const how = [import.meta.url, import.meta.resolve('esbuild')].map((url) => relative(SOURCES, fileURLToPath(url)));
    const paths = new Set([...bundled, ...how]);
    return { bundle, sources: await Promise.all([...paths].map(sourceAt)) };
  } finally {
    await stop();
  }
};

/** @param cache file in which it is kept. @throws {Error} of esbuild. */
export const readBundle = async (cache: string = CACHE): Promise<Bundle> => {
  const kept = await readKept(cache);
  if (kept !== null) return kept;
  const made = await makeBundle();
  await keep(cache, made);
  return made.bundle;
};

/** The dashboard's page and files as they are served. */

/** One content coding. */
interface Variant {
  /** undefined: as it is. */
  readonly encoding: 'br' | 'gzip' | undefined;
  /** Compressed at the first request, because compressing all files takes as long as bundling them. */
  bytes(): Promise<Buffer>;
}

interface Asset {
  readonly type: string;
  readonly etag: string;
  /** Best first; the last has no coding. */
  readonly variants: readonly Variant[];
}

interface Dashboard {
  readonly page: Asset;
  /** By name, with a hash of their contents in it. */
  readonly assets: ReadonlyMap<string, Asset>;
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  woff2: 'font/woff2',
};
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

const variant = (encoding: Variant['encoding'], make: () => Promise<Buffer>): Variant => {
  let made: Promise<Buffer> | undefined;
  return {
    encoding,
    bytes: () => {
      made ??= make();
      return made;
    },
  };
};

const asset = (bytes: Buffer, type: string): Asset => {
  const plain = variant(undefined, async () => bytes);
  const compressed: readonly Variant[] = type.startsWith('font/')
    ? [] // compressed already
    : [
        variant('br', () => promisify(brotliCompress)(bytes, BROTLI)),
        variant('gzip', () => promisify(gzip)(bytes, { level: 9 })),
      ];
  return { type, etag: `"${hash('sha256', bytes, 'hex').slice(0, 32)}"`, variants: [...compressed, plain] };
};

/** An open box with an arrow out of it. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" fill="none" stroke="#fff" stroke-width="1.5"><rect width="20" height="20" rx="5" fill="#12161d" stroke="none"/><path d="M4.500 10.800 6.800 5.600h6.400l2.300 5.200v3.600h-11zM4.500 10.800h3l.9 1.400h3.200l.9-1.400h3"/></svg>',
)}`;

/** Public: it contains no data of any organization. */
const pageOf = ({ watch, script, style, imported }: Bundle): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Outbox</title>
<link rel="icon" href="${ICON}">
<script src="${ASSETS_PATH}/${watch}"></script>
<link rel="stylesheet" href="${ASSETS_PATH}/${style}">
${imported.map((name) => `<link rel="modulepreload" href="${ASSETS_PATH}/${name}">\n`).join('')}<script type="module" src="${ASSETS_PATH}/${script}"></script>
</head>
<body><div id="root"></div><noscript>The dashboard needs JavaScript. The API is described under /docs.</noscript></body>
</html>
`;

const make = async (): Promise<Dashboard> => {
  const bundle = await readBundle();
  const typeOf = (name: string): string => TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
  const assets = new Map(bundle.files.map(([name, bytes]) => [name, asset(bytes, typeOf(name))]));
  return { page: asset(Buffer.from(pageOf(bundle)), 'text/html; charset=utf-8'), assets };
};

let made: Promise<Dashboard> | undefined;

/** Made once per process. @throws {Error} of esbuild; the next call tries again. */
const readDashboard = (): Promise<Dashboard> => {
  made ??= make().catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  return made;
};

/**
 * Serves the dashboard: one page for all of its screens, and its files. Both are the same for everybody; what a screen
 * shows comes from `/v1` alone. If it cannot be bundled, only these routes fail.
 */

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Browsers must revalidate: after a deployment the same address may serve another version. */
const PAGE_CACHING = 'no-cache';
/** A year. Names change with the contents. */
const ASSET_CACHING = 'public, max-age=31536000, immutable';

/** @throws {DomainError} `unavailable`: it cannot be bundled. */
const load = async ({ deps: { logger } }: RouteContext): Promise<Dashboard> => {
  try {
    return await readDashboard();
  } catch (error) {
    logger.error({ err: error }, 'cannot bundle the dashboard; the API is not affected');
    throw new DomainError('unavailable', 'the dashboard cannot be shown: the log of the service says why');
  }
};

const send = async (
  { type, etag, variants }: Asset,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const accepted = acceptedIn(request.headers['accept-encoding']);
  const variant = variants.find(({ encoding }) => encoding === undefined || accepted.includes(encoding));
  reply.headers({ 'content-type': type, etag, vary: 'Accept-Encoding' });
  if (isNotModified(request.headers, etag)) return reply.code(304).send();
  if (variant?.encoding !== undefined) reply.header('content-encoding', variant.encoding);
  return reply.send(await variant?.bytes());
};

/** Every screen is the same page, which reads the path itself. */
export const dashboardRoute = (route: RouteContext): void => {
  const { server } = route;
  // Not awaited: what waits for the service to listen does not wait for this.
  server.addHook('onListen', async () => {
    load(route).catch(() => undefined); // logged; the next request tries again
  });
  const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { page } = await load(route);
    reply.headers({
      'cache-control': PAGE_CACHING,
      'content-security-policy': POLICY,
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
    });
    return send(page, request, reply);
  };
  server.get('/dashboard', show);
  server.get('/dashboard/:screen', show);
  server.get('/dashboard/:screen/:id', show);
};

export const dashboardAssetRoute = (route: RouteContext): void => {
  route.server.get('/dashboard/assets/:name', async (request, reply) => {
    const { name = '' } = request.params as { readonly name?: string };
    const asset = (await load(route)).assets.get(name);
    if (asset === undefined) throw new DomainError('not_found', 'the dashboard has no such file: reload the page');
    return send(asset, request, reply.header('cache-control', ASSET_CACHING));
  });
};
