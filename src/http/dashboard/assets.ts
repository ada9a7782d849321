import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { ASSETS_PATH, type Bundle, readBundle } from './bundle.ts';

/** The dashboard's page and files as they are served. */

/** One content coding. */
export interface Variant {
  /** undefined: as it is. */
  readonly encoding: 'br' | 'gzip' | undefined;
  /** Compressed at the first request, because compressing all files takes as long as bundling them. */
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
export const readDashboard = (): Promise<Dashboard> => {
  made ??= make().catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  return made;
};
