import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService } from '../http/support/service.ts';
import { placeForTest, programForTest } from '../support/after-test.ts';

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
let readme: string;
let page: string;

const inFolder = async (...command: readonly string[]): Promise<string> =>
  (await run(process.execPath, [...command], { cwd: folder, maxBuffer: 10_000_000 })).stdout;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openapi-clients-'));
  await cp(CLIENTS, folder, { recursive: true });
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  const service = await startService({ publicUrl: 'https://mail.outbox.test' });
  await writeFile(join(folder, 'openapi.json'), (await service.request({ url: '/openapi.json' })).body);
  await service.close();
  readme = await readFile(README, 'utf8');
  page = await readFile(PAGE, 'utf8');
}, INSTALL_MS_MAX);
afterAll(() => rm(folder, { recursive: true, force: true }));

const STRICT = '--strict --noUncheckedIndexedAccess --noImplicitOverride';
const COMPILER = `--noEmit ${STRICT} --target es2022 --module preserve --lib es2023,dom,dom.iterable --types node`;
const EXACT = '--exactOptionalPropertyTypes';

/** Compiler errors in a program that uses the generated types. Empty: none. */
const compiled = async (program: string, more: readonly string[] = []): Promise<string> => {
  await writeFile(join(folder, 'program.ts'), program);
  const compiler = join('node_modules', 'typescript', 'bin', 'tsc');
  try {
    return await inFolder(compiler, ...COMPILER.split(' '), ...more, 'program.ts');
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

describe('the OpenAPI document', () => {
  test('has no warning by the recommended rules of Redocly and Spectral', async () => {
    expect(JSON.parse(await inFolder('lint.mjs', 'openapi.json'))).toEqual([]);
  }, 120_000);

  describe('generates a client that compiles with strict settings, sends a message and reads it back', () => {
    test.each(Object.entries(GENERATORS))(
      '%s',
      async (_, { command: [script = '', ...options], program, options: exact }) => {
        const { baseUrl, keys } = await programForTest(await placeForTest());
        const document = await (await fetch(`${baseUrl}/openapi.json`)).text();
        await writeFile(join(folder, 'openapi.json'), document);
        const output = { target: 'orval.ts', client: 'fetch', baseUrl: { getBaseUrlFromSpecification: true } };
        await writeFile(
          join(folder, 'orval.config.json'),
          JSON.stringify({ outbox: { input: 'openapi.json', output } }),
        );
        await inFolder(join('node_modules', script), ...options);
        expect(await compiled(program, exact)).toBe('');
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
    beforeAll(async () => {
      await inFolder(join('node_modules', 'openapi-typescript', 'bin', 'cli.js'), 'openapi.json', '-o', 'outbox.ts');
    }, 120_000);

    test('compiles the example of docs/generated-clients.md and the first message of the README', async () => {
      const [, program = ''] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
      expect(program).toContain('/v1/messages/send');
      expect(await compiled(program)).toBe('');
      const [, body = ''] = /\/v1\/messages\/send .* -d '([^']*)'/.exec(readme) ?? [];
      expect(await compiled(`${CLIENT}await outbox.POST('/v1/messages/send', { body: ${body} });`)).toBe('');
    }, 120_000);

    test('runs the example of docs/generated-clients.md, which prints the id of the message', async () => {
      const { baseUrl, keys } = await programForTest(await placeForTest());
      const [, program = ''] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
      await writeFile(join(folder, 'send.mts'), program.replace('http://127.0.0.1:3000', baseUrl));
      const env = { ...process.env, OUTBOX_KEY: keys.live };
      const { stdout } = await run(process.execPath, ['send.mts'], { cwd: folder, env });
      expect(stdout).toMatch(/^msg_[a-z2-7]{26}\n$/);
    }, 120_000);

    test('knows the required fields and their types', async () => {
      const send = (body: string): string => `${CLIENT}await outbox.POST('/v1/messages/send', { body: ${body} });`;
      expect(await compiled(send(`{ from: 'a@b.test', subject: 's' }`))).toContain("'to' is missing");
      expect(await compiled(send(`{ from: 'a@b.test', to: 'c@d.test', subject: 7 }`))).toContain("'number'");
    }, 120_000);

    test('distinguishes the data of an event by its type', async () => {
      const told = `${CLIENT}
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
      expect(await compiled(told)).toBe('');
      expect(await compiled(told.replace('event.data.api_key_id', 'event.data.message_id'))).toContain('message_id');
    }, 120_000);
  });
});
