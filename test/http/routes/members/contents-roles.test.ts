import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { organizationStream } from '../../../../src/domain/kernel/streams.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';

const URL = '/v1/organization/contents';
const MAIL = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Secretsubject', text: 'Soon.' };

let service: DatabaseService;
let organizationId: string;
let key: string;
let otherKey: string;
let owner: Person;
let messageId: string;
let base: string;
let people = 0;

interface Person {
  readonly id: string;
  readonly cookie: string;
}

const signIn = async (role: string, by = key): Promise<Person> => {
  people += 1;
  const payload = { email: `person${people}@colleagues.example`, role };
  const invited = (await service.request({ method: 'POST', url: '/v1/members', key: by, payload })).json();
  return { id: invited.id, cookie: cookieOf(await signInWith(service, invited.link.url)) };
};

const ask = async ({ cookie }: Pick<Person, 'cookie'>, url: string, more: object = {}) => {
  const answer = await service.request({ url, headers: { cookie, ...SAME_ORIGIN }, ...more });
  return { status: answer.statusCode, text: answer.body, body: answer.json(), etag: answer.headers.etag };
};

const allow = (person: Person, roles: readonly unknown[], more: object = {}) =>
  ask(person, URL, { method: 'PUT', payload: { allowed_to: roles }, ...more });

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
  const other = await service.makeOrganization();
  otherKey = (await service.makeKey(other, await service.makeDomain(other, 'other.test'))).value;
  owner = await signIn('owner');
  messageId = (await service.request({ method: 'POST', url: '/v1/messages/send', key, payload: MAIL })).json().id;
  await service.server.listen({ port: 0, host: '127.0.0.1' });
  base = `http://127.0.0.1:${(service.server.server.address() as AddressInfo).port}`;
});
afterAll(() => service.close());

describe.each(['analyst', 'auditor'] as const)('contents of mail that an owner allowed to the %s', (role) => {
  const other = role === 'analyst' ? 'auditor' : 'analyst';

  test('are shown to it at once, and only to it, until they are withdrawn', async () => {
    const [masked, beside] = [await signIn(role), await signIn(other)];
    const shown = (person: Person) => ask(person, `/v1/messages/${messageId}`);
    expect((await shown(masked)).text).not.toContain('Secretsubject');
    expect((await ask(masked, `/v1/messages/${messageId}/content`)).status).toBe(403);

    expect((await allow(owner, [role])).body.contents_allowed_to).toEqual([role]);
    expect((await shown(masked)).body).toMatchObject({ subject: 'Secretsubject' });
    expect((await ask(masked, `/v1/messages/${messageId}/content`)).status).toBe(200);
    expect((await ask(masked, '/v1/messages?to=ann@example.net')).body.data).toHaveLength(1);
    expect((await ask(masked, '/v1/session')).body.contents).toBe(true);
    expect((await shown(beside)).text).not.toContain('Secretsubject');
    expect((await ask(beside, `/v1/messages/${messageId}/content`)).status).toBe(403);

    expect((await allow(owner, [])).body.contents_allowed_to).toEqual([]);
    expect((await shown(masked)).text).not.toContain('Secretsubject');
    expect((await ask(masked, `/v1/messages/${messageId}/content`)).status).toBe(403);
    expect((await ask(masked, '/v1/messages?to=ann@example.net')).status).toBe(403);
  });
});

describe('contents of mail that are withdrawn', () => {
  const openAs = async ({ cookie }: Person, query: string, accept: string, signal: AbortSignal) =>
    fetch(`${base}/v1/events?${query}`, { headers: { accept, cookie }, signal });

  /** Collects everything that a stream sends from now on. */
  const reading = (stream: Response) => {
    let text = '';
    const over = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of stream.body ?? []) text += decoder.decode(chunk as Uint8Array);
    })().catch(() => undefined);
    return { text: () => text, over };
  };

  const send = (tag = 'a') =>
    service.request({
      method: 'POST',
      url: '/v1/messages/send',
      key,
      payload: { ...MAIL, to: 'bob@example.net', tags: [{ name: 'user', value: tag }] },
    });

  /** Waits for the reader of a stream to be looked up again, which happens once a second and not for each event. */
  const isSeen = () => new Promise((resolve) => setTimeout(resolve, 1_000));

  test('are masked in a stream of events that is open', async () => {
    await allow(owner, ['analyst']);
    const closing = new AbortController();
    const stream = reading(await openAs(await signIn('analyst'), '', 'text/event-stream', closing.signal));
    await send();
    await expect.poll(stream.text, { timeout: 10_000 }).toContain('bob@example.net');
    await allow(owner, []);
    await isSeen();
    const before = stream.text().length;
    await send();
    await expect.poll(() => stream.text().slice(before), { timeout: 10_000 }).toContain('***@example.net');
    expect(stream.text().slice(before)).not.toContain('bob@');
    await allow(owner, ['analyst']);
    await isSeen();
    const masked = stream.text().length;
    await send();
    await expect.poll(() => stream.text().slice(masked), { timeout: 10_000 }).toContain('bob@example.net');
    closing.abort();
    await stream.over;
  });

  test('are masked in a long poll that waits', async () => {
    await allow(owner, ['analyst']);
    const analyst = await signIn('analyst');
    const { next_cursor: after } = (await ask(analyst, '/v1/events')).body;
    const polled = openAs(analyst, `after=${after}&wait=20`, 'application/json', AbortSignal.timeout(30_000));
    await new Promise((resolve) => setTimeout(resolve, 500)); // the stream is idle
    await allow(owner, []);
    await send();
    const text = await (await polled).text();
    expect(text).toContain('***@example.net');
    expect(text).not.toContain('bob@');
  });

  test('end a stream and a long poll that look for an address', async () => {
    await allow(owner, ['analyst']);
    const analyst = await signIn('analyst');
    const { next_cursor: after } = (await ask(analyst, '/v1/events')).body;
    const filter = 'tag=user:bob@example.net';
    const closing = new AbortController();
    const opened = await openAs(analyst, filter, 'text/event-stream', closing.signal);
    expect(opened.status).toBe(200);
    const stream = reading(opened);
    const polled = openAs(analyst, `after=${after}&wait=20&${filter}`, 'application/json', AbortSignal.timeout(30_000));
    await new Promise((resolve) => setTimeout(resolve, 500)); // both streams are idle
    await allow(owner, []);
    await send('bob@example.net');
    await stream.over;
    expect(stream.text()).toContain('"reason":"permission_missing"');
    expect(stream.text()).not.toContain('message.accepted');
    expect((await polled).status).toBe(403);
  });
});

