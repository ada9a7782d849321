import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService } from '../http/support/service.ts';
import { placeForTest, programForTest } from '../support/after-test.ts';

/**
 * A separate package: openapi-typescript needs TypeScript 5, and Spectral brings 200 packages that have no other use.
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

/** Compiler errors in a program that uses the generated types. Empty: none. */
const compiled = async (program: string): Promise<string> => {
  await writeFile(join(folder, 'program.ts'), program);
  const compiler = join('node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'preserve', '--lib', 'es2022,dom'];
  try {
    return await inFolder(compiler, ...options, '--types', 'node', 'program.ts');
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
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
