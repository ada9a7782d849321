import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SECRET_KEY } from '../support/place-for-test.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

/**
 * A separate package: openapi-typescript needs TypeScript 5, and the generators bring hundreds of packages that have no
 * other use.
 */
const CLIENTS = new URL('openapi-clients', import.meta.url).pathname;
const README = new URL('../../README.md', import.meta.url).pathname;
const PAGE = new URL('../../docs/generated-clients.md', import.meta.url).pathname;
const INSTALL_MS_MAX = 300_000;

const run = promisify(execFile);
let folder: string;
let data: Awaited<ReturnType<typeof newDataDir>>;
let database: TestDatabase;
let program: Program;
let readme: string;
let page: string;

const inFolder = async (...command: readonly string[]): Promise<string> =>
  (await run(process.execPath, [...command], { cwd: folder, maxBuffer: 10_000_000 })).stdout;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openapi-clients-'));
  await cp(CLIENTS, folder, { recursive: true });
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  data = await newDataDir();
  database = await freshDatabase();
  program = await startProgram({ dataDir: data.path, env: { DATABASE_URL: database.url, SECRET_KEY } });
  await writeFile(join(folder, 'openapi.json'), await (await fetch(`${program.baseUrl}/openapi.json`)).text());
  readme = await readFile(README, 'utf8');
  page = await readFile(PAGE, 'utf8');
}, INSTALL_MS_MAX);
afterAll(async () => {
  await program.end('SIGTERM');
  await database.drop();
  await data.remove();
  await rm(folder, { recursive: true, force: true });
});

const STRICT = '--strict --noUncheckedIndexedAccess --noImplicitOverride';
const COMPILER = `--noEmit ${STRICT} --target es2022 --module preserve --lib es2023,dom,dom.iterable --types node`;
const EXACT = '--exactOptionalPropertyTypes';

