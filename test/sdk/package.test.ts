import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const SDK = new URL('../../sdk/', import.meta.url).pathname;
const TSC = new URL('../../node_modules/typescript/bin/tsc', import.meta.url).pathname;
const GZIPPED_BYTES_MAX = 12_000;

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outbox-sdk-'));
  const installed = join(folder, 'node_modules', 'outbox-sdk');
  await run(process.execPath, [TSC, '-p', join(SDK, 'tsconfig.build.json'), '--outDir', join(installed, 'dist')]);
  await writeFile(join(installed, 'package.json'), await readFile(join(SDK, 'package.json')));
  await mkdir(join(folder, 'src'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A program as a bundler for browsers makes it. */
const bundled = async (program: string): Promise<string> => {
  const input = join(folder, 'src', 'program.js');
  await writeFile(input, program);
  const bundle = await rolldown({ input, external: ['react-dom/server'], platform: 'browser' });
  const { output } = await bundle.generate({ minify: true, format: 'esm' });
  return output.map((one) => ('code' in one ? one.code : '')).join('');
};

const PROGRAM = `
import { createOutbox, type Message, verifyWebhook } from 'outbox-sdk';
const outbox = createOutbox({ apiKey: 'ob_test_x', baseUrl: 'https://mail.example.com' });
const { id } = await outbox.messages.send({ from: 'a@b.test', to: ['c@d.test'], subject: 's', html: '<p>x</p>' });
const message: Message = await outbox.messages.get(id);
for await (const { event } of outbox.events.stream({ types: ['message.*'] })) {
  if (event.type === 'message.bounced') console.log(event.data.smtp?.code, message.status);
}
const event = await verifyWebhook({ body: '', headers: {}, secret: 'whsec_x' });
if (event.type === 'api_key.rotated') console.log(event.data.api_key_id);
`;

const compiled = async (program: string): Promise<string> => {
  await writeFile(join(folder, 'src', 'program.mts'), program);
  const options = [
    '--noEmit',
    '--ignoreConfig',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--lib',
    'es2022,dom',
    '--types',
    '',
  ];
  const outcome = run(process.execPath, [TSC, ...options, join(folder, 'src', 'program.mts')]);
  return outcome.then(
    () => '',
    (error: { readonly stdout: string }) => error.stdout,
  );
};

describe('the package of the SDK', () => {
  test('has no dependency and runs in Node as it is built', async () => {
    const { dependencies, sideEffects } = JSON.parse(await readFile(join(SDK, 'package.json'), 'utf8'));
    expect(dependencies).toBeUndefined();
    expect(sideEffects).toBe(false);
    const program = `import * as sdk from 'outbox-sdk'; console.log(Object.keys(sdk.createOutbox({ apiKey: 'ob_x', baseUrl: 'http://x' })).join());`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: folder });
    expect(stdout).toContain('apiKeys,audit,billing');
  });

  test('is small for a browser, and smaller where less of it is used', async () => {
    const whole = await bundled(`export * from 'outbox-sdk';`);
    expect(gzipSync(whole).length).toBeLessThan(GZIPPED_BYTES_MAX);
    expect(whole).not.toMatch(/node:|process\.(?!env)/);
    const verifying = await bundled(`export { verifyWebhook } from 'outbox-sdk';`);
    expect(verifying.length).toBeLessThan(whole.length / 5);
    expect(verifying).not.toContain('/v1/');
    const sending = await bundled(
      `import { createCall, messages } from 'outbox-sdk'; export const { send } = messages(createCall(globalThis.given));`,
    );
    expect(sending).not.toContain('/v1/webhooks');
  });

  test('compiles what its README shows', async () => {
    const readme = await readFile(join(SDK, 'README.md'), 'utf8');
    const programs = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, program = '']) => program);
    expect(programs).toHaveLength(2);
    for (const program of programs) expect(await compiled(`declare const request: Request;\n${program}`)).toBe('');
  });

  test('compiles strictly, and knows the data of an event by its type', async () => {
    expect(await compiled(PROGRAM)).toBe('');
    expect(await compiled(PROGRAM.replace('event.data.api_key_id', 'event.data.message_id'))).toContain('message_id');
    expect(await compiled(PROGRAM.replace("subject: 's'", 'subject: 7'))).toContain("'number'");
  });
});
