import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Bundle, readBundle, type StoredBundle } from '../../../src/http/dashboard.ts';

describe('the bundle of the dashboard', () => {
  let folder: string;
  let cache: string;
  let made: Bundle;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outbox-bundle-'));
    cache = join(folder, 'kept', 'dashboard');
    made = await readBundle(cache);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Changes the cached bundle, so that a test can see whether it is used. */
  const mark = async (change: (kept: StoredBundle) => Partial<StoredBundle>): Promise<void> => {
    const kept = deserialize(await readFile(cache)) as StoredBundle;
    await writeFile(cache, serialize({ ...kept, bundle: { ...made, script: 'marked.js' }, ...change(kept) }));
  };

  test('is cached, and read while its sources are unchanged', async () => {
    expect(await readBundle(cache)).toEqual(made);
    await mark(() => ({}));
    expect((await readBundle(cache)).script).toBe('marked.js');
    expect(await readdir(join(folder, 'kept'))).toEqual(['dashboard']);
  });

  test.each<readonly [string, (kept: StoredBundle) => Partial<StoredBundle>]>([
    ['is younger', ({ sources }) => ({ sources: sources.map((one, at) => ({ ...one, changed: at || 1 })) })],
    [
      'is longer',
      ({ sources }) => ({ sources: sources.map((one, at) => ({ ...one, bytes: one.bytes - (at ? 0 : 1) })) }),
    ],
    ['is gone', ({ sources }) => ({ sources: [...sources, { path: join(folder, 'gone'), bytes: 0, changed: 0 }] })],
  ])('is built again when a source %s', async (_, change) => {
    await mark(change);
    expect(await readBundle(cache)).toEqual(made);
  });

  test('is built from sources, its own code and its bundler', async () => {
    const { sources } = deserialize(await readFile(cache)) as StoredBundle;
    const named = (ending: string): number => sources.filter(({ path }) => `/${path}`.endsWith(ending)).length;
    expect([named('/main.tsx'), named('http/dashboard.ts'), named('esbuild/lib/main.js')]).toEqual([1, 1, 1]);
    expect(named('.css')).toBeGreaterThan(10);
  });

  test('names no folder of the machine, so that a copied installation looks at its own sources', async () => {
    const { sources } = deserialize(await readFile(cache)) as StoredBundle;
    expect(sources.filter(({ path }) => isAbsolute(path))).toEqual([]);
  });

  test('is built again when the cached one is damaged', async () => {
    await writeFile(cache, 'damaged');
    expect(await readBundle(cache)).toEqual(made);
  });

  test('is built where nothing can be cached', async () => {
    expect(await readBundle(join(cache, 'below a file'))).toEqual(made);
  });
});
