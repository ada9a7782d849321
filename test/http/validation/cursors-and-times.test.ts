import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let key: string;
const sent: string[] = [];

const get = async (url: string) => {
  const answer = await service.request({ url, key });
  return { status: answer.statusCode, body: answer.json() };
};

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
  for (const subject of ['One', 'Two']) {
    const payload = { from: 'a@example.test', to: ['b@example.org', 'c@example.org'], subject, text: 'Hello' };
    const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
    sent.push(answer.json().id);
  }
});
afterAll(() => service.close());

const cursorOf = (...parts: readonly string[]): string => Buffer.from(parts.join('\n')).toString('base64url');

describe('an invalid cursor', () => {
  const refused = async (url: string, cursor: string): Promise<void> => {
    const { status, body } = await get(`${url}?after=${cursor}`);
    expect([url, status, body.error?.code]).toEqual([url, 400, 'invalid_cursor']);
  };

  test.each([
    '+275760-09-13T00:00:00.000Z',
    '0000-01-01T00:00:00.000Z',
    '-000001-01-01T00:00:00.000Z',
    '1969-12-31T23:59:59.999Z',
  ])('with the time %s is refused', async (time) => {
    await refused('/v1/messages', cursorOf('messages', time, `msg_${'a'.repeat(26)}`));
    await refused('/v1/api-keys', cursorOf('api-keys', time, `key_${'a'.repeat(26)}`));
  });

  test('with a place that the feed does not have is refused', async () => {
    const head = await service.deps.context.store.head();
    for (const position of ['z'.repeat(head.length), head.slice(1), `${head}0`, 'nowhere'])
      await refused('/v1/events', cursorOf('events', position, '0'));
    await refused('/v1/events', cursorOf('events', head, '00'));
    await refused('/v1/events', cursorOf('events', '', '3'));
    expect((await get(`/v1/events?after=${cursorOf('events', '', '0')}`)).status).toBe(200);
    expect((await get(`/v1/events?after=${cursorOf('events', head, '0')}`)).status).toBe(200);
  });

  test('of another message is refused', async () => {
    const url = `/v1/messages/${sent[0]}/events`;
    const { next_cursor } = (await get(`${url}?limit=1`)).body;
    expect((await get(`${url}?limit=1&after=${next_cursor}`)).body.data).toHaveLength(1);
    await refused(`/v1/messages/${sent[1]}/events`, next_cursor);
    await refused(url, cursorOf(`message-events/${sent[0]}`, '1.5'));
  });

  test('of another webhook, or of an unknown one, is refused', async () => {
    const make = async (): Promise<string> => {
      const payload = { url: 'http://127.0.0.1:9/', events: ['message.*'] };
      return (await service.request({ method: 'POST', url: '/v1/webhooks', key, payload })).json().id;
    };
    const [one, other] = [await make(), await make()];
    const url = `/v1/webhooks/${one}/deliveries`;
    expect((await get(`${url}?after=${cursorOf(`webhook-deliveries/${one}`, '7')}`)).status).toBe(200);
    for (const place of ['', 'x', '0', '07', '-7', '7'.repeat(30)])
      await refused(url, cursorOf(`webhook-deliveries/${one}`, place));
    await refused(url, cursorOf(`webhook-deliveries/${other}`, '7'));
  });
});

describe('a time', () => {
  test.each([
    ['/v1/messages?since=0000-01-01T00:00:00Z', 'since'],
    ['/v1/messages?until=1969-12-31T23:59:59.999Z', 'until'],
    ['/v1/messages?until=9999-12-31T23:59:59-01:00', 'until'],
    ['/v1/stats?from=0000-01-01T00:00:00Z', 'from'],
    ['/v1/stats?to=0000-01-01', 'to'],
    ['/v1/billing/usage?period=0000-01', 'period'],
    ['/v1/billing/usage?period=0050-03', 'period'],
    ['/v1/billing/usage?period=0070-03', 'period'],
    ['/v1/billing/usage?period=1969-12', 'period'],
    ['/v1/billing/usage?period=9999-12', 'period'],
  ])('outside the years 1970 to 9999 is refused: %s', async (url, field) => {
    const { status, body } = await get(url);
    expect([status, Object.keys(body.error.details)]).toEqual([400, [field]]);
  });

  test.each([
    '/v1/messages?since=1970-01-01&until=9999-12-31T23:59:59.999Z',
    '/v1/stats?to=1970-01-01&timezone=Pacific/Kiritimati',
    '/v1/stats?from=9999-12-01&to=9999-12-31T23:59:59.999Z&granularity=month&timezone=Pacific/Kiritimati',
    '/v1/billing/usage?period=1970-01',
    '/v1/billing/usage?period=9999-11',
  ])('at the edge of them is accepted: %s', async (url) => {
    expect((await get(url)).status).toBe(200);
  });
});
