import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { VARIABLES } from '../../src/config.ts';

interface Room {
  /** Folders that it may import in addition to the libraries. */
  readonly folders: readonly string[];
  readonly packages: readonly string[];
}

/** Our own libraries. Each may import only the ones listed here, through their main files, and no product code. */
const LIBRARIES: Readonly<Record<string, Room>> = {
  'lib/async': { folders: [], packages: [] },
  'lib/event-log': {
    folders: ['lib/async', 'lib/postgres', 'lib/transparency'],
    packages: ['@eventstore/db-client', 'pg'],
  },
  'lib/http': { folders: ['lib/async'], packages: [] },
  'lib/html': { folders: ['lib/async'], packages: ['entities', 'lru-cache', 'parse5'] },
  'lib/mime': { folders: ['lib/async', 'lib/html'], packages: ['nodemailer', 'postal-mime'] },
  'lib/postgres': { folders: ['lib/async'], packages: ['pg'] },
  'lib/projections': { folders: ['lib/async', 'lib/event-log'], packages: ['pg', 'pg-copy-streams'] },
  'lib/smtp': {
    folders: ['lib/async', 'lib/mime'],
    packages: ['dns-packet', 'ipaddr.js', 'lru-cache', 'nodemailer', 'smtp-server', 'tldts', 'undici', 'zod'],
  },
  'lib/templates': {
    folders: ['lib/async'],
    packages: ['@css-inline/css-inline-wasm', 'entities', 'liquidjs', 'lru-cache', 'mjml'],
  },
  'lib/transparency': { folders: [], packages: [] },
};

/** Files of a library that others import besides its door. */
const OTHER_DOORS: readonly string[] = [
  // The entry files of threads import it: each thread starts with what it needs and no more.
  'lib/async/serve-tasks.ts',
  // One door for each technology, so that a process loads only the client that it uses.
  'lib/event-log/eventstoredb.ts',
  'lib/event-log/follower.ts',
  'lib/event-log/postgres.ts',
];

/** Allowed imports: the table in docs/contributing.md. */
const TABLE: Readonly<Record<string, Room>> = {
  domain: {
    folders: ['lib/async', 'lib/event-log', 'lib/html', 'lib/mime', 'lib/templates', 'lib/transparency'],
    packages: ['zod', 'ipaddr.js'],
  },
  commands: { folders: ['domain'], packages: ['tldts', 'lru-cache'] },
  projections: { folders: ['domain'], packages: ['pg', 'postgres', 'postgres-shift'] },
  http: {
    folders: ['commands', 'projections', 'domain'],
    packages: [
      'fastify',
      'fastify-type-provider-zod',
      '@fastify/swagger',
      'zod',
      'prom-client',
      'ipaddr.js',
      'lru-cache',
      'papaparse',
      'pdfkit',
      'esbuild',
      '@simplewebauthn/server',
    ],
  },
  dashboard: {
    folders: ['http'],
    packages: [
      'preact',
      '@simplewebauthn/browser',
      '@tanstack/query-core',
      '@tanstack/virtual-core',
      '@codemirror/commands',
      '@codemirror/language',
      '@codemirror/state',
      '@codemirror/view',
      '@lezer/highlight',
      '@lezer/html',
      'zod',
    ],
  },
  submission: { folders: ['http', 'commands', 'domain'], packages: ['smtp-server', 'ipaddr.js'] },
  workers: { folders: ['commands', 'projections', 'domain'], packages: ['lru-cache'] },
  adapters: { folders: ['domain'], packages: ['*'] },
  composition: { folders: ['*'], packages: ['*'] },
  cli: { folders: ['*'], packages: ['*'] },
  'main.ts': { folders: ['*'], packages: ['*'] },
  'config.ts': { folders: ['domain'], packages: ['zod'] },
};

/** Pure functions of the platform that the domain may use. */
const PURE_BUILTINS: Readonly<Record<string, readonly string[]>> = {
  'node:crypto': [
    'createECDH', // with a key that is set
    'createHash',
    'createHmac',
    'createPrivateKey',
    'createPublicKey',
    'hash',
    'KeyObject',
    'sign',
    'timingSafeEqual',
    'verify',
  ],
  'node:zlib': ['crc32'],
  'node:url': ['domainToASCII', 'domainToUnicode'],
};
const IMPURE =
  /\bnew Date\(\)|\bDate\.now\b|\bMath\.random\b|\bperformance\.now\b|\.generateKeys\b|\bprocess\.(?!memoryUsage)/;

