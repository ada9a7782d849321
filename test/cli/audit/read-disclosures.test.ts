import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { readDisclosures, verifyFile } from '../../../src/cli/audit/verify-file.ts';
import { disclosedPart, disclosureOf } from '../../support/disclosures.ts';

const folder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'outbox-disclosures-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return async (name: string, bytes: string | Buffer): Promise<string> => {
    await writeFile(join(path, name), bytes);
    return join(path, name);
  };
};

const [one, two] = ['evt-1', 'evt-2'].map((id) => disclosureOf(id, 4, [disclosedPart('html', 'é\n'.repeat(200_000))]));
const lines = `${JSON.stringify(one)}\n\n${JSON.stringify(two)}`;

test('disclosures are read from JSON Lines, from a JSON file, and from gzip', async () => {
  const write = await folder();
  const idsIn = async (...paths: readonly string[]) =>
    (await readDisclosures(paths)).map(({ eventId, problems }) => [eventId, ...problems]);
  expect(await idsIn(await write('lines', lines))).toEqual([['evt-1'], ['evt-2']]);
  expect(await idsIn(await write('gzip', gzipSync(`${lines}\r\n`)))).toEqual([['evt-1'], ['evt-2']]);
  const [first, second] = await Promise.all([
    write('one', `\n${JSON.stringify(one, null, 2)}\n`),
    write('two', JSON.stringify(two)),
  ]);
  expect(await idsIn(first, second)).toEqual([['evt-1'], ['evt-2']]);
});

test.each<readonly [string, string | Buffer, string]>([
  ['an empty file', '', 'is empty: expected a disclosure'],
  ['white space', ' \n\n', 'is empty: expected a disclosure'],
  [
    'an event twice',
    `${lines}\n${JSON.stringify(one)}\n`,
    'line 4, is not a valid disclosure: event evt-1 is disclosed twice',
  ],
  ['a line that breaks off', lines.slice(0, -9), 'line 3, is not a valid disclosure: it is not JSON'],
  ['bytes that are not UTF-8', Buffer.from(`${lines}\n\xff`, 'latin1'), 'the text is not UTF-8'],
  ['an export', '{"audit_export":1}\n', 'line 1, is not a valid disclosure: it is JSON, but not a disclosure'],
])('%s is refused in a sentence, and decides nothing', async (_, bytes, words) => {
  const path = await (await folder())('file', bytes);
  const { verdict, doubts } = await verifyFile({ file: path, since: [], disclosures: [path] });
  expect(verdict).toBe('undecided');
  expect(doubts[0]).toContain(words);
});

test('truncated gzip leaves the result undecided', async () => {
  const path = await (await folder())('file.gz', gzipSync(lines).subarray(0, -10));
  expect(await verifyFile({ file: path, since: [], disclosures: [path] })).toMatchObject({ verdict: 'undecided' });
});
