import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linkWarning, readPlans, readServiceConfig } from '../../src/composition/read-service-config.ts';
import { StartRefused } from '../../src/lib/async/async.ts';
import { type TlsPair, writeTlsPair } from '../submission/support/tls-pair.ts';

let folder: string;
let files: TlsPair;
let wrong: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outbox-tls-'));
  files = await writeTlsPair(folder);
  wrong = join(folder, 'wrong.pem');
  await writeFile(wrong, 'no certificate');
});
afterAll(() => rm(folder, { recursive: true }));

const problems = async (environment: Record<string, string>): Promise<readonly string[]> => {
  const error = await readServiceConfig(environment).then(
    () => null,
    (refused: unknown) => refused,
  );
  if (error === null) return [];
  expect(error).toBeInstanceOf(StartRefused);
  return (error as StartRefused).message.trim().split('\n');
};

describe('the configuration of a service', () => {
  test('reports problems with its certificate together with those of other variables', async () => {
    const [first, second, ...rest] = await problems({
      PORT: '70000',
      SUBMISSION_PORT: '0',
      TLS_CERT_FILE: wrong,
      TLS_KEY_FILE: files.key,
    });
    expect(first).toMatch(/^PORT: /);
    expect(second).toMatch(/^cannot use TLS_CERT_FILE and TLS_KEY_FILE: .*: set a certificate and its key in PEM$/);
    expect(rest).toEqual([]);
    expect(await problems({ PORT: '70000', SUBMISSION_TLS_PORT: '0' })).toEqual([
      expect.stringMatching(/^PORT: /),
      'SUBMISSION_TLS_PORT needs TLS_CERT_FILE and TLS_KEY_FILE: set them, or unset it',
    ]);
  });

  test('accepts a matching pair of files, and rejects a missing file or half a pair', async () => {
    const submission = { SUBMISSION_PORT: '0', TLS_KEY_FILE: files.key };
    expect(await problems({ ...submission, TLS_CERT_FILE: files.cert })).toEqual([]);
    expect(await problems({ ...submission, TLS_CERT_FILE: join(folder, 'absent.pem') })).toHaveLength(1);
    expect(await problems(submission)).toEqual([expect.stringMatching(/^TLS_KEY_FILE: set both/)]);
    const returned = { BOUNCE_DOMAIN: 'b.test', TLS_CERT_FILE: wrong, TLS_KEY_FILE: files.key };
    expect(await problems(returned)).toHaveLength(1);
  });

  test('ignores files that this process does not use', async () => {
    const shared = { TLS_CERT_FILE: wrong, TLS_KEY_FILE: files.key };
    expect(await problems(shared)).toEqual([]);
    expect(await problems({ ...shared, SUBMISSION_PORT: '0', ROLES: 'projections,workers' })).toEqual([]);
    expect(await problems({ ...shared, BOUNCE_DOMAIN: 'b.test', ROLES: 'api' })).toEqual([]);
  });

  test('is rejected if links in real mail could not lead back, and accepted if they can', async () => {
    const refused = [expect.stringMatching(/^PUBLIC_URL: links in mail would lead to http:.*set the API/)];
    for (const HOST of ['0.0.0.0', '::', '0:0::0']) {
      expect(await problems({ HOST, MAIL_URL: 'smtp://127.0.0.1:25' })).toEqual(refused);
      expect(await problems({ HOST, MAIL_URL: 'direct:', ROLES: 'workers' })).toEqual(refused);
      expect(await problems({ HOST, MAIL_URL: 'direct:', PUBLIC_URL: 'https://mail.example.com' })).toEqual([]);
      expect(await problems({ HOST, MAIL_URL: 'direct:', ROLES: 'projections' })).toEqual([]);
      expect(await problems({ HOST })).toEqual([]);
    }
    expect(await problems({ MAIL_URL: 'direct:' })).toEqual(refused);
    expect(await problems({ MAIL_URL: 'smtp://mail.example.com' })).toEqual(refused);
    expect(await problems({ MAIL_URL: 'smtp://mail.example.com', HOST: '192.0.2.7' })).toEqual([]);
    expect(await problems({ MAIL_URL: 'smtp://[::1]:1025' })).toEqual([]);
    expect(await problems({ MAIL_URL: 'direct:', ALLOW_PRIVATE_MX: 'true' })).toEqual([]);
  });

  test('warns that links in real mail lead to this machine, and only then', async () => {
    const warning = async (environment: Record<string, string>): Promise<string | null> =>
      linkWarning(await readServiceConfig(environment));
    const lan = await warning({ MAIL_URL: 'smtp://mail.example.com', HOST: '192.0.2.7' });
    expect(lan).toMatch(/^PUBLIC_URL is not set: .* http:\/\/192\.0\.2\.7:3000, which recipients .* Set PUBLIC_URL/);
    expect(await warning({ MAIL_URL: 'smtp://[::1]:1025', ROLES: 'workers' })).toContain('http://127.0.0.1:3000');
    expect(await warning({ MAIL_URL: 'direct:', ALLOW_PRIVATE_MX: 'true' })).not.toBeNull();
    expect(await warning({ MAIL_URL: 'smtp://[::1]:1025', PUBLIC_URL: 'https://mail.example.com' })).toBeNull();
    expect(await warning({ MAIL_URL: 'smtp://[::1]:1025', ROLES: 'projections' })).toBeNull();
    expect(await warning({})).toBeNull();
  });

  test('reports every problem with its plans by name', async () => {
    const write = async (name: string, content: string): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, content);
      return path;
    };
    const plan = {
      ...{ id: 'a', name: 'A', currency: 'EUR', price: 100, included: null, overage_per_1000: '0' },
    };
    const partner = { ...plan, id: 'partner', hard_limit: 5, offered: false };
    const right = await write('right.json', JSON.stringify({ default: 'a', plans: [plan, partner] }));
    expect(await problems({ PLANS_FILE: right })).toEqual([]);
    const { default: first, offered } = await readPlans(right);
    expect([first.id, offered]).toEqual(['a', [first]]);
    const issuer = { name: 'Mail Ltd', address: '2 Low Road\nLeeds', tax: { name: 'VAT', rate: '7.7' } };
    const issued = await readPlans(await write('issuer.json', JSON.stringify({ plans: [plan], issuer })));
    expect(issued.issuer).toEqual({ ...issuer, taxId: null, numberPrefix: null });
    const bad = { name: 'a\nb', tax: { name: 'VAT', rate: 19 }, number_prefix: '' };
    const wrong = await problems({
      PLANS_FILE: await write('bad.json', JSON.stringify({ plans: [plan], issuer: bad })),
    });
    expect(wrong).toEqual([
      'PLANS_FILE: issuer.name must be one line without control characters',
      'PLANS_FILE: issuer.address is required',
      'PLANS_FILE: issuer.tax.rate must be a string',
      'PLANS_FILE: issuer.number_prefix must not be empty',
    ]);
    const plans = [plan, { ...plan, price: 1.5, overage_per_1000: '1e3', colour: 'red' }];
    const refused = await problems({ PLANS_FILE: await write('wrong.json', JSON.stringify({ plans })) });
    expect(refused).toEqual([
      'PLANS_FILE: plans[1].price must be a whole number, in the smallest unit of the currency (cents)',
      expect.stringMatching(/^PLANS_FILE: plans\[1\]\.overage_per_1000 must be a decimal string with at most 6 digits/),
      'PLANS_FILE: plans[1].colour is not a known field',
    ]);
    const { price: _, ...free } = plan;
    const missing = await write('missing.json', JSON.stringify({ plans: [{ ...free, currency: 'euro' }] }));
    expect(await problems({ PLANS_FILE: missing })).toEqual([
      'PLANS_FILE: plans[0].currency must be an ISO 4217 currency code, such as EUR',
      'PLANS_FILE: plans[0].price is required',
    ]);
    expect(await problems({ PLANS_FILE: await write('list.json', '[]') })).toEqual([
      'PLANS_FILE: the file must contain a JSON object with a list of plans',
    ]);
    const twice = await write('twice.json', JSON.stringify({ default: 'b', plans: [plan, plan] }));
    expect(await problems({ PLANS_FILE: twice })).toEqual([
      'PLANS_FILE: plans[1].id is a, which is the id of another plan too',
      'PLANS_FILE: default is b, but no plan has this id',
    ]);
    expect(await problems({ PLANS_FILE: await write('broken.json', '{') })).toEqual([
      expect.stringMatching(/^PLANS_FILE: .*broken.json cannot be read: .*: name a JSON file$/),
    ]);
    expect(await problems({ PLANS_FILE: join(folder, 'absent.json') })).toEqual([
      expect.stringMatching(/^PLANS_FILE: .*absent.json cannot be read: ENOENT/),
    ]);
  });
});
