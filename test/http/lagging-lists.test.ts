import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from './support/database-service.ts';

let service: DatabaseService;
let key: string;
let organizationId: string;
let holder: Client;

const get = (url: string) => service.request({ url, key });
const VALID = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };
const send = () => service.request({ method: 'POST', url: '/v1/messages/send', key, payload: VALID });

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
  await send();
  const made = await service.request({
    method: 'POST',
    url: '/v1/suppressions',
    key,
    payload: { address: 'a@example.net' },
  });
  expect(made.statusCode).toBe(201);
  holder = new Client({ connectionString: service.url });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await service.close();
});

/** Runs `work` while these read models do not advance. Their readers are not blocked. */
const whileStill = async (names: readonly string[], work: () => Promise<void>): Promise<void> => {
  await holder.query('begin');
  await holder.query('select from read_models.checkpoints where name = any($1) for update', [names]);
  try {
    await work();
  } finally {
    await holder.query('rollback');
  }
};

const isTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('a list whose read model lags', () => {
  test('is complete, and says nothing about it, as long as its read model is current', async () => {
    const { statusCode, ...answer } = await get('/v1/messages');
    expect(statusCode).toBe(200);
    expect(answer.json()).not.toHaveProperty('complete_until');
    expect(answer.json().data).toHaveLength(1);
  });

  test.each([
    ['messages', '/v1/messages'],
    ['api-keys', '/v1/api-keys'],
  ])('of %s returns what it has, and until when it is complete', async (name, url) => {
    const before = (await get(url)).json();
    await whileStill([name], async () => {
      await send();
      const answer = await get(url);
      expect(answer.statusCode).toBe(200);
      const idsOf = ({ data }: { readonly data: readonly { readonly id: string }[] }) => data.map(({ id }) => id);
      expect([idsOf(answer.json()), answer.json().complete_until]).toEqual([idsOf(before), isTime]);
      const strict = await get(`${url}?consistency=strict`);
      expect([strict.statusCode, strict.json().error.code]).toEqual([503, 'unavailable']);
    });
    expect((await get(url)).json()).not.toHaveProperty('complete_until');
  });

  test('is rejected if customers decide by it, however it is asked for', async () => {
    await whileStill(['suppressions', 'billing'], async () => {
      await send();
      for (const url of ['/v1/suppressions', '/v1/billing/invoices']) expect((await get(url)).statusCode).toBe(503);
    });
    const asked = await get('/v1/suppressions?consistency=strict');
    expect([asked.statusCode, asked.json().error.code]).toEqual([400, 'invalid_request']);
    expect((await get('/v1/suppressions')).json().data).toHaveLength(1);
  });

  test.each(['', 'lax', 'STRICT', 'strict&consistency=strict', 'strict%00'])(
    'refuses consistency=%s',
    async (consistency) => {
      const answer = await get(`/v1/messages?consistency=${consistency}`);
      expect([answer.statusCode, Object.keys(answer.json().error.details)]).toEqual([400, ['consistency']]);
    },
  );

  test('that has nothing yet is rejected: an empty list would be a lie', async () => {
    await holder.query(`update read_models.checkpoints set occurred_at = null where name = 'messages'`);
    await whileStill(['messages'], async () => {
      await send();
      expect((await get('/v1/messages')).statusCode).toBe(503);
    });
  });
});

test('statistics of a read model that lags are those until complete_until', async () => {
  const range = '?from=2020-01-01&to=2030-01-01&granularity=month';
  await get('/v1/messages');
  await whileStill(['stats'], async () => {
    await send();
    const answer = await get(`/v1/stats${range}`);
    expect([answer.statusCode, answer.json().complete_until]).toEqual([200, isTime]);
  });
});

test('the readiness probe names read models that are being rebuilt, and how far they are', async () => {
  expect((await service.request({ url: '/readyz' })).json()).toEqual({ status: 'ok' });
  await holder.query(`select pg_advisory_lock(7310012, hashtext('messages'))`);
  const answer = await service.request({ url: '/readyz' });
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    { status: 'ok', rebuilding: [{ read_model: 'messages', percent: 0 }] },
  ]);
  await holder.query('select pg_advisory_unlock_all()');
});
