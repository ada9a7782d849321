import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { errorsDocument } from '../support/documents/errors-document.ts';
import { licences, licencesDocument } from '../support/documents/licences-document.ts';

const path = (name: string): string => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));

// `npx vitest run --config test/vitest.config.ts test/architecture/generated-documents.test.ts --update` writes them.
test('docs/errors.md matches the catalogue, the statuses and the route table', async () => {
  await expect(errorsDocument()).toMatchFileSnapshot(path('errors.md'));
});

test('docs/licences.md matches package-lock.json', async () => {
  await expect(licencesDocument()).toMatchFileSnapshot(path('licences.md'));
});

test('every package has a licence that requires no more than including its text', () => {
  const permissive = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'CC0-1.0', 'ISC', 'MIT'];
  // Fonts may be distributed with a program. Unlicense and WTFPL have no conditions.
  const others = ['MIT-0', 'OFL-1.1', 'Python-2.0', 'Unlicense', 'WTFPL', '(BSD-3-Clause AND Apache-2.0)'].concat(
    'MIT (http://mootools.net/license.txt)',
  );
  expect([...licences().keys()].filter((licence) => ![...permissive, ...others].includes(licence))).toEqual([]);
});
