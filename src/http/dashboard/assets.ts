import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Metafile } from 'esbuild';

/**
 * The dashboard's files, bundled in memory from `src/dashboard`. The same sources make the same bytes and names on every
 * instance. Bundling takes 0.2 to 0.5 s of a child process, which is stopped afterwards.
 */

const SOURCES = fileURLToPath(new URL('../../dashboard/', import.meta.url));
const ENTRY = 'main';
/** Sees that another file is missing. Stands alone, so that versions have it under one name. */
const WATCH = 'files';
/** Where browsers find what is bundled. */
export const ASSETS_PATH = '/dashboard/assets';

/** One content coding. */
export interface Variant {
  /** undefined: as it is. */
  readonly encoding: 'br' | 'gzip' | undefined;
  /** Compressed when they are first asked for: all files together take as long as bundling them. */
  bytes(): Promise<Buffer>;
}

export interface Asset {
  readonly type: string;
  readonly etag: string;
  /** Best first; the last has no coding. */
  readonly variants: readonly Variant[];
}

export interface Dashboard {
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

/** The same for everybody: it holds nothing of any organization. */
interface Entries {
  readonly watch: string;
  readonly script: string;
  readonly style: string;
  /** What the script imports: without being named here it is asked for only once the script has come. */
  readonly imported: readonly string[];
}

const pageOf = ({ watch, script, style, imported }: Entries): string => `<!doctype html>
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

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Names of what a file imports at once. */
const importedBy = ({ outputs }: Metafile, name: string): readonly string[] =>
  Object.entries(outputs)
    .filter(([path]) => nameOf(path) === name)
    .flatMap(([, { imports }]) => imports)
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => nameOf(path));

const bundle = async (): Promise<Dashboard> => {
  const { build, stop } = await import('esbuild');
  try {
    const common = {
      outdir: `${SOURCES}out`,
      write: false,
      bundle: true,
      minify: true,
      target: 'es2022',
      entryNames: '[name]-[hash]',
      logLevel: 'silent',
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
        metafile: true,
      }),
    ]);
    const assets = new Map(
      [...watch.outputFiles, ...screens.outputFiles].map(({ path, contents }): readonly [string, Asset] => {
        const type = TYPES[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
        return [nameOf(path), asset(Buffer.from(contents), type)];
      }),
    );
    const entry = (named: string, extension: string): string =>
      [...assets.keys()].find((name) => name.startsWith(`${named}-`) && name.endsWith(extension)) ?? '';
    const script = entry(ENTRY, '.js');
    const html = pageOf({
      watch: entry(WATCH, '.js'),
      script,
      style: entry(ENTRY, '.css'),
      imported: importedBy(screens.metafile, script),
    });
    const page = asset(Buffer.from(html), 'text/html; charset=utf-8');
    return { page, assets };
  } finally {
    await stop();
  }
};

let bundled: Promise<Dashboard> | undefined;

/** Bundles once per process. @throws {Error} of esbuild; the next call tries again. */
export const bundleDashboard = (): Promise<Dashboard> => {
  bundled ??= bundle().catch((error: unknown) => {
    bundled = undefined;
    throw error;
  });
  return bundled;
};
