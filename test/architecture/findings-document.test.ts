import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { RULE_TABLE } from '../../src/domain/analysis/analysis.ts';
import { findingExamples, withFindings } from '../support/documents/findings-table.ts';

const path = fileURLToPath(new URL('../../docs/checking-content.md', import.meta.url));
const page = readFileSync(path, 'utf8');

test('docs/checking-content.md lists every finding once', () => {
  const listed = findingExamples(page).map(({ rule }) => rule);
  expect([...listed].sort()).toEqual(Object.keys(RULE_TABLE).sort());
});

// `npx vitest run --config test/vitest.config.ts test/architecture/findings-document.test.ts --update` writes them.
test('docs/checking-content.md has the severity, the points and the remedy of every finding', async () => {
  await expect(withFindings(page)).toMatchFileSnapshot(path);
});
