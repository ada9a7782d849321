import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { type DatabaseService, startDatabaseService } from './support/database-service.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

let service: DatabaseService;
let organizationId: string;
let key: string;
let sender: string;
let shiftMs = 0;
const real = createSystem();

beforeAll(async () => {
  service = await startDatabaseService({ system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } });
  organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'past.example');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
  const other = await service.makeDomain(organizationId, 'other.example');
  sender = (await service.makeKey(organizationId, other, { permissions: ['read', 'send'] })).value;
});
afterAll(() => service.close());

const call = async (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object, by = key) => {
  const answer = await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, body: answer.statusCode === 204 ? null : answer.json() };
};
const send = async (to: string): Promise<string> => {
  const scheduled = new Date(service.deps.context.system.now().getTime() + HOUR_MS).toISOString();
  const mail = { from: 'a@past.example', to, subject: 'Hello', text: 'Hello', scheduled_at: scheduled };
  return (await call('POST', '/v1/messages/send', mail)).body.id;
};
const suppress = async (address: string, more: object = {}): Promise<string> =>
  (await call('POST', '/v1/suppressions', { address, ...more })).body.id;
/** The newest entry of the audit log, as a value of `at`. */
const now = async (): Promise<string> => `leaf:${(await call('GET', '/v1/audit/log?limit=1')).body.data[0].leaf_index}`;

/** All items of a list, page by page. */
const all = async (url: string) => {
  const items: { id: string; status: string; reason?: string }[] = [];
  for (let cursor = ''; ; ) {
    const { status, body } = await call('GET', `${url}&limit=2${cursor}`);
    expect(status).toBe(200);
    items.push(...body.data);
    if (!body.has_more) return items;
    cursor = `&after=${body.next_cursor}`;
  }
};

describe('the list of messages at an earlier time', () => {
  test('has the states of that time, and no message that was accepted later', async () => {
    const ids = [await send('b@example.org'), await send('c@example.org'), await send('d@example.org')];
    const before = await now();
    await call('POST', `/v1/messages/${ids[1]}/cancel`, {});
    const after = await now();
    shiftMs += YEAR_MS;
    const time = new Date(real.now().getTime() + shiftMs - HOUR_MS).toISOString();
    for (let n = 0; n < 5; n += 1) await send('e@example.org');
    const states = async (at: string) => (await all(`/v1/messages?at=${at}`)).map(({ id, status }) => [id, status]);
    const scheduled = ids.toReversed().map((id) => [id, 'scheduled']);
    expect(await states(before)).toEqual(scheduled);
    const cancelled = scheduled.map(([id, status]) => [id, id === ids[1] ? 'cancelled' : status]);
    expect(await states(after)).toEqual(cancelled);
    expect(await states(time)).toEqual(cancelled);
    expect((await all(`/v1/messages?at=${before}&to=c@example.org`)).map(({ id }) => id)).toEqual([ids[1]]);
    const { body } = await call('GET', `/v1/messages?at=${before}&limit=1`);
    expect([body.data[0].id, body.as_of.leaf_index]).toEqual([ids[2], Number(before.slice('leaf:'.length))]);
    const { body: one } = await call('GET', `/v1/messages/${ids[1]}?at=${after}`);
    const [listed] = await all(`/v1/messages?at=${after}&to=c@example.org`);
    expect(one).toMatchObject(listed ?? {});
  });

  test('accepts no status, and shows a key no other domain', async () => {
    const at = await now();
    const { status, body } = await call('GET', `/v1/messages?at=${at}&status=delivered`);
    expect([status, body.error.details]).toEqual([
      400,
      { status: ['status cannot be combined with at, because it filters by the current status'] },
    ]);
    expect((await call('GET', `/v1/messages?at=${new Date().toISOString()}`, undefined, sender)).body.data).toEqual([]);
    const early = await call('GET', '/v1/messages?at=2020-01-01');
    expect(early.body).toEqual({ object: 'list', data: [], has_more: false, next_cursor: null });
  });

  test('begins at its moment even if the clock of a process was ahead', async () => {
    shiftMs += YEAR_MS;
    const ahead = await send('f@example.org');
    shiftMs -= YEAR_MS;
    const behind = await send('g@example.org');
    const at = await now();
    expect((await all(`/v1/messages?at=${at}`)).slice(0, 2).map(({ id }) => id)).toEqual([ahead, behind]);
  });
});

describe('the list of suppressions at an earlier time', () => {
  test('contains those in force at that time, ordered by when they were first added', async () => {
    const [first, second, short] = [
      await suppress('one@example.net'),
      await suppress('two@example.net'),
      await suppress('short@example.net', {
        expires_at: new Date(real.now().getTime() + shiftMs + 60_000).toISOString(),
      }),
    ];
    const before = await now();
    await call('DELETE', `/v1/suppressions/${second}`);
    const removed = await now();
    shiftMs += HOUR_MS;
    await suppress('one@example.net', { note: 'again' });
    await suppress('two@example.net');
    const third = await suppress('three@example.net');
    const after = await now();
    const ids = async (at: string, more = '') => (await all(`/v1/suppressions?at=${at}${more}`)).map(({ id }) => id);
    expect(await ids(before)).toEqual([short, second, first]);
    expect(await ids(removed)).toEqual([short, first]);
    expect(await ids(after)).toEqual([third, second, first]);
    expect(await ids(before, '&address=two@example.net')).toEqual([second]);
    expect(await ids(removed, '&address=two@example.net')).toEqual([]);
    expect(await ids(before, '&reason=manual')).toEqual([short, second, first]);
    expect(await ids(before, '&reason=bounce')).toEqual([]);
    const { body } = await call('GET', `/v1/suppressions?at=${before}&address=one@example.net`);
    expect(body.data[0].entries).toHaveLength(1);
    expect(body.data[0].entries[0].evidence).toBeNull();
    const { as_of: _, ...one } = (await call('GET', `/v1/suppressions/${second}?at=${before}`)).body;
    expect(await all(`/v1/suppressions?at=${before}&address=two@example.net`)).toEqual([one]);
  });

  test('has cursors of its own', async () => {
    const at = await now();
    const { body } = await call('GET', '/v1/suppressions?limit=1');
    const { status, body: refused } = await call('GET', `/v1/suppressions?at=${at}&after=${body.next_cursor}`);
    expect([status, refused.error.code]).toEqual([400, 'invalid_cursor']);
  });
});
