import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AnyBody } from '../support/api-client.ts';
import { freePort } from '../support/free-port.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** The package of the command line for customers, installed in an empty folder, on the path of the README. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Largest size of the package, downloaded and unpacked, in a customer's CI. */
const BYTES_MAX = 2_000_000;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (
  file: string,
  words: readonly string[],
  { cwd, env = {}, input = '' }: { cwd: string; env?: Readonly<Record<string, string>>; input?: string },
): Promise<Ran> =>
  new Promise((resolve) => {
    const all = { PATH: process.env.PATH, LANG: 'C.UTF-8', ...env };
    const child = execFile(file, words, { cwd, env: all }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr }),
    );
    child.stdin?.end(input);
  });

const bytesIn = async (folder: string): Promise<number> => {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
};

let folder: string;
let program: Program;
const undo: (() => unknown)[] = [];

beforeAll(async () => {
  const data = await newDataDir();
  undo.push(data.remove);
  program = await startProgram({ dataDir: data.path });
  undo.push(() => program.end('SIGTERM'));
  folder = await mkdtemp(join(tmpdir(), 'outbox-cli-'));
  undo.push(() => rm(folder, { recursive: true }));
  const packed = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: join(ROOT, 'cli') });
  const [file = ''] = packed.stdout.trim().split('\n').slice(-1);
  await writeFile(join(folder, 'package.json'), '{}');
  const words = ['install', '--offline', '--no-audit', '--no-fund', join(folder, file)];
  expect(await run('npm', words, { cwd: folder, env: { HOME: folder } })).toMatchObject({ code: 0 });
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

/** Runs the installed command in the customer's folder, signed in by a profile there. */
const outbox = (words: readonly string[], input = ''): Promise<Ran> =>
  run(process.execPath, [join(folder, 'node_modules/outbox-cli/bin/outbox.mjs'), ...words], {
    cwd: folder,
    env: { HOME: folder },
    input,
  });

const json = async (...words: readonly string[]): Promise<AnyBody> => {
  const { code, stdout, stderr } = await outbox([...words, '--json']);
  if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
};

const failure = async (...words: readonly string[]): Promise<AnyBody> => {
  const { code, stdout, stderr } = await outbox([...words, '--json']);
  expect(stdout).toBe('');
  return { code, ...JSON.parse(stderr).error };
};