describe('a change of who sees contents of mail', () => {
  test('is on record with its author, once for each change', async () => {
    await allow(owner, []);
    const events = () => service.deps.context.store.readStream(organizationStream(organizationId), { from: 0 });
    const before = await events();
    await allow(owner, ['auditor', 'analyst', 'auditor'].slice(0, 2));
    await allow(owner, ['analyst', 'auditor']);
    const added = (await events()).slice(before.length);
    expect(added.map(({ type, data, metadata }) => [type, data, metadata.actor])).toEqual([
      ['ContentsRolesSet', { organizationId, roles: ['analyst', 'auditor'] }, `member:${owner.id}`],
    ]);
    const { data } = (await ask(owner, '/v1/audit/log?type=ContentsRolesSet&limit=1')).body;
    expect(data[0]).toMatchObject({ actor: { type: 'member', id: owner.id }, data: { roles: ['analyst', 'auditor'] } });
  });

  test('is made at the revision that was read', async () => {
    const { etag } = await ask(owner, '/v1/organization');
    await allow(owner, ['analyst']);
    await allow(owner, []);
    const stale = await allow(owner, ['auditor'], {
      headers: { cookie: owner.cookie, ...SAME_ORIGIN, 'if-match': etag },
    });
    expect([stale.status, stale.body.error.code]).toEqual([412, 'precondition_failed']);
  });

  test.each([
    [['owner']],
    [['developer']],
    [['']],
    [['analyst', 'auditor', 'analyst']],
    [['ANALYST']],
    [[null]],
    [[['analyst']]],
    [['__proto__']],
    ['analyst'],
    [null],
    [{ analyst: true }],
  ])('is not made by %j', async (roles) => {
    await allow(owner, []);
    expect((await allow(owner, roles as readonly unknown[])).status).toBe(400);
    expect((await ask(owner, '/v1/organization')).body.contents_allowed_to).toEqual([]);
  });

  test.each(['developer', 'analyst', 'auditor'])('cannot be made by %s', async (role) => {
    await allow(owner, []);
    const { status, body } = await allow(await signIn(role), ['analyst', 'auditor']);
    expect([status, body.error.code]).toEqual([403, 'permission_missing']);
    expect((await ask(owner, '/v1/organization')).body.contents_allowed_to).toEqual([]);
  });

  test('cannot be made by a role for itself once it is allowed them', async () => {
    await allow(owner, ['auditor', 'analyst']);
    for (const role of ['analyst', 'auditor']) expect((await allow(await signIn(role), [])).status).toBe(403);
    expect((await ask(owner, '/v1/organization')).body.contents_allowed_to).toEqual(['analyst', 'auditor']);
  });

  test('cannot be made by an API key or the token of an auditor', async () => {
    const added = await service.request({
      method: 'POST',
      url: '/v1/audit/auditors',
      key,
      payload: { name: 'Firm', expires_at: new Date(Date.now() + 3_600_000).toISOString(), contents: false },
    });
    for (const by of [key, added.json().token]) {
      const answer = await service.request({ method: 'PUT', url: URL, key: by, payload: { allowed_to: ['analyst'] } });
      expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'permission_missing']);
    }
  });

  test('cannot be made from another site, or without signing in', async () => {
    const headers = { cookie: owner.cookie, 'sec-fetch-site': 'cross-site' };
    expect((await allow(owner, ['analyst'], { headers })).body.error.code).toBe('cross_site_request');
    const nobody = await service.request({ method: 'PUT', url: URL, payload: { allowed_to: [] } });
    expect(nobody.statusCode).toBe(401);
  });

  test('applies to one’s own organization only', async () => {
    await allow(owner, []);
    const stranger = await signIn('owner', otherKey);
    const foreign = await signIn('analyst', otherKey);
    expect((await allow(stranger, ['analyst'])).status).toBe(200);
    expect((await ask(foreign, '/v1/session')).body.contents).toBe(true);
    expect((await ask(await signIn('analyst'), '/v1/session')).body.contents).toBe(false);
    expect((await ask(foreign, `/v1/messages/${messageId}`)).status).toBe(403);
  });
});
