import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../support/api-client.ts';
import { answerCheck } from '../support/openapi/answer-check.ts';
import { operationsOf, readOpenApi } from '../support/openapi/document.ts';
import { operator, unlimitedKey } from '../support/operator.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { runCampaign } from './fuzz/campaign.ts';
import { createKnownThings } from './fuzz/known-things.ts';
import type { Material } from './fuzz/make-request.ts';
import { createSender } from './fuzz/send-request.ts';

/**
 * `FUZZ_REQUESTS=500 FUZZ_SEED=7 FUZZ_ONLY=123` sets the number of requests, repeats a run, or runs one request alone.
 */
const COUNT = Number(process.env.FUZZ_REQUESTS ?? 20_000);
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(performance.timeOrigin % 1_000_000));
const ONLY = process.env.FUZZ_ONLY === undefined ? null : Number(process.env.FUZZ_ONLY);
const CONCURRENCY = 32;
const SLOW_MOMENTS_MAX = 5;
/**
 * Only a request that hangs takes this long. Shorter: a machine with ten times the load fails the test. Longer: a hang
 * is reported later.
 */
const ANSWER_MS_MAX = 120_000;

describe('a service that receives arbitrary requests', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path, env: { TRUSTED_PROXIES: '127.0.0.1' } });
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  /** Ids of every kind of resource in another organization, all of which must stay hidden. */
  const foreignIds = async (): Promise<readonly string[]> => {
    const options = { dataDir: data.path };
    const { organization_id: organization } = await operator(options, 'organizations', 'create', '--name', 'Other');
    const place = ['--organization', organization, '--name', 'other.test'];
    const { domain_id: domain } = await operator(options, 'domains', 'create', ...place);
    const bound = ['--organization', organization, '--domain', domain, '--permissions', 'admin'];
    const made = await operator(options, 'keys', 'create', ...bound);
    const api = apiClient(program.baseUrl, made.key);
    const sent = await eventually(
      () => api.post('/v1/messages/send', { from: 'a@other.test', to: 'b@example.org', subject: 'x', text: 'x' }),
      ({ status }) => status === 202,
    );
    const hook = await api.post('/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['domain.*'] });
    const suppression = await api.post('/v1/suppressions', { address: 'nobody@example.net' });
    const topic = await api.post('/v1/topics', { name: 'Offers', default: 'in' });
    const keys = await api.get('/v1/api-keys');
    return [domain, topic.body.id, sent.body.id, hook.body.id, suppression.body.id, keys.body.data[0].id];
  };

  const material = async (): Promise<Material> => {
    const key = await unlimitedKey({ dataDir: data.path });
    const api = apiClient(program.baseUrl, key);
    const own = await eventually(
      () => api.get('/v1/api-keys'),
      ({ status }) => status === 200,
    );
    const domains = await api.get('/v1/domains');
    const ids = [...own.body.data, ...domains.body.data].map(({ id }: { id: string }) => id);
    const limits = { send: 1_000_000, read: 1_000_000, manage: 1_000_000 };
    const weaker = async (more: object): Promise<string> => {
      const asked = { name: 'weaker', domain_id: domains.body.data[0].id, rate_limits: limits, ...more };
      const made = await api.post('/v1/api-keys', asked);
      ids.push(made.body.id);
      return made.body.key;
    };
    const keys = [
      key,
      await weaker({ permissions: ['admin'], environment: 'test' }),
      await weaker({ permissions: ['send'] }),
      await weaker({ permissions: ['read', 'manage'] }),
    ];
    const document = readOpenApi(await (await fetch(`${program.baseUrl}/openapi.json`)).json());
    return { document, operations: operationsOf(document), known: createKnownThings(ids, await foreignIds()), keys };
  };

  test(`answers ${COUNT} requests as documented, and works as before (FUZZ_SEED=${SEED})`, async () => {
    const made = await material();
    const sender = createSender(program.baseUrl, CONCURRENCY, ANSWER_MS_MAX);
    const campaign = await runCampaign({
      material: made,
      sender,
      check: answerCheck(made.document),
      seed: SEED,
      count: COUNT,
      concurrency: CONCURRENCY,
      only: ONLY,
    });
    sender.close();
    const rate = Math.round(COUNT / campaign.seconds);
    process.stdout.write(`fuzz: seed ${SEED}, ${rate} requests/s, ${JSON.stringify(campaign.statuses)}\n`);
    for (const finding of campaign.findings) process.stdout.write(`fuzz: ${JSON.stringify(finding)}\n`);
    // One text, because reports shorten lists.
    expect(campaign.findings.map(({ number, problems }) => `${number}: ${problems.join('; ')}`).join('\n')).toBe('');
    // Requests in flight during a slow moment may get 503. More than a few such moments are no coincidence.
    expect(campaign.statuses['503, asked again'] ?? 0).toBeLessThanOrEqual(SLOW_MOMENTS_MAX * CONCURRENCY);
    expect(Object.keys(campaign.statuses)).toEqual(
      expect.arrayContaining(ONLY === null ? ['200', '201', '202', '204'] : []),
    );

    const api = apiClient(program.baseUrl, made.keys[0] ?? '');
    const message = { from: 'a@example.test', to: 'still.there@example.org', subject: 'Still there', text: 'x' };
    const sent = await api.post('/v1/messages/send', message);
    await eventually(
      () => api.get(`/v1/messages/${sent.body.id}`),
      ({ body }) => body.status === 'delivered',
      60_000,
    );
    expect((await fetch(`${program.baseUrl}/readyz`)).status).toBe(200);
    expect(program.output().match(/^.*"level":"(?:error|fatal)".*$/gm) ?? []).toEqual([]);
  }, 1_200_000);
});