/** Compiler errors in programs that use the generated types, each line with the name of its file. Empty: none. */
const compiled = async (programs: Readonly<Record<string, string>>, more: readonly string[] = []): Promise<string> => {
  const files = Object.keys(programs).map((name) => `${name}.ts`);
  for (const [name, text] of Object.entries(programs)) await writeFile(join(folder, `${name}.ts`), text);
  const compiler = join('node_modules', 'typescript', 'bin', 'tsc');
  try {
    return await inFolder(compiler, ...COMPILER.split(' '), ...more, ...files);
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
};

interface Generator {
  /** Script of the package, and its arguments. */
  readonly command: readonly string[];
  /** Sends a message, prints its id and subject as read back, and the code of an error. */
  readonly program: string;
  readonly options: readonly string[];
}

const MESSAGE = `{ from: 'hello@example.test', to: 'you@example.net', subject: 'Your order', text: 'Thank you.' }`;
const SETTINGS = `
const baseUrl = process.env.OUTBOX_URL ?? '';
const headers = { Authorization: \`Bearer \${process.env.OUTBOX_KEY}\` };
`;

/** Each program relies on the types of its client: what a response holds is known by its status alone. */
const GENERATORS: Readonly<Record<string, Generator>> = {
  'openapi-typescript': {
    command: ['openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'outbox.ts'],
    program: `
import createClient from 'openapi-fetch';
import type { paths } from './outbox';
${SETTINGS}
const outbox = createClient<paths>({ baseUrl, headers });
const { data: sent } = await outbox.POST('/v1/messages/send', { body: ${MESSAGE} });
const { data } = await outbox.GET('/v1/messages/{id}', { params: { path: { id: sent?.id ?? '' } } });
const { error } = await outbox.GET('/v1/messages/{id}', { params: { path: { id: 'none' } } });
console.log(data?.id === sent?.id, data?.subject, error?.error.code);`,
    options: [EXACT],
  },
  '@hey-api/openapi-ts': {
    command: ['@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'hey-api'],
    program: `
import { getMessage, sendMessage } from './hey-api';
import { client } from './hey-api/client.gen';
${SETTINGS}
client.setConfig({ baseUrl, headers });
const { data: sent } = await sendMessage({ body: ${MESSAGE} });
const { data } = await getMessage({ path: { id: sent?.id ?? '' } });
const { error } = await getMessage({ path: { id: 'none' } });
console.log(data?.id === sent?.id, data?.subject, error?.error.code);`,
    options: [], // its own runtime does not compile under EXACT
  },
  orval: {
    command: ['orval/dist/bin/orval.mjs', '--config', 'orval.config.json'],
    program: `
import { getMessage, sendMessage } from './orval';
${SETTINGS}
const sent = await sendMessage(${MESSAGE}, { headers });
const id = sent.status === 202 ? sent.data.id : '';
const read = await getMessage(id, undefined, { headers });
const none = await getMessage('none', undefined, { headers });
if (read.status !== 200 || none.status !== 404) throw new Error(baseUrl);
console.log(read.data.id === id, read.data.subject, none.data.error.code);`,
    options: [EXACT],
  },
  'swagger-typescript-api': {
    command: [
      'swagger-typescript-api/dist/cli.mjs',
      'generate',
      '--path',
      'openapi.json',
      '-o',
      'swagger',
      '--name',
      'api.ts',
    ],
    program: `
import { Api, type Error } from './swagger/api';
${SETTINGS}
const { v1 } = new Api({ baseUrl, baseApiParams: { headers } });
const { data: sent } = await v1.sendMessage(${MESSAGE});
const { data } = await v1.getMessage(sent.id);
const none = await v1.getMessage('none').catch((response: { readonly error: Error }) => response);
console.log(data.id === sent.id, data.subject, none.error?.error.code);`,
    options: [EXACT],
  },
};

const CLIENT = `
import createClient from 'openapi-fetch';
import type { components, paths } from './outbox';
const outbox = createClient<paths>({ baseUrl: 'http://127.0.0.1:3000' });
`;

const EVENTS = `${CLIENT}
export const tell = (event: components['schemas']['Event']): string => {
  switch (event.type) {
    case 'message.bounced':
      return event.data.reason + event.data.smtp.code + event.data.recipient.id;
    case 'message.failed':
      return event.data.reason;
    case 'api_key.rotated':
      return event.data.api_key_id;
    default:
      return event.type;
  }
};`;

describe('the OpenAPI document', () => {
  test('has no warning by the recommended rules of Redocly and Spectral', async () => {
    expect(JSON.parse(await inFolder('lint.mjs', 'openapi.json'))).toEqual([]);
  });

  describe('generates a client that compiles with strict settings, sends a message and reads it back', () => {
    test.each(Object.entries(GENERATORS))(
      '%s',
      async (_, { command: [script = '', ...options], program: text, options: exact }) => {
        const { baseUrl, keys } = program;
        const output = { target: 'orval.ts', client: 'fetch', baseUrl: { getBaseUrlFromSpecification: true } };
        await writeFile(
          join(folder, 'orval.config.json'),
          JSON.stringify({ outbox: { input: 'openapi.json', output } }),
        );
        await inFolder(join('node_modules', script), ...options);
        expect(await compiled({ program: text }, exact)).toBe('');
        const outfile = join(folder, 'program.mjs');
        await build({
          entryPoints: [join(folder, 'program.ts')],
          outfile,
          bundle: true,
          platform: 'node',
          format: 'esm',
        });
        const env = { ...process.env, OUTBOX_URL: baseUrl, OUTBOX_KEY: keys.live };
        const { stdout } = await run(process.execPath, [outfile], { cwd: folder, env });
        expect(stdout).toBe('true Your order not_found\n');
      },
      240_000,
    );
  });

  test('is tested with the versions that docs/generated-clients.md lists', async () => {
    const { devDependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const rows = [...page.matchAll(/^\| `([^`]+)`.* \| TypeScript \| (\S+) \|$/gm)];
    expect(rows.map(([, name = '', version]) => [name, version])).toEqual(
      Object.keys(GENERATORS).map((name) => [name, devDependencies[name]]),
    );
  });

  describe('read unchanged by openapi-typescript and openapi-fetch', () => {
    const exampleOf = (): string => /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    const send = (body: string): string => `${CLIENT}await outbox.POST('/v1/messages/send', { body: ${body} });`;
    /** Errors of the compiler in these files. */
    const errorsIn = (...names: readonly string[]): string =>
      errors.filter((error) => names.some((name) => error.startsWith(`${name}.ts`))).join('\n');
    let errors: readonly string[];

    beforeAll(async () => {
      await inFolder(join('node_modules', 'openapi-typescript', 'bin', 'cli.js'), 'openapi.json', '-o', 'outbox.ts');
      const [, first = ''] = /\/v1\/messages\/send .* -d '([^']*)'/.exec(readme) ?? [];
      // One run, because reading the types takes the compiler longer than all programs.
      const said = await compiled({
        example: exampleOf(),
        readme: send(first),
        'without-recipient': send(`{ from: 'a@b.test', subject: 's' }`),
        'wrong-type': send(`{ from: 'a@b.test', to: 'c@d.test', subject: 7 }`),
        events: EVENTS,
        'other-data': EVENTS.replace('event.data.api_key_id', 'event.data.message_id'),
      });
      // An error may have several lines. The later ones are indented.
      errors = said.split(/\n(?=\S)/);
    });

    test('compiles the example of docs/generated-clients.md and the first message of the README', () => {
      expect(exampleOf()).toContain('/v1/messages/send');
      expect(errorsIn('example', 'readme', 'outbox')).toBe('');
    });

    test('runs the example of docs/generated-clients.md, which prints the id of the message', async () => {
      const { baseUrl, keys } = program;
      await writeFile(join(folder, 'send.mts'), exampleOf().replace('http://127.0.0.1:3000', baseUrl));
      const env = { ...process.env, OUTBOX_KEY: keys.live };
      const { stdout } = await run(process.execPath, ['send.mts'], { cwd: folder, env });
      expect(stdout).toMatch(/^msg_[a-z2-7]{26}\n$/);
    });

    test('knows the required fields and their types', () => {
      expect(errorsIn('without-recipient')).toContain("'to' is missing");
      expect(errorsIn('wrong-type')).toContain("'number'");
    });

    test('distinguishes the data of an event by its type', () => {
      expect(errorsIn('events')).toBe('');
      expect(errorsIn('other-data')).toContain('message_id');
    });
  });
});
