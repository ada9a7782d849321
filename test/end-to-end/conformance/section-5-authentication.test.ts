import { describe, expect, test } from 'vitest';
import { type Answer, type AnyBody, eventually } from '../../support/api-client.ts';
import { conforming, MESSAGE } from './service.ts';

const { service } = conforming();
const UNAUTHORIZED = { error: { message: 'invalid or missing API key', code: 'unauthorized' } };

const withAuthorization = async (authorization?: string) => {
  const answer = await service().raw('/v1/messages', { headers: authorization === undefined ? {} : { authorization } });
  return { status: answer.status, body: await answer.json() };
};
const post = (path: string, body: unknown, key?: string) =>
  service().ask({ method: 'POST', path, body, ...(key === undefined ? {} : { key }) });
const get = (path: string, key?: string) => service().ask({ path, ...(key === undefined ? {} : { key }) });

/** Requests that each permission allows. */
const ACTIONS = {
  send: [
    (key: string) => post('/v1/messages/send', MESSAGE, key),
    (key: string) => post('/v1/messages/analyze', MESSAGE, key),
  ],
  read: [
    (key: string) => get('/v1/messages', key),
    (key: string) => get('/v1/events', key),
    (key: string) => get('/v1/stats', key),
  ],
  manage: [
    (key: string) => get('/v1/domains', key),
    (key: string) => get('/v1/webhooks', key),
    (key: string) => get('/v1/api-keys', key),
  ],
  admin: [(key: string) => get('/v1/billing', key), (key: string) => get('/v1/organization', key)],
} as const;
type Permission = keyof typeof ACTIONS;
const PERMISSIONS = Object.keys(ACTIONS) as Permission[];

/** The error for a key with one permission that makes a request of another. null: allowed. */
const PAIRS = PERMISSIONS.flatMap((held) =>
  PERMISSIONS.map((needed) => {
    const lacking = held === needed || held === 'admin' ? null : `API key lacks '${needed}' permission`;
    return { held, needed, lacking };
  }),
);

const forbidden = ({ status, body }: Answer<AnyBody>): string | null => (status === 403 ? body.error.message : null);

