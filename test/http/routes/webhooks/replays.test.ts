import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let key: string;

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'), {})).value;
});
afterAll(() => service.close());

const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
  const answer = await service.request({ method, url, key, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? null : answer.json() };
};

const register = async (): Promise<string> =>
  `/v1/webhooks/${(await ask('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.*'] })).body.id}`;

describe('a replay', () => {
  test('is started, read and cancelled, and a webhook has one at a time', async () => {
    const hook = await register();
    const started = await ask('POST', `${hook}/replay`, { after: 'start' });
    expect([started.status, started.body]).toMatchObject([202, { status: 'running', since: null, ended_at: null }]);
    const url = `${hook}/replays/${started.body.id}`;
    expect(started.headers.location).toBe(url);
    expect((await ask('GET', url)).body).toEqual(started.body);
    expect((await ask('POST', `${hook}/replay`, { after: 'start' })).body.error.code).toBe('resource_conflict');
    expect((await ask('DELETE', url)).status).toBe(204);
    expect((await ask('GET', url)).body).toMatchObject({ status: 'cancelled', ended_at: expect.any(String) });
    expect((await ask('POST', `${hook}/replay`, { after: 'start' })).status).toBe(202);
    expect((await ask('GET', `${await register()}/replays/${started.body.id}`)).status).toBe(404);
  });

  test('is listed with those before it, newest first and in pages, and not with those of another webhook', async () => {
    const [hook, other] = [await register(), await register()];
    const urls: string[] = [];
    for (let number = 0; number < 3; number += 1) {
      const { body } = await ask('POST', `${hook}/replay`, { after: 'start' });
      urls.unshift(`${hook}/replays/${body.id}`);
      await ask('DELETE', `${urls[0]}`);
    }
    await ask('POST', `${other}/replay`, { after: 'start' });
    const all = await Promise.all(urls.map(async (url) => (await ask('GET', url)).body));
    const { body: page } = await ask('GET', `${hook}/replays?limit=2`);
    expect(page).toMatchObject({ object: 'list', data: all.slice(0, 2), has_more: true });
    const rest = await ask('GET', `${hook}/replays?limit=2&after=${page.next_cursor}`);
    expect(rest.body).toMatchObject({ data: all.slice(2), has_more: false, next_cursor: null });
    const foreign = await ask('GET', `${other}/replays?after=${page.next_cursor}`);
    expect([foreign.status, foreign.body.error.code]).toEqual([400, 'invalid_cursor']);
  });

  test.each([
    [{}, 'must contain either since or after'],
    [{ since: '2026-01-01T00:00:00Z', after: 'start' }, 'must contain either since or after'],
    [{ since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }, 'until must be later than since'],
    [{ since: '2026-01-01' }, 'since must be a time'],
  ])('of %j is refused', async (asked, problem) => {
    const { status, body } = await ask('POST', `${await register()}/replay`, asked);
    expect([status, JSON.stringify(body.error.details)]).toEqual([400, expect.stringContaining(problem)]);
  });

  test('starts from a cursor of the feed, or from a time', async () => {
    const hook = await register();
    const { body: feed } = await ask('GET', '/v1/events');
    const started = await ask('POST', `${hook}/replay`, { after: feed.next_cursor });
    expect([started.status, started.body]).toMatchObject([202, { status: 'running', since: null }]);
    await ask('DELETE', `${hook}/replays/${started.body.id}`);
    const night = { since: '2026-01-30T22:00:00.000Z', until: '2026-01-31T06:00:00.000Z' };
    expect((await ask('POST', `${hook}/replay`, night)).body).toMatchObject({ status: 'running', ...night });
  });

  test('from a cursor of another list, or of a disabled webhook, is refused', async () => {
    const hook = await register();
    expect((await ask('POST', `${hook}/replay`, { after: 'x' })).body.error.code).toBe('invalid_cursor');
    await ask('PATCH', hook, { enabled: false });
    expect((await ask('POST', `${hook}/replay`, { after: 'start' })).body.error.code).toBe('webhook_disabled');
  });
});
