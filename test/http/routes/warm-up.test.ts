import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reserveDailyQuota } from '../../../src/commands/warm-up.ts';
import { DEFAULT_PLAN, dayOf } from '../../../src/domain/warm-up/warm-up.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let domainId: string;
let manager: string;
let reader: string;
let stranger: string;

const ask = async (method: 'GET' | 'PUT' | 'DELETE', payload?: unknown, more: { key?: string; id?: string } = {}) => {
  const url = `/v1/domains/${more.id ?? domainId}/warm-up`;
  const body = payload === undefined ? {} : { payload: payload as object };
  const answer = await service.request({ method, url, key: more.key ?? manager, ...body });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
};

const today = () => dayOf(service.deps.context.system.now());

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  manager = (await service.makeKey(organizationId, domainId, { permissions: ['manage', 'read'] })).value;
  reader = (await service.makeKey(organizationId, domainId, { permissions: ['read', 'send'] })).value;
  const other = await service.makeOrganization();
  stranger = (await service.makeKey(other, await service.makeDomain(other, 'other.test'))).value;
});
afterAll(() => service.close());

const NONE = {
  object: 'domain_warm_up',
  status: 'none',
  plan: [],
  starts_on: null,
  ends_on: null,
  day: null,
  recipients_max: null,
  today: [],
};

describe('the warm-up of a domain', () => {
  test('does not exist until it is requested', async () => {
    expect(await ask('GET')).toEqual({ status: 200, body: { ...NONE, domain_id: domainId } });
    expect((await ask('DELETE')).status).toBe(204);
  });

  test('begins today with a plan of its own or with the default, and ends on request', async () => {
    const begun = await ask('PUT', {});
    expect(begun).toMatchObject({
      status: 200,
      body: { status: 'running', plan: [...DEFAULT_PLAN], starts_on: today(), day: 1, recipients_max: 50, today: [] },
    });
    expect(await ask('PUT', { plan: [3, 9] })).toMatchObject({ body: { plan: [3, 9], recipients_max: 3 } });
    expect((await ask('GET')).body).toEqual((await ask('PUT', { plan: [3, 9] })).body);
    expect((await ask('DELETE')).status).toBe(204);
    expect((await ask('GET')).body.status).toBe('none');
  });

  test('is described in docs/warm-up.md with its true answer, plan and sums', async () => {
    const page = await readFile(new URL('../../../docs/warm-up.md', import.meta.url), 'utf8');
    const printed = JSON.parse(page.split('```json\n')[1]?.split('```')[0] ?? '{}');
    const { body } = await ask('PUT', {});
    const dated = { domain_id: domainId, starts_on: body.starts_on, ends_on: body.ends_on };
    expect({ ...printed, ...dated }).toEqual(body);
    const rows = [...page.matchAll(/^\| (\d+) \| ([\d,]+) \| ([\d,]+) \|$/gm)].map((row) =>
      row.slice(1).map((cell) => Number(cell.replaceAll(',', ''))),
    );
    let sum = 0;
    expect(rows).toEqual(
      DEFAULT_PLAN.map((cap, index) => {
        sum += cap;
        return [index + 1, cap, sum];
      }),
    );
    await ask('DELETE');
  });

  test('lists what its destinations got today, largest first', async () => {
    await ask('PUT', { plan: [40] });
    const places = new Map([
      ['small.test', 1],
      ['large.test', 7],
    ]);
    await reserveDailyQuota(service.deps.context, {
      organizationId,
      owner: { domainId },
      day: today(),
      cap: 40,
      known: undefined,
      unused: new Map(),
      requests: [{ recipients: places, exemptFromCap: false }],
    });
    expect((await ask('GET')).body.today).toEqual([
      { destination: 'large.test', recipients: 7 },
      { destination: 'small.test', recipients: 2 },
    ]);
    await ask('DELETE');
  });

  test('is only in the feed of its own organization, each beginning and end once', async () => {
    const types = 'domain.warm_up_started,domain.warm_up_ended';
    const feed = async (key: string) => (await service.request({ url: `/v1/events?types=${types}`, key })).json().data;
    const before = (await feed(manager)).length;
    await Promise.all([ask('PUT', { plan: [8] }), ask('PUT', { plan: [8] }), ask('PUT', { plan: [8] })]);
    await Promise.all([ask('DELETE'), ask('DELETE')]);
    const events = (await feed(manager)).slice(before);
    expect(events.map(({ type }: { type: string }) => type)).toEqual(types.split(','));
    expect(events[0]).toMatchObject({ environment: 'live', data: { domain_id: domainId } });
    expect(await feed(stranger)).toEqual([]);
  });

  test('is visible to its own organization only', async () => {
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      expect((await ask(method, undefined, { key: stranger })).status).toBe(403);
      expect((await ask(method, undefined, { key: reader })).status).toBe(403);
      for (const id of ['dom_unknown', 'x', '%00', 'a'.repeat(90)]) {
        expect((await ask(method, undefined, { id })).status).toBe(404);
      }
    }
    expect((await ask('GET')).body.status).toBe('none');
  });

  test.each([
    [{ plan: [] }],
    [{ plan: [0] }],
    [{ plan: [-1] }],
    [{ plan: [1.5] }],
    [{ plan: ['50'] }],
    [{ plan: ['1\r\n2\u0000'] }],
    [{ plan: [10_000_001] }],
    [{ plan: [1e300] }],
    [{ plan: Array.from({ length: 91 }, () => 1) }],
    [{ plan: 50 }],
    [{ plan: { 0: 50, length: 1 } }],
    [{ plan: [50], starts_on: '2020-01-01' }],
    [{ domain_id: 'dom_1' }],
    [[]],
  ])('is not begun by %j', async (payload) => {
    expect((await ask('PUT', payload)).status).toBe(400);
    expect((await ask('GET')).body.status).toBe('none');
  });

  test('is not begun by a body of ten megabytes', async () => {
    expect((await ask('PUT', { plan: Array.from({ length: 5_000_000 }, () => 1) })).status).toBe(413);
  });
});