describe('the package for customers', () => {
  test('is small, needs no other package, and says its version', async () => {
    expect(await readdir(join(folder, 'node_modules'))).toEqual(['.bin', '.package-lock.json', 'outbox-cli']);
    expect(await bytesIn(join(folder, 'node_modules'))).toBeLessThan(BYTES_MAX);
    const { version } = JSON.parse(await readFile(join(ROOT, 'cli/package.json'), 'utf8'));
    expect((await outbox(['--version'])).stdout).toBe(`${version}\n`);
  });

  test('reports errors as JSON with --json, and never speaks of a data folder', async () => {
    const unsigned = await failure('keys', 'list');
    expect(unsigned).toMatchObject({ code: 'unauthorized', message: expect.stringContaining('outbox login') });
    for (const { stderr, code } of [await outbox(['keys', 'list']), await outbox(['domains', 'list'])]) {
      expect(stderr).not.toContain('DATA_DIR');
      expect(code).toBe(4);
    }
    const signIn = ['login', '--url', program.baseUrl, '--stdin'];
    expect(await outbox(signIn, program.keys.live)).toMatchObject({ code: 0 });
    expect(await failure('messages', 'show', 'msg_aaaaaaaaaaaaaaaaaaaaaaaaaa')).toMatchObject({
      code: 'not_found',
      status: 404,
      request_id: expect.stringMatching(/^req_/),
    });
    expect(await failure('keys', 'create', '--name', 'x', '--permissions', 'fly')).toMatchObject({
      code: 'invalid_request',
      details: { permissions: [expect.any(String)] },
    });
    expect(await failure('keys', 'shout')).toMatchObject({ code: 'usage' });
  });

  test('sets up a domain and its keys', async () => {
    const added = await json('domains', 'add', 'mail.example.com');
    expect(added.records.length).toBeGreaterThan(2);
    const records = (await outbox(['domains', 'records', 'mail.example.com'])).stdout;
    for (const { name, value } of added.records) expect(records).toContain(`${name}\n  ${value}`);
    expect(await json('domains', 'verify', 'mail.example.com')).toMatchObject({ id: added.id, status: 'verified' });
    expect((await json('domains', 'list')).map((one: AnyBody) => one.name)).toContain('mail.example.com');

    const place = ['--name', 'shop', '--permissions', 'send,read', '--domain', added.id];
    const key = await json('keys', 'create', ...place);
    expect(key.key).toMatch(/^ob_live_/);
    expect((await json('keys', 'rotate', key.id, '--grace-minutes', '0')).key).not.toBe(key.key);
    expect((await json('keys', 'list')).map((one: AnyBody) => one.id)).toContain(key.id);
    expect((await outbox(['keys', 'list'])).stdout).toMatch(/^ID +STATUS +ENVIRONMENT[\s\S]* shop\n/);
    expect(await json('keys', 'revoke', key.id)).toMatchObject({ id: key.id, status: 'revoked' });
    expect(await failure('keys', 'rotate', key.id)).toMatchObject({ status: 409 });
    expect((await outbox(['keys', 'rotate', key.id])).code).toBe(3);
  });

  test('sends mail and follows it', async () => {
    const mail = ['--from', 'hello@example.test', '--to', 'you@example.net', '--subject', 'Hello'];
    const sent = await outbox(['send', ...mail, '--text', '-', '--json'], 'It works.');
    const { id } = JSON.parse(sent.stdout);
    const tail = ['messages', 'tail', '--message', id, '--after', 'start', '--limit', '3'];
    const events = (await outbox([...tail, '--json'])).stdout.trim().split('\n');
    expect(events.map((line) => JSON.parse(line).type)).toContain('message.delivered');
    expect(await json('messages', 'show', id)).toMatchObject({ id, status: 'delivered' });
    expect((await outbox(['messages', 'explain', id])).stdout).toContain('What happened:');
    expect((await json('messages', 'list')).map((one: AnyBody) => one.id)).toContain(id);
    expect((await json('events', 'list', '--types', 'message.delivered')).length).toBeGreaterThan(0);
    expect((await json('inbox', 'list', '--to', 'you@example.net')).length).toBeGreaterThan(0);
    expect((await json('stats')).totals.accepted).toBeGreaterThan(0);
    const later = ['--at', new Date(Date.now() + 3_600_000).toISOString(), '--text', '-', '--json'];
    const scheduled = JSON.parse((await outbox(['send', ...mail, ...later], 'Later.')).stdout);
    expect(await json('messages', 'cancel', scheduled.id)).toEqual({ id: scheduled.id, status: 'cancelled' });
  });

  test('keeps suppressions', async () => {
    await json('suppressions', 'add', 'ann@example.net', '--note', 'asked by phone');
    expect(await json('suppressions', 'check', 'ann@example.net')).toMatchObject({ suppressed: { bulk: true } });
    await writeFile(join(folder, 'left.csv'), 'address\nbob@example.net\n');
    expect(await json('suppressions', 'import', '--file', 'left.csv')).toMatchObject({ imported: 1 });
    expect(await json('suppressions', 'list')).toHaveLength(2);
    expect((await outbox(['suppressions', 'remove', 'ann@example.net'])).code).toBe(0);
    expect(await json('suppressions', 'check', 'ann@example.net')).toMatchObject({ suppressed: { bulk: false } });
    expect(await failure('suppressions', 'remove', 'ann@example.net')).toMatchObject({
      message: 'ann@example.net is not suppressed',
    });
  });

  test('registers webhooks', async () => {
    const receiver = await startWebhookReceiver();
    undo.push(receiver.close);
    const webhook = await json('webhooks', 'add', '--url', receiver.url, '--events', 'message.*,domain.*');
    expect(webhook).toMatchObject({ events: ['message.*', 'domain.*'], secret: expect.stringMatching(/^whsec_/) });
    expect((await outbox(['webhooks', 'ping', webhook.id])).code).toBe(0);
    expect(await json('webhooks', 'list')).toEqual([expect.objectContaining({ id: webhook.id })]);
    expect(await json('webhooks', 'show', webhook.id)).toMatchObject({ url: receiver.url });
    expect((await outbox(['webhooks', 'delete', webhook.id])).code).toBe(0);
    expect(await json('webhooks', 'list')).toEqual([]);
  });

  test('keeps templates in the files of the customer', async () => {
    await mkdir(join(folder, 'templates/welcome'), { recursive: true });
    await writeFile(join(folder, 'templates/welcome/template.yaml'), 'name: Welcome\nsubject: Welcome\n');
    await writeFile(join(folder, 'templates/welcome/template.html'), '<p>Welcome</p>\n');
    expect((await outbox(['templates', 'diff', './templates'])).code).toBe(2);
    expect(await json('templates', 'push', './templates', '--publish')).toEqual([
      { template: 'welcome', result: 'published', version: 1 },
    ]);
    expect(await outbox(['templates', 'diff', './templates'])).toMatchObject({ code: 0, stdout: 'no differences\n' });
    expect(await json('templates', 'pull', './pulled')).toEqual([{ template: 'welcome', result: 'written' }]);
    expect(await readFile(join(folder, 'pulled/welcome/template.html'), 'utf8')).toBe('<p>Welcome</p>\n');
    expect((await json('templates', 'list'))[0]).toMatchObject({ alias: 'welcome', published_version: 1 });
  });

  test('distinguishes a service that is not there by its exit code', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const env = { HOME: folder, OUTBOX_URL: url, OUTBOX_API_KEY: program.keys.live };
    const words = [join(folder, 'node_modules/outbox-cli/bin/outbox.mjs'), 'keys', 'rotate', 'key_x', '--json'];
    const { code, stderr } = await run(process.execPath, words, { cwd: folder, env });
    expect([code, JSON.parse(stderr).error.code]).toEqual([5, 'unavailable']);
  });
});
