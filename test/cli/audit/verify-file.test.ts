import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { verifyFile } from '../../../src/cli/audit/verify-file.ts';
import { createAuditLog } from '../../support/audit-export.ts';

test('a kept checkpoint verifies with and without empty lines at its end, and one that is damaged does not', async () => {
  const path = await mkdtemp(join(tmpdir(), 'outbox-notes-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const log = createAuditLog();
  log.fill(10);
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(path, name), text);
    return join(path, name);
  };
  const file = await write('export.jsonl', log.export());
  const key = log.signer.verifierKey.text;
  const note = log.note(5);
  const verdictSince = async (text: string) => {
    const since = [await write('kept.note', text)];
    return verifyFile({ file, key, since, disclosures: [] });
  };
  for (const text of [note, note.trimEnd(), `${note}\n\r\n`]) {
    expect(await verdictSince(text)).toMatchObject({ verdict: 'verified', checkpoints: 1 });
  }
  for (const text of ['{"error":{"code":"not_found"}}', note.replace('\n\n', '\n'), '']) {
    expect(await verdictSince(text)).toMatchObject({
      verdict: 'not verified',
      faults: [expect.stringContaining('kept.note is not a signed checkpoint: the file is damaged')],
    });
  }
});

test.each([
  ['report.pdf', '%PDF-1.3\n'],
  ['report.csv', 'at,sentence,by,address,request_id,type,event_id,leaf_index\r\n'],
  ['access.csv', 'kind,id,name,role,permissions\r\n'],
  ['report.html', '<!doctype html>\n<html lang="en">'],
])('a report as %s is for reading: only its JSON is verified', async (name, text) => {
  const path = await mkdtemp(join(tmpdir(), 'outbox-reading-'));
  onTestFinished(() => rm(path, { recursive: true }));
  await writeFile(join(path, name), text);
  const { verdict, doubts } = await verifyFile({ file: join(path, name), since: [], disclosures: [] });
  expect([verdict, doubts]).toEqual(['undecided', [expect.stringContaining('pass the JSON of the report')]]);
});
