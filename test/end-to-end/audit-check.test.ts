import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { apiClient, eventually } from '../support/api-client.ts';
import { doctor, operator, unlimitedKey } from '../support/operator.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';

test('an operator checks the audit trees while the service runs: code 0, 1 with faults, 2 if undecided or without an anchor, 64 if the command line is wrong', async () => {
  const { dataDir, env } = await placeForTest();
  const service = await programForTest({ dataDir, env });
  const check = (...words: readonly string[]) => operator({ dataDir, env }, 'audit', 'check', ...words);
  const [{ organization_id: organization }] = await operator({ dataDir, env }, 'organizations', 'list');
  // There is no witness, so the log is compared with nothing outside the service.
  const whole = await eventually(
    () => check().catch(({ code, stdout }) => ({ code, ...JSON.parse(stdout) })),
    ({ leaves }) => leaves > 0,
  );
  expect(whole).toMatchObject({ code: 2, verdict: 'consistent', faults: [] });
  // The next one begins where it ended.
  const again = (...words: readonly string[]) =>
    check(...words).catch(({ code, stdout }) => ({ code, ...JSON.parse(stdout) }));
  expect(await again()).toMatchObject({ code: 2, since: { leaves: whole.leaves } });
  expect(await again('--full')).toMatchObject({ code: 2, since: null });
  await expect(check('--organization', 'org_nobody')).rejects.toMatchObject({
    ...{ code: 64, stderr: expect.stringContaining('organization org_nobody not found') },
  });
  const unanchored = /^the audit trees were checked at \S+: consistent in itself; it was not compared with a witness/;
  expect((await doctor({ dataDir, env })).audit_check).toMatch(unanchored);
  const api = apiClient(service.baseUrl, await unlimitedKey({ dataDir, env }));
  const checkpoint = (await api.post('/v1/audit/checkpoints', {})).body;
  const kept = join(dataDir, 'kept.note');
  await writeFile(kept, checkpoint.note);
  expect(await check('--since', kept)).toMatchObject({ verdict: 'no fault', anchored: { trees: 1, by: [kept] } });
  await writeFile(kept, 'nothing');
  await expect(check('--since', kept)).rejects.toMatchObject({
    ...{ code: 64, stderr: expect.stringContaining('is not a signed checkpoint') },
  });
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  await client.query('update read_models.audit_trees set size = size + 1 where tree = $1', [organization]);
  await client.end();
  await expect(check()).rejects.toMatchObject({ code: 1 });
  const { problems } = await doctor({ dataDir, env });
  expect(problems).toContainEqual(expect.stringMatching(/checked at \S+: 1 fault: run `outbox audit check`$/));
  await expect(check('--organization', organization)).rejects.toMatchObject({
    ...{ code: 1, stdout: expect.stringContaining(`${organization}: its row says`) },
  });
}, 300_000);
