import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { evaluateReputation } from '../../../src/commands/reputation.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let domainId: string;
let admin: string;
let manager: string;
let stranger: string;

const pause = () =>
  evaluateReputation(service.deps.context, {
    domainId,
    organizationId,
    limits: { bounces: [2, 4, 5], complaints: null },
    counts: { releasedAt: null, delivered: 950, bounced: 50, complained: 0 },
  });

const read = async (key = admin, id = domainId) => {
  const answer = await service.request({ url: `/v1/domains/${id}/reputation`, key });
  return { status: answer.statusCode, body: answer.json() };
};

const release = async (key = admin, id = domainId, payload: unknown = {}) => {
  const url = `/v1/domains/${id}/release`;
  const answer = await service.request({ method: 'POST', url, key, payload: payload as object });
  return { status: answer.statusCode, body: answer.json() };
};

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  admin = (await service.makeKey(organizationId, domainId)).value;
  manager = (await service.makeKey(organizationId, domainId, { permissions: ['manage', 'read', 'send'] })).value;
  const other = await service.makeOrganization();
  stranger = (await service.makeKey(other, await service.makeDomain(other, 'other.test'))).value;
});
afterAll(() => service.close());

describe('the reputation of a domain', () => {
  const nothing = { count: 0, of: 0, percent: 0 };
  const good = {
    object: 'domain_reputation',
    level: 'good',
    measure: null,
    since: null,
    released_at: null,
    bounces: { ...nothing, limits: { warned_percent: 2, slowed_percent: 4, paused_percent: 5 } },
    complaints: { ...nothing, limits: { warned_percent: 0.08, slowed_percent: 0.2, paused_percent: 0.3 } },
    organization_level: 'good',
  };

  test('is good while nothing was sent', async () => {
    expect(await read(manager)).toEqual({ status: 200, body: { ...good, domain_id: domainId } });
  });

  test('is visible to its own organization only', async () => {
    expect((await read(stranger)).status).toBe(403);
    expect((await release(stranger)).status).toBe(403);
    for (const id of ['dom_unknown', 'x', '%00', 'a'.repeat(90)]) {
      expect((await read(admin, id)).status).toBe(404);
      expect((await release(admin, id)).status).toBe(404);
    }
  });

  test('is reported with its cause, and is released only by admin keys, once', async () => {
    await pause();
    expect((await read()).body).toMatchObject({ level: 'paused', measure: 'bounces', released_at: null });
    expect((await release(manager)).status).toBe(403);
    expect((await read()).body.level).toBe('paused');
    const answers = await Promise.all([release(), release(), release()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.filter(({ body }) => body.released)).toHaveLength(1);
    const { body } = await read();
    expect(body).toMatchObject({ level: 'good', measure: null, since: body.released_at });
    expect(body.released_at).not.toBeNull();
  });

  test.each([[{ domain_id: 'dom_1' }], [{ reason: 'x\r\ny' }], [[]]])('is not released by %j', async (payload) => {
    expect((await release(admin, domainId, payload)).status).toBe(400);
  });

  test('is only in the feed of its own organization', async () => {
    const feed = async (key: string) =>
      (await service.request({ url: '/v1/events?types=domain.sending_paused,domain.sending_released', key })).json();
    expect((await feed(admin)).data).toMatchObject([
      {
        type: 'domain.sending_paused',
        environment: 'live',
        data: { domain_id: domainId, reason: expect.stringContaining('50 of 1000') },
      },
      { type: 'domain.sending_released', data: { domain_id: domainId } },
    ]);
    expect((await feed(stranger)).data).toEqual([]);
  });
});

describe('the reputation of an organization', () => {
  const url = '/v1/organization';
  const look = async (key: string) => (await service.request({ url: `${url}/reputation`, key })).json();
  const letGo = async (key: string, payload: unknown = {}) => {
    const asked = { method: 'POST', url: `${url}/release`, key, payload: payload as object } as const;
    const answer = await service.request(asked);
    return { status: answer.statusCode, body: answer.json() };
  };

  test('is its own, is shown with each of its domains, and is released only by admin keys, once', async () => {
    expect(await look(manager)).toMatchObject({ object: 'organization_reputation', level: 'good', since: null });
    await evaluateReputation(service.deps.context, {
      domainId: null,
      organizationId,
      limits: { bounces: [2, 4, 5], complaints: null },
      counts: { releasedAt: null, delivered: 960, bounced: 40, complained: 0 },
    });
    expect(await look(manager)).toMatchObject({ organization_id: organizationId, level: 'slowed', measure: 'bounces' });
    expect((await read()).body).toMatchObject({ level: 'good', organization_level: 'slowed' });
    expect(await look(stranger)).toMatchObject({ level: 'good' });
    expect((await letGo(stranger)).body).toMatchObject({ released: false });
    expect((await letGo(manager)).status).toBe(403);
    const answers = await Promise.all([letGo(admin), letGo(admin)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.filter(({ body }) => body.released)).toHaveLength(1);
    expect(await look(admin)).toMatchObject({ level: 'good', measure: null });
  });

  test.each([[{ organization_id: 'org_1' }], [[]], [{ reason: 'x\0' }]])('is not released by %j', async (payload) => {
    expect((await letGo(admin, payload)).status).toBe(400);
  });

  test('is only in the feed of its own organization', async () => {
    const types = 'organization.sending_slowed,organization.sending_released';
    const feed = async (key: string) => (await service.request({ url: `/v1/events?types=${types}`, key })).json().data;
    expect(await feed(admin)).toMatchObject([
      {
        type: 'organization.sending_slowed',
        environment: 'live',
        data: { organization_id: organizationId, reason: expect.stringContaining('40 of 1000') },
      },
      { type: 'organization.sending_released', data: { organization_id: organizationId } },
    ]);
    expect(await feed(stranger)).toEqual([]);
  });
});

describe('bulk mail of an organization', () => {
  const pause = async (key: string, payload: unknown) => {
    const asked = { method: 'PUT', url: '/v1/organization/bulk-mail', key, payload: payload as object } as const;
    const answer = await service.request(asked);
    return { status: answer.statusCode, body: answer.json() };
  };
  const since = async (key: string) =>
    (await service.request({ url: '/v1/organization/reputation', key })).json().bulk_mail_paused_since;

  test('is paused and resumed only by admin keys, for their own organization, and on record once for each', async () => {
    const recorded = async () => {
      const events = await service.deps.context.store.readStream(`reputation-${organizationId}`, { from: 0 });
      return events
        .filter(({ type }) => type.startsWith('BulkMail'))
        .map(({ type, metadata }) => [type, metadata.actor]);
    };
    expect(await since(manager)).toBeNull();
    expect((await pause(manager, { paused: true })).status).toBe(403);
    const answers = await Promise.all([pause(admin, { paused: true }), pause(admin, { paused: true })]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[0]?.body).toEqual({
      object: 'bulk_mail',
      organization_id: organizationId,
      paused_since: await since(admin),
    });
    expect(await since(admin)).not.toBeNull();
    expect(await since(stranger)).toBeNull();
    expect((await pause(stranger, { paused: false })).body.paused_since).toBeNull();
    expect(await since(admin)).not.toBeNull();
    expect((await pause(admin, { paused: false })).body.paused_since).toBeNull();
    expect(await since(admin)).toBeNull();
    const by = expect.stringMatching(/^key:/);
    expect(await recorded()).toEqual([
      ['BulkMailPaused', by],
      ['BulkMailResumed', by],
    ]);
  });

  test.each([[{}], [[]], [{ paused: 'yes' }], [{ paused: null }], [{ paused: true, organization_id: 'org_1' }]])(
    'is not paused by %j',
    async (payload) => {
      expect((await pause(admin, payload)).status).toBe(400);
      expect(await since(admin)).toBeNull();
    },
  );
});