describe('§5 Authentication', () => {
  test('1: a request carries Authorization: Bearer <API_KEY>', async () => {
    expect((await withAuthorization(`Bearer ${service().admin}`)).status).toBe(200);
  });

  test.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['a malformed bearer token', 'Bearer'],
    ['another scheme', 'Basic b2I6b2I='],
    ['a key without Bearer', 'ob_live_0000000000000000000000000000000000000000000000000'],
    ['a key that does not start with ob_', 'Bearer sk_live_00000000000000000000000000000000000000000000000000'],
    ['a key with a wrong checksum', 'Bearer ob_live_0000000000000000000000000000000000000000000000000'],
  ])('7: %s is answered with 401 and a message', async (_what, authorization) => {
    expect(await withAuthorization(authorization)).toMatchObject({ status: 401, body: UNAUTHORIZED });
  });

  test.each(['revoke', 'delete'])('7: after %s a key is answered with 401', async (how) => {
    const { id, value } = await service().makeKey({ permissions: ['read'] });
    if (how === 'revoke') await post(`/v1/api-keys/${id}/revoke`, undefined);
    else await service().ask({ method: 'DELETE', path: `/v1/api-keys/${id}` });
    expect(await withAuthorization(`Bearer ${value}`)).toEqual({ status: 401, body: UNAUTHORIZED });
  });

  test('2: emails of ob_live_ keys are sent for real, those of ob_test_ keys simulated', async () => {
    const { keys } = service().program;
    const sendBy = async (key: string, subject: string) => {
      const sent = await post('/v1/messages/send', { ...MESSAGE, subject }, key);
      await eventually(
        () => get(`/v1/messages/${sent.body.id}`, key),
        ({ body }) => body.status === 'delivered',
      );
    };
    await sendBy(keys.live, 'For real');
    await sendBy(keys.test, 'In the sandbox');
    const subjects = (await get('/v1/inbox?limit=100')).body.data.map(({ subject }: { subject: string }) => subject);
    expect(subjects).toContain('For real');
    expect(subjects).not.toContain('In the sandbox');
  });

  test.each(PAIRS)(
    '3: a key with only $held, used for what needs $needed, is refused for lack of: $lacking',
    async ({ held, needed, lacking }) => {
      const { value } = await service().makeKey({ permissions: [held] });
      const answers = await Promise.all(ACTIONS[needed].map((act) => act(value)));
      expect(answers.map(forbidden)).toEqual(answers.map(() => lacking));
    },
  );

  test('4: each key is bound to one domain, and from must be on it', async () => {
    const made = await post('/v1/domains', { name: 'second.test' });
    const second = await service().makeKey({ domain_id: made.body.id });
    const sendFrom = async (from: string, key: string) =>
      (await post('/v1/messages/send', { ...MESSAGE, from }, key)).status;
    expect(await sendFrom('a@second.test', second.value)).toBe(202);
    expect(await sendFrom('a@example.test', second.value)).toBe(403);
    expect(await sendFrom('a@second.test', service().admin)).toBe(403);
  });

  test('5: a key can be replaced manually: create with the same permissions, switch over, delete the old one', async () => {
    const old = await service().makeKey();
    const next = await service().makeKey();
    const sends = async (key: string) => (await post('/v1/messages/send', MESSAGE, key)).status;
    expect([await sends(old.value), await sends(next.value)]).toEqual([202, 202]);
    await service().ask({ method: 'DELETE', path: `/v1/api-keys/${old.id}` });
    expect([await sends(old.value), await sends(next.value)]).toEqual([401, 202]);
  });

  test('6: after a rotation with a grace period both keys work until it ends', async () => {
    const { id, value } = await service().makeKey();
    const { body } = await post(`/v1/api-keys/${id}/rotate`, { grace_period_minutes: 1 });
    const sends = async (key: string) => (await post('/v1/messages/send', MESSAGE, key)).status;
    expect([await sends(value), await sends(body.key)]).toEqual([202, 202]);
    const { earlier_secrets: earlier } = (await get(`/v1/api-keys/${id}`)).body;
    expect(earlier).toMatchObject([{ expires_at: body.previous_key_expires_at, last4: value.slice(-4) }]);
  });

  test('8: a valid key without the permission is 403', async () => {
    const { value } = await service().makeKey({ permissions: ['read'] });
    const { status, body } = await post('/v1/messages/send', MESSAGE, value);
    expect([status, body.error.message]).toEqual([403, "API key lacks 'send' permission"]);
  });

  test('8: a from address outside the key’s domain is 403', async () => {
    const { status, body } = await post('/v1/messages/send', { ...MESSAGE, from: 'a@other.test' });
    expect([status, body.error.code]).toEqual([403, 'from_domain_mismatch']);
  });

  test('8: another organisation’s resources are 403', async () => {
    const sent = await post('/v1/messages/send', MESSAGE);
    const { id } = await service().makeKey();
    for (const path of [`/v1/messages/${sent.body.id}`, `/v1/api-keys/${id}`, `/v1/domains/${service().domainId}`]) {
      const { status, body } = await get(path, service().stranger);
      expect([path, status, body.error.code]).toEqual([path, 403, 'other_organization']);
    }
  });

  test('10: no permission but admin includes another', async () => {
    const { value } = await service().makeKey({ permissions: ['manage'] });
    expect((await post('/v1/messages/send', MESSAGE, value)).status).toBe(403);
    expect((await get('/v1/messages', value)).status).toBe(403);
  });

  test('11: a sandbox address selects the simulated outcome of a sandbox message', async () => {
    const { keys } = service().program;
    const fateOf = async (fate: string) => {
      const sent = await post('/v1/messages/send', { ...MESSAGE, to: `${fate}@sandbox.outbox.test` }, keys.test);
      const ended = await eventually(
        () => get(`/v1/messages/${sent.body.id}`, keys.test),
        ({ body }) => body.status !== 'accepted' && body.status !== 'sending',
      );
      return ended.body.status;
    };
    const fates = ['delivered', 'bounced', 'deferred', 'suppressed'];
    expect(await Promise.all(fates.map(fateOf))).toEqual(fates);
  });

  test('11: sandbox and production cannot see each other’s messages', async () => {
    const { keys } = service().program;
    const live = await post('/v1/messages/send', MESSAGE, keys.live);
    const simulated = await post('/v1/messages/send', MESSAGE, keys.test);
    expect((await get(`/v1/messages/${live.body.id}`, keys.test)).status).toBe(404);
    expect((await get(`/v1/messages/${simulated.body.id}`, keys.live)).status).toBe(404);
  });
});

describe('§6 Events', () => {
  test('webhooks are managed with manage, and events read with read', async () => {
    const manage = await service().makeKey({ permissions: ['manage'] });
    const read = await service().makeKey({ permissions: ['read'] });
    const hook = { url: 'http://127.0.0.1:9/', events: ['message.*'] };
    expect((await post('/v1/webhooks', hook, manage.value)).status).toBe(201);
    expect((await post('/v1/webhooks', hook, read.value)).status).toBe(403);
    expect((await get('/v1/events', read.value)).status).toBe(200);
    expect((await get('/v1/events', manage.value)).status).toBe(403);
  });
});
