import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { errorsDocument } from '../support/documents/errors-document.ts';

const path = (name: string): string => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));

// `npx vitest run --config test/vitest.config.ts test/architecture/generated-documents.test.ts --update` writes them.
test('docs/errors.md says what the catalogue, the statuses and the route table say', async () => {
  await expect(errorsDocument()).toMatchFileSnapshot(path('errors.md'));
});
