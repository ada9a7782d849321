import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyFile } from '../../src/cli/audit/verify-file.ts';
import { parseCheckpoint, parseNote, parseVerifierKey, signedAt } from '../../src/lib/transparency/transparency.ts';
import { type AnyBody, type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { doctor, operator, unlimitedKey } from '../support/operator.ts';
import { folderForTest, placeForTest, programForTest } from '../support/place-for-test.ts';
import { startWitness } from '../support/witness.ts';

const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', text: 'Hello' };
/** More events than are written after the restore. */
const LOST = 20;
const PATIENCE_MS = 30_000;

const sizeOf = (note: string): number => parseCheckpoint(parseNote(note).text).size;

test('a log restored from an older backup is not signed until it is reopened, and verifiers accept it then', async () => {
  const witness = await startWitness();
  const cosigner = witness.signer.verifierKey;
  const folder = await folderForTest();
  const keep = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const policy = await keep('witnesses', `witness w ${cosigner.text} ${witness.url}\nquorum w\n`);
  const settings = { AUDIT_INTERVAL: '1', AUDIT_WITNESSES: policy };
  const sign = async (api: ApiClient): Promise<AnyBody> => (await api.post('/v1/audit/checkpoints', {})).body;
  /** The newest checkpoint that the witness has cosigned and that has at least `size` leaves. */
  const cosigned = async (api: ApiClient, size: number): Promise<string> => {
    const newest = async (): Promise<string> => {
      const { data } = (await api.get('/v1/audit/checkpoints?limit=10')).body;
      const notes = (data as readonly { readonly note: string }[]).map(({ note }) => note);
      return notes.find((note) => signedAt(parseNote(note), cosigner) !== null) ?? '';
    };
    return eventually(newest, (note) => note !== '' && sizeOf(note) >= size, PATIENCE_MS);
  };

  const place = await placeForTest(settings);
  const first = await programForTest(place);
  const api = apiClient(first.baseUrl, await unlimitedKey(place));
  await api.post('/v1/messages/send', MESSAGE);
  const { verifier_key: vkey, size, origin } = await sign(api);
  witness.logs.push(parseVerifierKey(vkey));
  const kept = await keep('kept.note', await cosigned(api, size));
  const backup = join(folder, 'backup');
  await operator(place, 'backup', backup);
  for (let sent = 0; sent < LOST; sent += 1) await api.post('/v1/messages/send', MESSAGE);
  const lost = await keep('lost.note', await cosigned(api, (await sign(api)).size));
  await first.end('SIGTERM');

  const target = await placeForTest(settings);
  await operator(target, 'restore', backup);
  const again = await programForTest(target);
  const key = await unlimitedKey(target);
  const after = apiClient(again.baseUrl, key);
  await after.post('/v1/messages/send', MESSAGE);
  const stopped = await eventually(
    () => after.post('/v1/audit/checkpoints', {}),
    ({ status }) => status === 409,
    PATIENCE_MS,
  );
  expect(stopped.body.error.code).toBe('signing_stopped');
  const [{ organization_id: organization }] = await operator(target, 'organizations', 'list');
  expect((await doctor(target)).problems.join()).toContain('because a witness contradicts them');
  await expect(operator(target, 'audit', 'check')).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      new RegExp(`${organization}: the witness \\S+ has cosigned \\d+ leaves of a different history`),
    ),
  });

  const reason = ['--reason', 'Restored from the backup of 17 May.'];
  const reopened = await operator(target, 'audit', 'reopen', '--organization', organization, ...reason);
  expect(reopened).toMatchObject({ organization_id: organization, origin: `${origin}/2` });
  witness.logs.push(parseVerifierKey(reopened.verifier_key));
  const signed = await eventually(
    () => after.post('/v1/audit/checkpoints', {}),
    ({ status }) => status < 400,
    PATIENCE_MS,
  );
  expect(signed.body.origin).toBe(`${origin}/2`);
  await cosigned(after, signed.body.size);
  const file = join(folder, 'export.jsonl');
  const published = await fetch(`${again.baseUrl}/.well-known/outbox-audit/${organization}`);
  const trusted = { file, key: vkey, policy: await keep('policy', await published.text()), disclosures: [] };
  const verify = async (): Promise<Awaited<ReturnType<typeof verifyFile>>> => {
    const lines = await fetch(`${again.baseUrl}/v1/audit/export`, { headers: { authorization: `Bearer ${key}` } });
    await keep('export.jsonl', await lines.text());
    return verifyFile({ ...trusted, since: [kept] });
  };
  // A checkpoint is signed each second: the newest one may still wait for its witness.
  const isDecided = (report: Awaited<ReturnType<typeof verify>>): boolean => report.verdict !== 'undecided';
  const { verdict, faults, doubts, notices, cosigners } = await eventually(verify, isDecided, PATIENCE_MS);
  expect({ verdict, faults, doubts }).toEqual({ verdict: 'verified', faults: [], doubts: [] });
  expect(notices).toEqual([expect.stringContaining('"Restored from the backup of 17 May."')]);
  expect(cosigners).toEqual([expect.stringMatching(/^w at /)]);
  expect(await verifyFile({ ...trusted, since: [lost] })).toMatchObject({
    verdict: 'not verified',
    faults: [expect.stringContaining('but this log does not contain all of them: it was reopened at leaf')],
  });
}, 300_000);
