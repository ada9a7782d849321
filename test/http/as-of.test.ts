import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from './support/database-service.ts';

let service: DatabaseService;
let domainId: string;
let key: string;

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'past.example');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
});
afterAll(() => service.close());

const ask = async (url: string, by = key) => {
  const answer = await service.request({ url, key: by });
  return { status: answer.statusCode, body: answer.json() };
};
const change = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload: object) => {
  const answer = await service.request({ method, url, key, payload });
  expect(answer.statusCode).toBeLessThan(300);
  return answer.statusCode === 204 ? null : answer.json();
};
/** Index of the newest entry of the audit log. */
const leaf = async (): Promise<number> => (await ask('/v1/audit/log?limit=1')).body.data[0].leaf_index;
const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

/** Checks each state of a resource, past and present, by leaf and by time. */
const expectPast = async (url: string, steps: readonly (() => Promise<unknown>)[], shown: (body: never) => unknown) => {
  const seen: { at: string; time: string; shown: unknown }[] = [];
  for (const step of steps) {
    await step();
    const now = await ask(url);
    expect(now.body.as_of).toBeUndefined();
    seen.push({ at: `leaf:${await leaf()}`, time: new Date().toISOString(), shown: shown(now.body as never) });
    await pause();
  }
  for (const { at, time, shown: expected } of seen) {
    for (const moment of [at, time]) {
      const { status, body } = await ask(`${url}?at=${moment}`);
      expect([status, shown(body as never)]).toEqual([200, expected]);
      expect(body.as_of).toEqual({ time: expect.stringMatching(/^20/), leaf_index: Number(at.slice('leaf:'.length)) });
    }
  }
  expect(new Set(seen.map((one) => JSON.stringify(one.shown))).size).toBe(steps.length);
};

