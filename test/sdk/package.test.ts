import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { describe, expect, test } from 'vitest';
import packageJson from '../../sdk/package.json' with { type: 'json' };

const SOURCE = fileURLToPath(new URL('../../sdk/src/index.ts', import.meta.url));
const GZIPPED_BYTES_MAX = 12_000;

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
});
