import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { LOG_START } from '../../../src/domain/kernel/event-store.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let key: string;
let domainId: string;

const TAGS = [{ name: 'campaign', value: 'spring: first' }];

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  for (const to of ['a@one.example', 'b@one.example', 'c@two.example']) {
    const answer = await service.request({
      method: 'POST',
      url: '/v1/messages/send',
      key,
      payload: { from: 'shop@example.test', to, subject: 'Order', text: 'Thank you.', tags: TAGS },
    });
    expect(answer.statusCode).toBe(202);
  }
});
afterAll(() => service.close());

const get = (query: string, accept = 'application/json') =>
  service.request({ url: `/v1/stats?${query}`, key, headers: { accept } });

const today = (): string => {
  const now = service.deps.context.system.now();
  return `from=${new Date(now.getTime() - 60_000).toISOString()}&to=${new Date(now.getTime() + 60_000).toISOString()}`;
};

describe('GET /v1/stats', () => {
  test('groups by two dimensions, named with each row', async () => {
    const { data } = (
      await get(`${today()}&group_by=recipient_domain,domain&metrics=accepted&granularity=month`)
    ).json();
    const groups = data.filter(({ accepted }: { accepted: number }) => accepted > 0);
    expect(groups.map(({ group, accepted }: { group: object; accepted: number }) => [group, accepted])).toEqual([
      [{ recipient_domain: 'one.example', domain: domainId }, 2],
      [{ recipient_domain: 'two.example', domain: domainId }, 1],
    ]);
  });

  test('gives each group over the whole period, the one with most recipients first', async () => {
    const { groups, data } = (
      await get('from=2020-01-01&group_by=recipient_domain&metrics=accepted&granularity=month')
    ).json();
    expect(data.length).toBeGreaterThan(groups.length);
    expect(groups).toMatchObject([
      { group: 'one.example', accepted: 2, rates: {} },
      { group: 'two.example', accepted: 1, rates: {} },
    ]);
    expect((await get(today())).json()).not.toHaveProperty('groups');
  });

  test('says up to when everything is counted: the newest event of the log', async () => {
    const { complete_until } = (await get(today())).json();
    const { events } = await service.deps.context.store.readAll({ from: LOG_START, limit: 1000 });
    expect(complete_until).toBe(events.at(-1)?.metadata.occurredAt);
  });

  test('returns rates of the requested metrics, null if the denominator is 0', async () => {
    const { totals } = (await get(`${today()}&metrics=accepted,delivered,opened`)).json();
    expect(totals.rates).toEqual({
      delivered: totals.delivered / 3,
      opened: totals.delivered === 0 ? null : 0,
    });
    const empty = (await get('from=2020-01-01&to=2020-01-02')).json();
    expect(empty).toMatchObject({ attribution: 'cohort', totals: { rates: { delivered: null, clicked: null } } });
  });

  test('compares with the previous period', async () => {
    const body = (await get(`${today()}&compare=previous&metrics=accepted`)).json();
    expect(body.totals.accepted).toBe(3);
    expect(body.previous).toMatchObject({ totals: { accepted: 0 }, data: expect.any(Array) });
    expect(Date.parse(body.previous.to)).toBeLessThanOrEqual(Date.parse(body.from));
  });

  test('groups by tag, in plaintext, and counts messages with one', async () => {
    const asked = `${today()}&metrics=accepted&granularity=month`;
    const { data, totals } = (await get(`${asked}&group_by=tag,stream`)).json();
    const tag = 'campaign:spring: first';
    const busy = data.filter(({ accepted }: { accepted: number }) => accepted > 0);
    expect(busy).toMatchObject([{ group: { tag, stream: 'transactional' }, accepted: 3 }]);
    expect(totals.accepted).toBe(3);
    for (const [text, accepted] of [
      [tag, 3],
      ['campaign:autumn', 0],
    ] as const) {
      const found = (await get(`${asked}&tag=${encodeURIComponent(text)}`)).json();
      expect(found.totals.accepted).toBe(accepted);
    }
    const contents = vi.spyOn(service.deps.context.contents, 'heads').mockResolvedValueOnce(new Map());
    const gone = (await get(`${asked}&group_by=tag`)).json();
    contents.mockRestore();
    expect(gone.data.at(-1).group).toMatch(/^\(expired [0-9a-f]{8}\)$/);
  });

  test('can be a table of CSV', async () => {
    const answer = await get(`${today()}&group_by=recipient_domain&metrics=accepted&granularity=month`, 'text/csv');
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      vary: expect.stringContaining('accept'),
      'complete-until': expect.stringMatching(/Z$/),
    });
    const [header, ...rows] = answer.body.split('\r\n');
    expect(header).toBe('start,recipient_domain,accepted,latency_p50_ms,latency_p90_ms,latency_p99_ms');
    expect(rows.filter((row) => row.includes('one.example,2,'))).toHaveLength(1);
    expect(rows.at(-1)).toBe('');
  });

  test('can be a table of JSON Lines, of many rows too', async () => {
    const year = 'from=2026-09-01&to=2026-11-01&granularity=hour&metrics=accepted';
    const answer = await get(year, 'application/x-ndjson, */*;q=0.1');
    expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    const rows = answer.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows).toHaveLength(61 * 24);
    expect(rows[0]).toEqual({
      start: '2026-09-01T00:00:00.000Z',
      accepted: 0,
      latency_p50_ms: null,
      latency_p90_ms: null,
      latency_p99_ms: null,
    });
  });

  test.each([
    ['group_by=domain,stream,api_key', 'group_by'],
    ['group_by=domain,domain', 'group_by'],
    ['group_by=', 'group_by'],
    ['group_by=constructor', 'group_by'],
    [`group_by=${'domain,'.repeat(2_000)}`, 'group_by'],
    ['group_by=domain&group_by=stream', 'group_by'],
    ['compare=next', 'compare'],
    ['group_by=tag,recipient_domain', 'group_by'],

    ['group_by=mailbox_provider&tag=a:b', 'group_by'],
    ['tag=campaign', 'tag'],
  ])('refuses %s', async (query, field) => {
    const answer = await get(query);
    expect([answer.statusCode, Object.keys(answer.json().error.details)]).toEqual([400, [field]]);
  });

  test('says what to do when a tag and recipient domains are requested at once', async () => {
    const { details } = (await get('group_by=recipient_domain&tag=a:b')).json().error;
    expect(details.group_by[0]).toContain('request each one separately, or count the events of GET /v1/events?tag=');
  });

  test('refuses a comparison in a table, and errors are JSON there too', async () => {
    const answer = await get('compare=previous', 'text/csv');
    expect([answer.statusCode, Object.keys(answer.json().error.details)]).toEqual([400, ['compare']]);
  });
});
