import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operator } from '../support/operator.ts';

describe('a command where there is no Outbox', () => {
  let empty: string;

  beforeAll(async () => {
    empty = await mkdtemp(join(tmpdir(), 'outbox-none-'));
  });
  afterAll(() => rm(empty, { recursive: true }));

  test.each([
    [[], ['doctor']],
    [['wrong'], ['doctor']],
    [
      ['wrong', 'deeper'],
      ['organizations', 'create', '--name', 'Example'],
    ],
  ])('says so and creates nothing, for %j in an empty folder', async (below, words) => {
    const dataDir = join(empty, ...below);
    await expect(operator({ dataDir }, ...words)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`^no Outbox data in ${dataDir}: set DATA_DIR to .*\\n$`)),
    });
    expect(await readdir(empty)).toEqual([]);
  });
});
