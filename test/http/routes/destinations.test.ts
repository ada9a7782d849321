import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { suspendDestination } from '../../../src/commands/destination.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let admin: string;
let reader: string;

const MINUTE_MS = 60_000;
const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * MINUTE_MS).toISOString();

const suspend = (operator: string, until: string) =>
  suspendDestination(service.deps.context, {
    operator,
    domain: `customers-of.${operator}`,
    reason: 'unreachable',
    code: 0,
    enhanced: null,
    mx: `mx.${operator}`,
    times: 2,
    until,
  });

const list = async (query = '') => {
  const answer = await service.request({ url: `/v1/destinations${query}`, key: admin });
  return { status: answer.statusCode, body: answer.json() };
};

const release = async (payload: object, key = admin) => {
  const answer = await service.request({ method: 'POST', url: '/v1/destinations/release', key, payload });
  return { status: answer.statusCode, body: answer.json() };
};

const namesIn = (body: { data: readonly { destination: string }[] }) => body.data.map(({ destination }) => destination);

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  admin = (await service.makeKey(organizationId, domainId)).value;
  reader = (await service.makeKey(organizationId, domainId, { permissions: ['read', 'manage', 'send'] })).value;
  await suspend('first.example', inMinutes(10));
  await suspend('second.example', inMinutes(20));
  await suspend('over.example', inMinutes(-1));
});
afterAll(() => service.close());

describe('suspended destinations', () => {
  test('are listed with the reason, the latest first, without those whose time is over', async () => {
    const { status, body } = await list();
    expect(status).toBe(200);
    expect(namesIn(body)).toEqual(['second.example', 'first.example']);
    expect(body.data[1]).toMatchObject({
      object: 'suspended_destination',
      reason: 'unreachable',
      message: 'None of its mail servers could be reached.',
      times: 2,
      smtp: { code: 0, enhanced: null, mx: 'mx.first.example' },
    });
    expect(JSON.stringify(body)).not.toContain('customers-of');
  });

  test('are listed page by page', async () => {
    const { body } = await list('?limit=1');
    expect(body).toMatchObject({ has_more: true, data: [{ destination: 'second.example' }] });
    expect(namesIn((await list(`?limit=1&after=${body.next_cursor}`)).body)).toEqual(['first.example']);
  });

  test('are not listed if it is one recipient domain alone, which can be released by its name', async () => {
    await suspend('@their-customer.example', inMinutes(10));
    expect(JSON.stringify((await list()).body)).not.toContain('their-customer');
    expect(await release({ destination: '@their-customer.example' })).toMatchObject({ body: { released: true } });
  });

  test('for one sending domain are listed and released only by its own organization', async () => {
    const other = await service.makeOrganization();
    const otherDomain = await service.makeDomain(other, 'other.test');
    const otherAdmin = (await service.makeKey(other, otherDomain)).value;
    const destination = `${otherDomain}@third.example`;
    await suspend(destination, inMinutes(10));
    expect(JSON.stringify((await list()).body)).not.toContain('third.example');
    const seen = (await service.request({ url: '/v1/destinations', key: otherAdmin })).json();
    expect(namesIn(seen)).toContain(destination);
    expect(JSON.stringify(seen)).toContain('It asked for less mail from this sending domain');
    expect((await release({ destination })).body.released).toBe(false);
    expect((await release({ destination }, otherAdmin)).body.released).toBe(true);
  });

  test('stay suspended until the time of the first report, whatever later ones say', async () => {
    const [{ until }] = (await list('?limit=1')).body.data;
    await suspend('second.example', inMinutes(60));
    expect((await list('?limit=1')).body.data[0].until).toBe(until);
  });

  test('are released once, in upper or lower case', async () => {
    const released = { object: 'released_destination', destination: 'first.example', released: true };
    expect(await release({ destination: 'First.Example' })).toEqual({ status: 200, body: released });
    expect((await release({ destination: 'first.example' })).body.released).toBe(false);
    expect((await release({ destination: 'never-heard-of.example' })).body.released).toBe(false);
    expect(namesIn((await list()).body)).toEqual(['second.example']);
  });

  test.each([
    [{}, 'destination is required'],
    [{ destination: 7 }, 'destination must be a string'],
    [{ destination: 'a b' }, 'must be the name of a destination'],
    [{ destination: 'x.example\r\nDATA' }, 'must be the name of a destination'],
    [{ destination: `${'a'.repeat(300)}.example` }, 'must be the name of a destination'],
    [{ destination: 'x.example', all: true }, 'is not a known field'],
  ])('are not released by %j', async (payload, problem) => {
    const { status, body } = await release(payload);
    expect(status).toBe(400);
    expect(JSON.stringify(body.error.details)).toContain(problem);
  });

  test('require admin keys', async () => {
    expect((await release({ destination: 'second.example' }, reader)).status).toBe(403);
    expect((await service.request({ url: '/v1/destinations', key: reader })).statusCode).toBe(403);
  });
});
