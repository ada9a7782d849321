import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { descriptorLimit } from '../../src/composition/start-api.ts';

test('the limit of open files is the one that the system sets for processes', () => {
  const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  expect(descriptorLimit()).toBe(limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit));
});
