import { Client } from 'pg';
import { expect, test } from 'vitest';
import { placeForTest, programForTest } from '../support/after-test.ts';
import { eventually } from '../support/api-client.ts';
import { operator } from '../support/operator.ts';

test('an operator checks the audit trees while the service runs: code 0, 1 with faults, 2 undecided', async () => {
  const { dataDir, env } = await placeForTest();
  await programForTest({ dataDir, env });
  const check = (...words: readonly string[]) => operator({ dataDir, env }, 'audit', 'check', ...words);
  const [{ organization_id: organization }] = await operator({ dataDir, env }, 'organizations', 'list');
  const whole = await eventually(check, ({ leaves }) => leaves > 0);
  expect(whole).toMatchObject({ verdict: 'no fault', faults: [] });
  await expect(check('--organization', 'org_nobody')).rejects.toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('organization org_nobody not found') },
  });
  const doctor = () => operator({ dataDir, env }, 'doctor');
  expect((await doctor()).audit_check).toMatch(/^the audit trees were checked at \S+: no fault$/);
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  await client.query('update read_models.audit_trees set size = size + 1 where tree = $1', [organization]);
  await client.end();
  await expect(check()).rejects.toMatchObject({ code: 1 });
  const { problems } = await doctor();
  expect(problems).toContainEqual(expect.stringMatching(/checked at \S+: 1 fault: run `outbox audit check`$/));
  await expect(check('--organization', organization)).rejects.toMatchObject({
    ...{ code: 1, stdout: expect.stringContaining(`${organization}: its row says`) },
  });
}, 300_000);
