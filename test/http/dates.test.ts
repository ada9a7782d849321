import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from './support/database-service.ts';

let service: DatabaseService;
let key: string;
let messageId: string;

const ZONE = 'Pacific/Kiritimati'; // UTC+14
const get = async (url: string) => {
  const answer = await service.request({ url, key });
  return { status: answer.statusCode, body: answer.json() };
};
/** The date in a time zone, `later` days from now. */
const day = (timeZone: string, later = 0): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone }).format(
    service.deps.context.system.now().getTime() + later * 86_400_000,
  );

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
  const settings = { method: 'PATCH', url: '/v1/organization', key, payload: { timezone: ZONE } } as const;
  expect((await service.request(settings)).statusCode).toBe(200);
  const message = { from: 'a@example.test', to: 'ann@münchen.example', subject: 'x', text: 'x' };
  const sent = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload: message });
  messageId = sent.json().id;
});
afterAll(() => service.close());

const accepted = async (query: string): Promise<number> => (await get(`/v1/stats?${query}`)).body.totals.accepted;

describe('dates without a time', () => {
  test.each(['America/Los_Angeles', 'UTC', ZONE])(
    'are days of the time zone that statistics ask for, %s',
    async (zone) => {
      const days = (from: number, to: number) => `from=${day(zone, from)}&to=${day(zone, to)}&timezone=${zone}`;
      expect(await accepted(days(0, 1))).toBe(1);
      expect(await accepted(days(-1, 0))).toBe(0);
      expect(await accepted(days(1, 2))).toBe(0);
      const { body } = await get(`/v1/stats?${days(0, 1)}`);
      expect(body.data).toHaveLength(1);
      expect(body.data[0].start).toBe(body.from);
    },
  );

  test('are days of the organization in statistics, messages, the audit log and requests', async () => {
    const today = `=${day(ZONE)}`;
    const tomorrow = `=${day(ZONE, 1)}`;
    expect(await accepted(`from${today}&to${tomorrow}`)).toBe(1);
    const found = async (query: string) => (await get(query)).body.data.length;
    expect(await found(`/v1/messages?since${today}&until${tomorrow}`)).toBe(1);
    expect(await found(`/v1/messages?since${tomorrow}`)).toBe(0);
    expect(await found(`/v1/messages?until${today}`)).toBe(0);
    expect(await found(`/v1/audit/log?since${today}`)).toBeGreaterThan(0);
    expect(await found(`/v1/audit/log?since${tomorrow}`)).toBe(0);
    expect((await get(`/v1/requests?since${tomorrow}`)).status).toBe(200);
    const cancel = { filter: { until: day(ZONE) }, dry_run: true };
    const answer = await service.request({ method: 'POST', url: '/v1/messages/cancel', key, payload: cancel });
    expect([answer.statusCode, answer.json().matched]).toEqual([200, 0]);
  });

  test('mean the end of the day in `at`, and now if the day is today', async () => {
    expect((await get(`/v1/messages/${messageId}?at=${day(ZONE)}`)).status).toBe(200);
    expect((await get(`/v1/messages/${messageId}?at=${day(ZONE, -1)}`)).status).toBe(404);
    expect((await get(`/v1/messages?at=${day(ZONE)}`)).body.data).toHaveLength(1);
    const later = await get(`/v1/messages/${messageId}?at=${day(ZONE, 1)}`);
    expect([later.status, later.body.error.details]).toEqual([400, { at: ['at must not be in the future'] }]);
  });
});

describe('a recipient domain', () => {
  test.each(['münchen.example', 'MÜNCHEN.example.', 'xn--mnchen-3ya.example', 'XN--MNCHEN-3YA.EXAMPLE'])(
    'is found everywhere as %s',
    async (written) => {
      const name = encodeURIComponent(written);
      expect(await accepted(`recipient_domain=${name}`)).toBe(1);
      expect((await get(`/v1/messages?recipient_domain=${name}`)).body.data).toHaveLength(1);
      expect((await get(`/v1/events?recipient_domain=${name}&types=message.accepted`)).body.data).toHaveLength(1);
    },
  );

  test('that nothing matches is no fault', async () => {
    expect(await accepted('recipient_domain=%ED%A0.example')).toBe(0);
    expect((await get('/v1/messages?recipient_domain=xn--a.example')).status).toBe(200);
    expect((await get(`/v1/stats?recipient_domain=${'x'.repeat(300)}`)).status).toBe(400);
  });
});
