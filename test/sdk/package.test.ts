import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { describe, expect, onTestFinished, test } from 'vitest';
import packageJson from '../../sdk/package.json' with { type: 'json' };

const SOURCE = fileURLToPath(new URL('../../sdk/src/index.ts', import.meta.url));
const GZIPPED_BYTES_MAX = 12_000;

const run = promisify(execFile);

/** A program as built by a bundler for browsers. */
const bundled = async (program: string): Promise<string> => {
  const bundle = await rolldown({
    input: 'program',
    external: ['react-dom/server'],
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => ({ program: 'program.js', 'outbox-sdk': SOURCE })[id],
        load: (id) => (id === 'program.js' ? { code: program, moduleSideEffects: true } : undefined),
        // Applies `sideEffects` from package.json to the whole package.
        transform: (_code, id) => (id === 'program.js' ? undefined : { moduleSideEffects: packageJson.sideEffects }),
      },
    ],
  });
  const { output } = await bundle.generate({ minify: true, format: 'esm' });
  await bundle.close();
  return output.map((one) => ('code' in one ? one.code : '')).join('');
};

describe('the package of the SDK', () => {
  test('has no dependencies, and needs no build when used from the repository', () => {
    expect(packageJson).not.toHaveProperty('dependencies');
    expect(Object.keys(packageJson.scripts)).toEqual(['build', 'prepack']);
    expect(packageJson.sideEffects).toBe(false);
  });

  test('is small for a browser, and smaller if only part of it is used', async () => {
    const whole = await bundled(`export * from 'outbox-sdk';`);
    expect(gzipSync(whole).length).toBeLessThan(GZIPPED_BYTES_MAX);
    expect(whole).not.toMatch(/["']node:/);
    const verifying = await bundled(`export { verifyWebhook } from 'outbox-sdk';`);
    expect(verifying.length).toBeLessThan(whole.length / 5);
    expect(verifying).not.toContain('/v1/');
    const sending = await bundled(
      `import { createCall, messages } from 'outbox-sdk'; export const { send } = messages(createCall(globalThis.given));`,
    );
    expect(sending).not.toContain('/v1/webhooks');
    const readme = await readFile(new URL('../../sdk/README.md', import.meta.url), 'utf8');
    expect([...readme.matchAll(/(\d+) kB/g)].map(([, size]) => Number(size))).toEqual(
      [sending, verifying, whole].map((code) => Math.round(gzipSync(code).length / 1_000)),
    );
  });

  test('can be loaded by require, with types, where an ES module cannot be', async () => {
    const sdk = fileURLToPath(new URL('../../sdk/', import.meta.url));
    const folder = await mkdtemp(join(tmpdir(), 'outbox-require-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { stdout: packed } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: sdk });
    expect(packed).toContain('dist/commonjs/index.js');
    await run('mkdir', [join(folder, 'node_modules')]);
    for (const [name, target] of [
      ['outbox-sdk', sdk],
      ['@types', join(sdk, '../node_modules/@types')],
      ['undici-types', join(sdk, '../node_modules/undici-types')],
    ] as const)
      await symlink(target, join(folder, 'node_modules', name));
    const program = `import { createOutbox } from 'outbox-sdk';
console.log(typeof createOutbox({ apiKey: process.env.KEY, baseUrl: process.env.URL }).messages.send);
`;
    await writeFile(join(folder, 'program.cts'), program);
    const compiler = join(sdk, '../node_modules/.bin/tsc');
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--module', 'node16', '--target', 'es2022'];
    await run(compiler, [...strict, '--types', 'node', 'program.cts'], { cwd: folder });
    const ran = await run(process.execPath, ['--no-experimental-require-module', 'program.cjs'], {
      cwd: folder,
      env: { KEY: 'ob_test_x', URL: 'https://mail.example.com' },
    });
    expect(ran.stdout).toBe('function\n');
  });
});