describe('a resource at an earlier time', () => {
  test('a key, with its status of then', async () => {
    const { id } = await change('POST', '/v1/api-keys', { name: 'One', domain_id: domainId, permissions: ['send'] });
    await expectPast(
      `/v1/api-keys/${id}`,
      [
        async () => undefined,
        () => change('PATCH', `/v1/api-keys/${id}`, { name: 'Two' }),
        () => change('POST', `/v1/api-keys/${id}/rotate`, {}),
        () => change('POST', `/v1/api-keys/${id}/revoke`, {}),
      ],
      ({ name, status, last4 }: { name: string; status: string; last4: string }) => [name, status, last4],
    );
    const history = (await ask(`/v1/api-keys/${id}/history`)).body.data;
    const statuses = history.map(async ({ at }: { at: string }) => {
      const { body } = await ask(`/v1/api-keys/${id}/secrets?at=${at}`);
      return body.data.map(({ status }: { status: string }) => status);
    });
    expect(await Promise.all(statuses)).toEqual([['ended', 'ended'], ['current', 'grace'], ['current'], ['current']]);
  });

  test('a template, with its content of then', async () => {
    const template = { alias: 'past', name: 'Past', subject: 'First', html: '<p>First</p>' };
    const { id } = await change('POST', '/v1/templates', template);
    await expectPast(
      `/v1/templates/${id}`,
      [
        async () => undefined,
        () => change('PATCH', `/v1/templates/${id}`, { subject: 'Second' }),
        () => change('POST', `/v1/templates/${id}/publish`, {}),
      ],
      ({ content, published_version }: { content: { subject: string }; published_version: unknown }) => [
        content.subject,
        published_version,
      ],
    );
  });

  test('a webhook, a topic and a domain', async () => {
    const webhook = await change('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.*'] });
    await expectPast(
      `/v1/webhooks/${webhook.id}`,
      [async () => undefined, () => change('PATCH', `/v1/webhooks/${webhook.id}`, { enabled: false })],
      ({ status }: { status: string }) => status,
    );
    const topic = await change('POST', '/v1/topics', { name: 'One', default: 'in' });
    await expectPast(
      `/v1/topics/${topic.id}`,
      [async () => undefined, () => change('PATCH', `/v1/topics/${topic.id}`, { name: 'Two' })],
      ({ name }: { name: string }) => name,
    );
    const domain = await change('POST', '/v1/domains', { name: 'elsewhere.example' });
    await expectPast(
      `/v1/domains/${domain.id}`,
      [async () => undefined, () => change('PATCH', `/v1/domains/${domain.id}`, { branding: { name: 'Shop' } })],
      ({ branding }: { branding: unknown }) => branding,
    );
  });

  test('a message, and a suppression that was removed since', async () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const mail = {
      from: 'a@past.example',
      to: 'b@example.org',
      subject: 'Hello',
      text: 'Hello',
      scheduled_at: inAnHour,
    };
    const { id } = await change('POST', '/v1/messages/send', mail);
    await expectPast(
      `/v1/messages/${id}`,
      [async () => undefined, () => change('POST', `/v1/messages/${id}/cancel`, {})],
      ({ status }: { status: string }) => status,
    );
    const { body } = await ask(`/v1/messages/${id}/events`);
    const [cancelled, accepted] = [body.data[0].timestamp, body.data.at(-1).timestamp];
    const summaries = [accepted, cancelled].map(async (at) => {
      const explained = await ask(`/v1/messages/${id}/explain?at=${at}`);
      return [explained.body.as_of.time, explained.body.summary, explained.body.steps.at(-1).type];
    });
    expect(await Promise.all(summaries)).toEqual([
      [accepted, expect.stringMatching(/^Scheduled for /), 'scheduled'],
      [cancelled, expect.stringMatching(/^Cancelled at /), 'cancelled'],
    ]);
    expect((await ask(`/v1/messages/${id}/explain?at=2020-01-01`)).status).toBe(404);
    const added = await change('POST', '/v1/suppressions', { address: 'c@example.org' });
    await expectPast(
      `/v1/suppressions/${added.id}`,
      [async () => undefined, () => change('DELETE', `/v1/suppressions/${added.id}`, {})],
      ({ as_of: _, ...rest }: { as_of?: unknown }) => rest,
    );
  });

  test.each([
    ['topics', 'name', { name: 'Listed', default: 'in' }, { name: 'Changed' }],
    ['inbound-routes', 'match', { match: 'listed', action: 'store' }, { match: 'changed' }],
    ['webhooks', 'status', { url: 'http://127.0.0.1:9/', events: ['message.*'] }, { enabled: false }],
    ['templates', 'name', { alias: 'l', name: 'Listed', subject: 's', html: '<p>l</p>' }, { name: 'Changed' }],
    ['domains', 'branding', { name: 'listed.example' }, { branding: { name: 'Shop' } }],
    ['api-keys', 'name', { name: 'Listed', permissions: ['send'] }, { name: 'Changed' }],
  ] as const)(
    'the list of %s, with those deleted since and without those made since',
    async (list, field, made, changed) => {
      const url = `/v1/${list}`;
      let id = '';
      await expectPast(
        url,
        [
          async () => undefined,
          async () => {
            id = (
              await change('POST', url, {
                ...made,
                ...(list === 'api-keys' || list === 'inbound-routes' ? { domain_id: domainId } : {}),
              })
            ).id;
          },
          () => change('PATCH', `${url}/${id}`, changed),
        ],
        ({ data }: { data: readonly Record<string, unknown>[] }) => data.map((item) => [item.id, item[field]]),
      );
      const there = await leaf();
      await change('DELETE', `${url}/${id}`, {});
      expect((await ask(url)).body.data.map((item: { id: string }) => item.id)).not.toContain(id);
      const { body } = await ask(`${url}?at=leaf:${there}&limit=1`);
      expect([body.data[0].id, body.as_of.leaf_index]).toEqual([id, there]);
      if (body.has_more) {
        const next = await ask(`${url}?at=leaf:${there}&limit=1&after=${body.next_cursor}`);
        expect([next.status, next.body.data[0]?.id === id]).toEqual([200, false]);
      }
      const earlier = (await ask(`${url}?at=2020-01-01`)).body;
      expect([earlier.data, earlier.has_more, earlier.as_of]).toEqual([[], false, undefined]);
    },
  );

  test('does not list those of another organization, and refuses an invalid moment', async () => {
    const stranger = await service.makeOrganization();
    const own = await service.makeDomain(stranger, 'third.example');
    const { id, value } = await service.makeKey(stranger, own, { permissions: ['admin'] });
    const at = new Date().toISOString();
    expect((await ask(`/v1/api-keys?at=${at}`, value)).body.data.map((item: { id: string }) => item.id)).toEqual([id]);
    expect((await ask(`/v1/domains?at=${at}`, value)).body.data.map((item: { id: string }) => item.id)).toEqual([own]);
    for (const wrong of ['x', 'leaf:-1', 'leaf:999999', '2999-01-01', '%00'])
      expect((await ask(`/v1/api-keys?at=${wrong}`)).status).toBe(400);
    for (const list of ['messages', 'suppressions'])
      expect((await ask(`/v1/${list}?at=${at}`, value)).body).toMatchObject({
        data: [],
        as_of: { time: expect.any(String) },
      });
  });

  test('is not found before it was made, but is found if it was deleted since', async () => {
    const before = await leaf();
    const { id } = await change('POST', '/v1/topics', { name: 'Short', default: 'in' });
    const made = await leaf();
    await change('DELETE', `/v1/topics/${id}`, {});
    expect((await ask(`/v1/topics/${id}`)).status).toBe(404);
    expect((await ask(`/v1/topics/${id}?at=leaf:${before}`)).status).toBe(404);
    expect((await ask(`/v1/topics/${id}?at=leaf:${made}`)).body.name).toBe('Short');
    expect((await ask(`/v1/topics/${id}?at=2020-01-01`)).status).toBe(404);
  });

  test.each([
    'x',
    'leaf:',
    'leaf:-1',
    'leaf:999999',
    'leaf:1e3',
    '2999-01-01T00:00:00Z',
    '2026-02-30',
    '',
    '%00',
    'a'.repeat(5_000),
  ])('cannot be requested for %s', async (at) => {
    const { status, body } = await ask(`/v1/domains/${domainId}?at=${at}`);
    expect([status, Object.keys(body.error.details)]).toEqual([400, ['at']]);
  });

  test('of another organization is refused as it is in the present', async () => {
    const stranger = await service.makeOrganization();
    const own = await service.makeDomain(stranger, 'other.example');
    const { value } = await service.makeKey(stranger, own, { permissions: ['admin'] });
    for (const at of ['leaf:0', new Date().toISOString()]) {
      const { body } = await ask(`/v1/domains/${domainId}?at=${at}`, value);
      expect(body.error.code).toBe('other_organization');
    }
  });
});