/** A snake_case key: a field of the HTTP API, or a row of its error catalogue. */
const API_FIELD = /^\s*(?:readonly )?[a-z]+(?:_[a-z]+)+\??:/m;
/** Spreading an object literal saves lines, but hides the structure of the object. */
const SPREAD_LITERAL = /\.\.\.\{/;
/** Variables named by an ordinary word (`HOST`, `PORT`) are excluded. */
const CONFIG_VARIABLE = new RegExp(`\\b(?:${VARIABLES.filter((name) => name.includes('_')).join('|')})\\b`);

const SRC = new URL('../../src/', import.meta.url).pathname;
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
const IMPORT =
  /^(?:import|export)\s(?<what>[^'";]*?)\sfrom '(?<from>[^']+)'|^import '(?<bare>[^']+)'|\bimport\('(?<dynamic>[^']+)'\)/gm;

interface Import {
  readonly file: string;
  readonly what: string;
  readonly from: string;
}

const importsOf = (file: string): readonly Import[] =>
  [...readFileSync(join(SRC, file), 'utf8').matchAll(IMPORT)].map(({ groups }) => ({
    file,
    what: groups?.what ?? '',
    from: groups?.from ?? groups?.bare ?? groups?.dynamic ?? '',
  }));

/** The first folder of a path, or its library. */
const roomOf = (file: string): string =>
  file
    .split('/')
    .slice(0, file.startsWith('lib/') ? 2 : 1)
    .join('/');
const isLibrary = (room: string): boolean => room.startsWith('lib/');
/** True for folders that list their libraries. The others may import every library. */
const listsLibraries = (room: string): boolean => isLibrary(room) || ['domain', 'dashboard'].includes(room);
const doorOf = (library: string): string => `${library}/${library.slice('lib/'.length)}.ts`;
const ROOMS: Readonly<Record<string, Room>> = { ...LIBRARIES, ...TABLE };
const imports = files.flatMap(importsOf);
const target = ({ file, from }: Import): string => relative(SRC, normalize(join(SRC, dirname(file), from)));
const inside = (each: Import): string => roomOf(target(each));
const packageOf = (from: string): string =>
  from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/');
const allowed = (list: readonly string[], name: string): boolean => list.includes('*') || list.includes(name);
const told = ({ file, from }: Import): string => `${file} imports ${from}`;

/** Modules that each module imports, for values or types. */
const graph = new Map(
  files.map((file) => [
    file,
    imports
      .filter((each) => each.file === file && each.from.startsWith('.'))
      .map(({ from }) => normalize(join(dirname(file), from))),
  ]),
);

/** Every module on an import cycle. */
const onCycles = (): readonly string[] => {
  const reachable = (from: string): ReadonlySet<string> => {
    const seen = new Set<string>();
    const open = [...(graph.get(from) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(graph.get(next) ?? []));
    }
    return seen;
  };
  return files.filter((file) => reachable(file).has(file));
};

describe('the source tree', () => {
  test('has exactly the folders of the table', () => {
    expect([...new Set(files.map(roomOf))].sort()).toEqual(Object.keys(ROOMS).sort());
  });

  test('imports between folders only as the table allows', () => {
    const broken = imports
      .filter(({ from }) => from.startsWith('.'))
      .filter((each) => inside(each) !== roomOf(each.file))
      .filter((each) => !isLibrary(inside(each)) || listsLibraries(roomOf(each.file)))
      .filter((each) => !(isLibrary(inside(each)) && roomOf(each.file) === 'domain' && each.what.startsWith('type ')))
      .filter((each) => !allowed(ROOMS[roomOf(each.file)]?.folders ?? [], inside(each)));
    expect(broken.map(told)).toEqual([]);
  });

  test('imports each library through its entry file', () => {
    const broken = imports
      .filter(({ from }) => from.startsWith('.'))
      .filter((each) => isLibrary(inside(each)) && inside(each) !== roomOf(each.file))
      .filter((each) => target(each) !== doorOf(inside(each)) && !OTHER_DOORS.includes(target(each)));
    expect(broken.map(told)).toEqual([]);
  });

  test('explains each library in a comment of at least ten lines at the top of its entry file', () => {
    const short = Object.keys(LIBRARIES)
      .map(doorOf)
      .filter((door) => !/^\/\*\*\n(?: \*.*\n){10,30} \*\/\n/.test(readFileSync(join(SRC, door), 'utf8')));
    expect(short).toEqual([]);
  });

  test('imports packages into each folder only as the table allows', () => {
    const broken = imports
      .filter(({ from }) => !from.startsWith('.') && !from.startsWith('node:'))
      .filter(({ file, from }) => !allowed(ROOMS[roomOf(file)]?.packages ?? [], packageOf(from)));
    expect(broken.map(told)).toEqual([]);
  });

  test('exposes only types to the dashboard, so that a browser loads no server code', () => {
    const broken = imports
      .filter(({ file, from }) => roomOf(file) === 'dashboard' && (from === 'zod' || from.startsWith('.')))
      .filter((each) => each.from === 'zod' || inside(each) !== 'dashboard')
      .filter(({ what }) => !what.startsWith('type '));
    expect(broken.map(told)).toEqual([]);
  });

  test('imports adapters only where the service is composed', () => {
    const broken = imports
      .filter(({ from }) => from.startsWith('.'))
      .filter(
        (each) =>
          inside(each) === 'adapters' && !['adapters', 'composition', 'cli', 'main.ts'].includes(roomOf(each.file)),
      );
    expect(broken.map(told)).toEqual([]);
  });

  test('keeps the domain free of I/O, the clock and randomness', () => {
    const builtins = imports.filter(({ file, from }) => roomOf(file) === 'domain' && from.startsWith('node:'));
    const broken = builtins.filter(({ what, from }) =>
      what
        .replace(/[{}]|\btype\b/g, ' ')
        .split(',')
        .map((name) => name.trim())
        .some((name) => !(PURE_BUILTINS[from] ?? []).includes(name)),
    );
    expect(broken.map(told)).toEqual([]);
  });

  test('reads the clock and generates randomness only in adapters/system.ts', () => {
    const readers = files
      .filter((file) =>
        ['lib/async', 'lib/projections', 'domain', 'commands', 'projections', 'http', 'submission', 'workers'].includes(
          roomOf(file),
        ),
      )
      .filter((file) => IMPURE.test(readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')));
    expect(readers).toEqual([]);
  });

  test('names no environment variable in the domain and the libraries, and no API field in the domain', () => {
    const naming = (pattern: RegExp, room: string) =>
      files.filter((file) => file.startsWith(`${room}/`) && pattern.test(readFileSync(join(SRC, file), 'utf8'))).sort();
    expect(naming(CONFIG_VARIABLE, 'domain')).toEqual([]);
    expect(naming(CONFIG_VARIABLE, 'lib')).toEqual([]);
    // The error catalogue is keyed by error codes, and the analysis by results of the DNS check. Rows of an access review
    // have the field names of the report that the verifier compares with them.
    expect(naming(API_FIELD, 'domain')).toEqual([
      'domain/analysis/check-headers.ts',
      'domain/audit/report/access-rows.ts',
      'domain/kernel/errors.ts',
    ]);
  });

  test('writes object literals out instead of using spread', () => {
    expect(files.filter((file) => SPREAD_LITERAL.test(readFileSync(join(SRC, file), 'utf8')))).toEqual([]);
  });

  test('registers hooks on requests only in http/server.ts', () => {
    const hook = /addHook\('(?!onListen)/;
    expect(files.filter((file) => hook.test(readFileSync(join(SRC, file), 'utf8')))).toEqual(['http/server.ts']);
  });

  test('reads streams for commands and routes only without events that this service did not write', () => {
    const reads = files.filter((file) => /^(?:commands|http|submission|workers)\//.test(file));
    expect(reads.filter((file) => /\.readStream\(/.test(readFileSync(join(SRC, file), 'utf8'))).sort()).toEqual([
      'commands/adopt-events.ts', // It accepts them.
      'commands/foreign-events.ts',
      'http/compare-leaves.ts', // Where a past state ends. What is read up to there is verified.
      'http/reading.ts', // It wraps a log.
    ]);
  });

  test('has no import cycles, not even between types', () => {
    expect(onCycles()).toEqual([]);
  });
});
