import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { SMTPServer } from 'smtp-server';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type AnyBody, apiClient, eventually } from '../support/api-client.ts';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { startNameServer } from '../support/name-server.ts';
import { doctor, operator } from '../support/operator.ts';
import { type Place, placeForTest, programForTest } from '../support/place-for-test.ts';
import type { Program } from '../support/program.ts';
import { startScriptedServer } from '../support/scripted-smtp-server/scripted-server.ts';

const BOUNCE_DOMAIN = 'bounces.example.test';

describe('the operator who checks why mail is not sent or does not come back', () => {
  let dataDir: string;
  let env: Place['env'];

  beforeEach(async () => {
    ({ dataDir, env } = await placeForTest());
  });
  const start = (variables: Record<string, string>): Promise<Program> =>
    programForTest({ dataDir, env: { ...env, ...variables } });
  const run = (...words: readonly string[]): Promise<AnyBody> => operator({ dataDir, env }, ...words);
  const problems = async (): Promise<readonly string[]> => (await doctor({ dataDir, env })).problems;

  test('sees roles that no process has, and the mail that waits for them', async () => {
    const api = await start({ ROLES: 'api' });
    const projections = await start({ ROLES: 'projections' });
    const sent = await apiClient(api.baseUrl, api.keys.live).post('/v1/messages/send', {
      from: 'shop@example.test',
      to: 'ann@example.net',
      subject: 'Hello',
      text: 'Hello',
    });
    expect(sent.status).toBe(202);
    expect(await eventually(problems, (found) => found.some((problem) => problem.includes('are due')))).toEqual([
      'no running process has the role workers: mail and webhooks are not sent. 1 messages are due',
      'MAIL_URL is capture: mail is stored and never sent',
    ]);
    expect((await doctor({ dataDir, env })).code, 'exit code').toBe(1);
    await projections.end('SIGTERM');
    expect(await problems()).toContainEqual(expect.stringMatching(/^no running process has the role projections: /));
    await start({ ROLES: 'projections,workers' });
    expect(await eventually(problems, (found) => found.length === 1)).toEqual([
      'MAIL_URL is capture: mail is stored and never sent',
    ]);
    const client = new Client({ connectionString: env.DATABASE_URL });
    await client.connect();
    await client.query(`delete from vault.contents where kind = 'message'`);
    await client.end();
    expect(await problems()).toContainEqual(
      expect.stringContaining(`the vault has lost the contents of ${sent.body.id}`),
    );
  });

  test('sees which DNS records are missing for returned mail, until a server answers there', async () => {
    const dns = await startNameServer({ 'mail.example.test': { A: ['127.0.0.1'] } });
    const mx = new SMTPServer({ authOptional: true, disableReverseLookup: true });
    const listening = mx.listen(0, '127.0.0.22');
    await once(listening, 'listening');
    onTestFinished(dns.close);
    onTestFinished(() => new Promise<void>((resolve) => mx.close(resolve)));
    const port = (listening.address() as AddressInfo).port;
    env = { ...env, DNS_SERVERS: dns.text, OUTBOX_TEST_MX_PORT: String(port) };
    await start({
      MAIL_URL: 'direct:',
      PUBLIC_URL: 'https://mail.example.test',
      EHLO_NAME: 'mail.example.test',
      BOUNCE_DOMAIN,
      BOUNCE_PORT: '0',
    });
    const ofReturn = async (): Promise<readonly string[]> =>
      (await problems()).filter((one) => one.includes(BOUNCE_DOMAIN));
    expect(await ofReturn()).toEqual([
      `BOUNCE_DOMAIN ${BOUNCE_DOMAIN}: ${BOUNCE_DOMAIN} has no DNS address: bounces and complaints are lost. Publish an MX record that points to this service`,
    ]);
    dns.change({ [BOUNCE_DOMAIN]: { MX: [[10, 'mx.example.test']] }, 'mx.example.test': { A: ['127.0.0.23'] } });
    expect(await ofReturn()).toEqual([expect.stringContaining(`mx.example.test does not answer on port ${port}`)]);
    dns.change({ 'mx.example.test': { A: ['127.0.0.22'] } });
    // PUBLIC_URL does not answer, and the records of the domain are not published.
    const others = async () => (await problems()).filter((one) => !/^(?:PUBLIC_URL|domain) /.test(one));
    expect(await others()).toEqual([]);
    expect(await problems()).toContainEqual(
      expect.stringMatching(/^PUBLIC_URL https:\/\/mail\.example\.test: no TLS connection from this machine/),
    );
    expect(await problems()).toContainEqual(expect.stringMatching(/^domain example\.test: TXT .* publish /));
    dns.change({ 'mail.example.test': {} });
    expect(await others()).toEqual([expect.stringMatching(/^EHLO_NAME mail\.example\.test has no DNS address/)]);
  });

  test('sees mail that waits because its server refuses this machine', async () => {
    const mx = await startScriptedServer(
      { RCPT: () => '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org' },
      { host: '127.0.0.24' },
    );
    const dns = await startNameServer({
      'mail.example.test': { A: ['127.0.0.1'] },
      'example.net': { MX: [[10, 'mx.example.net']] },
      'mx.example.net': { A: ['127.0.0.24'] },
    });
    onTestFinished(dns.close);
    onTestFinished(mx.close);
    env = { ...env, DNS_SERVERS: dns.text, OUTBOX_TEST_MX_PORT: String(mx.port), ALLOW_PRIVATE_MX: 'true' };
    const { baseUrl, keys } = await start({ MAIL_URL: 'direct:', EHLO_NAME: 'mail.example.test' });
    const api = apiClient(baseUrl, keys.live);
    const [domain] = (await api.get('/v1/domains')).body.data;
    const texts = domain.records.filter(({ type }: AnyBody) => type === 'TXT');
    dns.change(Object.fromEntries(texts.map(({ name, value }: AnyBody) => [name, { TXT: [value] }])));
    expect((await api.post(`/v1/domains/${domain.id}/verify`)).body).toMatchObject({ status: 'verified' });
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Hello', text: 'Hello' };
    const { status, body } = await api.post('/v1/messages/send', mail);
    expect(status).toBe(202);
    expect(await eventually(problems, (found) => found.some((problem) => problem.includes('554')))).toContainEqual(
      `mail waits because a mail server rejects this service: mx.example.net says 554 5.7.1 (reputation). For details see \`GET /v1/messages/${body.id}/explain\``,
    );
  });

  test('gets a sentence, without a stack trace, in a shell that names another log', async () => {
    const double = await startEventStoreDbDouble();
    onTestFinished(double.stop);
    const service = await start({ EVENTSTORE_URL: double.url });
    await apiClient(service.baseUrl, service.keys.live).get('/v1/organization');
    for (const words of [['doctor'], ['projections', 'list'], ['projections', 'rebuild', 'all'], ['keys', 'list']]) {
      const { stderr } = await run(...words).catch((error) => error);
      expect(stderr).toMatch(
        /^the read models were made from log \S+, and this is log \S+: set EVENTSTORE_URL as the/m,
      );
      expect(stderr).not.toMatch(/^\s+at /m);
    }
    expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200);
  });
});
