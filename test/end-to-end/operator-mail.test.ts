import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deadPort } from '../adapters/mail/smarthost/smarthosts.ts';
import type { AnyBody } from '../support/api-client.ts';
import { startNameServer } from '../support/name-server.ts';
import { doctor, operator } from '../support/operator.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { newDataDir, startProgram } from '../support/program.ts';

const BOUNCE_DOMAIN = 'bounces.example.test';

describe('the operator, from a shell without the MAIL_URL of the service', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let database: TestDatabase;
  let env: Record<string, string>;

  const run = (...words: readonly string[]): Promise<AnyBody> => operator({ dataDir: data.path, env }, ...words);
  const startAndEnd = async (variables: Record<string, string>): Promise<void> => {
    const program = await startProgram({ dataDir: data.path, env: { ...env, ...variables } });
    await program.end('SIGTERM');
  };

  beforeAll(async () => {
    data = await newDataDir();
    database = await freshDatabase();
    env = { DATABASE_URL: database.url, SECRET_KEY: 'a secret key that is long enough for a test' };
  });
  afterAll(async () => {
    await database.drop();
    await data.remove();
  });

  test('is asked to start the service before it shows which records a domain needs', async () => {
    const { organization_id } = await run('organizations', 'create', '--name', 'Example');
    const place = ['--organization', organization_id];
    for (const words of [['list'], ['create', ...place, '--name', 'early.test']])
      await expect(run('domains', ...words)).rejects.toThrow(/^MAIL_URL and BOUNCE_DOMAIN are unknown/m);
    expect((await doctor({ dataDir: data.path, env })).problems).toContainEqual(
      expect.stringMatching(/^MAIL_URL is unknown/),
    );
    expect(await doctor({ dataDir: data.path, env })).toMatchObject({ domains: 0 });
  });

  test('sees whether the smarthost accepts mail, also by the exit code', async () => {
    const port = await deadPort();
    const tried = await doctor({
      dataDir: data.path,
      env: { ...env, MAIL_URL: `smtp://user:hunter2@127.0.0.1:${port}` },
    });
    expect(tried.code).toBe(1);
    expect(tried.problems).toContainEqual(expect.stringMatching(/^the smarthost .*nothing answers there/));
    expect(JSON.stringify(tried)).not.toContain('hunter2');
    expect((await doctor({ dataDir: data.path, env })).smarthost).toBeNull();
  });

  test('sees domains as the most recently started service does, and verifies none without its records', async () => {
    const dns = await startNameServer({ 'mail.example.test': { A: ['192.0.2.7'] } });
    env = { ...env, DNS_SERVERS: dns.text };
    const direct = {
      MAIL_URL: 'direct:',
      BOUNCE_DOMAIN,
      BOUNCE_PORT: '0',
      EHLO_NAME: 'mail.example.test',
      PUBLIC_URL: 'https://mail.example.test',
    };
    await startAndEnd(direct);
    const [domain] = await run('domains', 'list');
    expect(domain).toMatchObject({ name: 'example.test', status: 'pending', verified: false });
    expect(domain.records).toContainEqual(expect.objectContaining({ kind: 'return_path', value: BOUNCE_DOMAIN }));
    const place = ['--organization', domain.organization_id, '--domain', domain.domain_id];
    expect(await run('domains', 'verify', ...place)).toMatchObject({ status: 'pending', verified: false });
    expect(JSON.stringify((await doctor({ dataDir: data.path, env })).problems)).not.toMatch(/MAIL_URL|EHLO_NAME/);
    await dns.close();

    await startAndEnd({ ROLES: 'projections' }); // these roles do not send
    expect((await run('domains', 'list'))[0]).toMatchObject({ verified: false });

    await startAndEnd({ MAIL_URL: 'capture:' });
    expect(await run('domains', 'verify', ...place)).toMatchObject({ status: 'verified', verified: true });
    expect(JSON.stringify((await run('domains', 'list'))[0].records)).not.toContain(BOUNCE_DOMAIN);
    expect((await doctor({ dataDir: data.path, env })).problems).toContainEqual(
      expect.stringMatching(/^MAIL_URL is capture/),
    );
  });
});
