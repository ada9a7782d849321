import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let key: string;
let all: readonly string[];

const page = async (query: string) => {
  const answer = await service.request({ url: `/v1/events?${query}`, key });
  expect(answer.statusCode).toBe(200);
  const { data, has_more, next_cursor } = answer.json();
  return { ids: (data as { id: string }[]).map(({ id }) => id), has_more, next_cursor };
};

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  const payload = { from: 'a@example.test', to: ['b@example.org', 'c@example.org'], subject: 'x', text: 'x' };
  for (let sent = 0; sent < 3; sent += 1)
    await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
  all = (await page('limit=100')).ids;
});
afterAll(() => service.close());

test('after=start reads all events there are from the first on, page by page', async () => {
  const seen: string[] = [];
  let after = 'start';
  for (;;) {
    const { ids, has_more, next_cursor } = await page(`limit=2&after=${after}`);
    seen.push(...ids);
    after = next_cursor;
    expect(has_more).toBe(seen.length < all.length);
    if (!has_more) break;
  }
  expect(all.length).toBeGreaterThan(6);
  expect(seen).toEqual(all);
  expect(await page(`after=${after}`)).toEqual({ ids: [], has_more: false, next_cursor: after });
});

test('the newest page says that nothing follows its cursor, however much came before it', async () => {
  const { ids, has_more, next_cursor } = await page('limit=2');
  expect(ids).toEqual(all.slice(-2));
  expect(has_more).toBe(false);
  expect((await page(`after=${next_cursor}`)).ids).toEqual([]);
});

test('a type is read from its first event on', async () => {
  const { ids } = await page('after=start&types=domain.registered');
  expect(ids).toHaveLength(1);
});

test('until ends the feed with the event of a cursor, on every page and for every filter', async () => {
  const { next_cursor: third } = await page('after=start&limit=3');
  expect(await page(`after=start&limit=2&until=${third}`)).toMatchObject({ ids: all.slice(0, 2), has_more: true });
  const whole = await page(`after=start&until=${third}`);
  expect(whole).toEqual({ ids: all.slice(0, 3), has_more: false, next_cursor: third });
  expect(await page(`until=${third}`)).toEqual(whole);
  expect((await page(`after=${third}&until=${third}&wait=0`)).ids).toEqual([]);
  expect((await page(`after=start&types=message.*&until=${third}`)).ids.length).toBeLessThan(4);
});

test('an until that is not a cursor, is not issued yet, or would end a stream is refused', async () => {
  for (const until of ['x', 'start%0D%0A', 'a'.repeat(5_000)]) {
    const { statusCode, body } = await service.request({ url: `/v1/events?until=${until}`, key });
    expect([statusCode, body]).toEqual([400, expect.stringContaining('until is not a cursor of this list')]);
  }
  const { next_cursor } = await page('limit=1');
  const headers = { accept: 'text/event-stream' };
  const stream = await service.request({ url: `/v1/events?until=${next_cursor}`, key, headers });
  expect([stream.statusCode, stream.json().error.details.until]).toEqual([
    400,
    [expect.stringContaining('read pages')],
  ]);
});
