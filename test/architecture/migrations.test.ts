import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/projections/migrate.ts';

test('migrations are numbered from 1 without gaps or duplicates', () => {
  const numbers = readdirSync(MIGRATIONS)
    .sort()
    .map((file) => Number.parseInt(file, 10));
  expect(numbers).toEqual(numbers.map((_, at) => at + 1));
});
