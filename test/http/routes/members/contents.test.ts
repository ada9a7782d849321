import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maskContents } from '../../../../src/http/auth/permissions.ts';
import type { GuardedRouteName } from '../../../../src/http/route-table.ts';
import { processorMs } from '../../../support/processor-time.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { PLANTED, type PlantedMail, plantMail } from '../../support/planted-mail.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';
import { openWalkTenant, requestOf, type WalkTenant } from '../../support/walk.ts';
import { newAuditor } from '../../support/walk-bodies.ts';
import { ALL_KINDS, GUARDED, type Kind, type WalkedRoute } from '../../support/walk-routes.ts';

const LIVE_ADMIN = { permission: 'admin', environment: 'live' } as const;
const WORDS = Object.values(PLANTED);
/** Any address that is not masked. */
const ADDRESS = /(?<!\*)@/;
/** JSON, and the other formats that routes can return. */
const ACCEPTED = ['application/json', 'text/csv, text/html, text/plain', 'application/x-ndjson'];

let service: DatabaseService;
let tenant: WalkTenant;
let key: string;
let planted: PlantedMail;
const ids: Partial<Record<Kind, string>> = {};

const post = async (url: string, payload: object) => {
  const answer = await service.request({ method: 'POST', url, key, payload });
  expect([url, answer.statusCode < 300], answer.body).toEqual([url, true]);
  return answer.json();
};

let people = 0;

const signIn = async (role: string): Promise<string> => {
  people += 1;
  const { link } = await post('/v1/members', {
    email: `${role}${people}@colleagues.example`,
    name: 'A colleague',
    role,
  });
  return cookieOf(await signInWith(service, link.url));
};

beforeAll(async () => {
  service = await startDatabaseService();
  tenant = await openWalkTenant(service);
  key = tenant.keyOf(LIVE_ADMIN);
  for (const kind of ALL_KINDS) ids[kind] = await tenant.make(kind, 'live');
  const { domainName } = tenant;
  planted = await plantMail(service, { key, domainName, webhookId: ids.webhooks ?? '', topicId: ids.topics ?? '' });
});
afterAll(() => service.close());

const READS = GUARDED.filter(({ method }) => method === 'GET');

/** Planted resources, by the kind of route that shows them. */
const plantedOf = (kind: Kind | null): readonly string[] => {
  if (kind === 'messages' || kind === 'audit/reports/messages') return [planted.messageId, planted.clickedId];
  if (kind === 'suppressions') return [planted.suppressionId];
  if (kind === 'requests') return [planted.requestId];
  return kind === 'inbox' ? [planted.capturedId] : [];
};

const STATS = ['group_by=tag', 'group_by=tag,bounce_class', 'group_by=bounce_class', 'group_by=recipient_domain'];

/** Paths of one resource of the route's kind and of the planted ones. */
const pathsOf = (route: WalkedRoute): readonly string[] => {
  const { kind, name } = route;
  const asked = [kind === null ? '' : ids[kind], ...plantedOf(kind)];
  const paths = asked.map((id) => String(requestOf(route, tenant, id).url));
  if (name === 'GET /v1/stats') paths.push(...STATS.map((query) => `/v1/stats?${query}`));
  if (name === 'GET /v1/webhooks/:id/deliveries/:delivery')
    paths.push(`/v1/webhooks/${ids.webhooks}/deliveries/${planted.deliveryId}`);
  return paths;
};

/** @param rule of the route. A route without mail may name the people of the organization. */
const expectMasked = (text: string, { mail }: Pick<WalkedRoute['rule'], 'mail'> = {}): void => {
  if (mail !== 'none') expect(text).not.toMatch(ADDRESS);
  const lower = text.toLowerCase();
  for (const word of WORDS) expect(lower.includes(word.toLowerCase()), `${word} in ${text}`).toBe(false);
};

describe('a member who sees no contents', () => {
  test('may ask for ranges, but not for what mail says', async () => {
    const cookie = await signIn('auditor');
    const ask = async (url: string) => (await service.request({ url, headers: { cookie } })).statusCode;
    const from = new Date(Date.now() - 3_600_000).toISOString();
    expect(await ask(`/v1/stats?from=${from}&to=${new Date().toISOString()}`)).toBe(200);
    expect(await ask('/v1/audit/consistency?from=0')).not.toBe(403);
    expect(await ask('/v1/messages?from=a@example.net')).toBe(403);
  });

  test('is answered 500 by a route that returns a file without declaring its contents', () => {
    for (const file of [Buffer.from('Secretbody'), Readable.from(['Secretbody']), { file: new Uint8Array(1) }])
      expect(() => maskContents(file)).toThrow('no JSON');
  });
});

const readUntil = async (stream: Response, end: string): Promise<string> => {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream.body ?? []) {
    text += decoder.decode(chunk as Uint8Array);
    if (text.includes(end)) break;
  }
  return text;
};

describe.each(['analyst', 'auditor'])('to an %s', (role) => {
  let cookie: string;
  beforeAll(async () => {
    cookie = await signIn(role);
  });

  const get = (url: string) => service.request({ url, headers: { cookie, ...SAME_ORIGIN } });

  test.each(READS)('$name reveals no person', async (route) => {
    for (const url of pathsOf(route)) {
      for (const accept of ACCEPTED) {
        const answer = await service.request({ url, headers: { cookie, accept, ...SAME_ORIGIN } });
        expect([url, accept, answer.statusCode === 500], answer.body).toEqual([url, accept, false]);
        expectMasked(answer.body, route.rule);
      }
    }
  });

  test('only the domain of an address is shown, and of a reply its codes and what they mean', async () => {
    const { body, statusCode } = await get(`/v1/messages/${planted.messageId}`);
    const { recipients } = JSON.parse(body);
    expect(statusCode).toBe(200);
    expect(recipients[0]).toMatchObject({
      address: '***@example.net',
      category: 'no_mailbox',
      smtp: { code: 550, enhanced: '5.1.1', text: '***', mx: 'mx.example.net' },
    });
    const explained = await get(`/v1/messages/${planted.messageId}/explain`);
    expect(explained.body).toContain(
      'Bounced for ***@example.net: mx.example.net says that the mailbox does not exist (550 5.1.1',
    );
    const clicked = await get(`/v1/messages/${planted.clickedId}/explain`);
    expect(clicked.body).toContain('https://shop.example/***');
  });

  test.each([
    ...['to', 'from', 'subject', 'metadata'].map((filter) => `/v1/messages?${filter}=Secretlocal@example.net`),
    ...['messages', 'events', 'stats'].flatMap((list) =>
      ['@', '%40', '%2540', '%252540', '%EF%BC%A0'].map(
        (at) => `/v1/${list}?tag=user:Secretlocal${at}example.net&tag=campaign:spring`.split('&')[0] ?? '',
      ),
    ),
    '/v1/events?tag=a:b&tag=user:Secretlocal@example.net',
    '/v1/suppressions?address=Secretlocal@example.com',
    '/v1/suppressions/check?address=Secretlocal@example.com',
    '/v1/messages?key_id=Secretlocal@example.net',
  ])('%s confirms no guess', async (url) => {
    const answer = await get(url);
    expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'permission_missing']);
    expect(answer.json().error.message).toMatch(/may not see mail contents|cannot see mail contents/);
  });

  test('a tag without an address is a filter like any other', async () => {
    for (const list of ['messages', 'events', 'stats'])
      expect((await get(`/v1/${list}?tag=campaign:spring`)).statusCode).toBe(200);
    expect((await get('/v1/messages?tag=campaign:spring')).json().data).toHaveLength(2);
    const tagged = await get('/v1/stats?group_by=tag');
    expect(tagged.body).toContain('campaign:spring');
    expect(tagged.body).toContain('user:***@example.net');
  });

  test('a stream of events reveals no person', async () => {
    // The test of another role may already have started it.
    await service.server.listen({ port: 0, host: '127.0.0.1' }).catch(() => undefined);
    const { port } = service.server.server.address() as AddressInfo;
    const ended = new AbortController();
    const headers = { accept: 'text/event-stream', cookie };
    const stream = await fetch(`http://127.0.0.1:${port}/v1/events?after=start`, { headers, signal: ended.signal });
    expect(stream.status).toBe(200);
    const text = await readUntil(stream, planted.clickedId);
    ended.abort();
    expect(text).toContain('***@example.net');
    expectMasked(text);
  });
});

/** Fields in which an owner sees the planted mail. Hiding it from others proves nothing if no role sees it. */
const SHOWN = {
  'GET /v1/messages': ['subject', 'metadata', 'mailbox'],
  'GET /v1/messages/:id': ['subject', 'metadata', 'mailbox', 'reply'],
  'GET /v1/messages/:id/content': ['body', 'file', 'name', 'mailbox'],
  'GET /v1/messages/:id/raw': ['name', 'subject'],
  'GET /v1/messages/:id/events': ['reply', 'mailbox', 'link', 'telephone'],
  'GET /v1/messages/:id/explain': ['reply', 'mailbox', 'link', 'telephone'],
  'GET /v1/events': ['reply', 'mailbox', 'link', 'metadata'],
  'GET /v1/suppressions': ['reply', 'note', 'mailbox'],
  'GET /v1/suppressions/:id': ['mailbox', 'note'],
  'GET /v1/suppressions/export': ['note', 'mailbox'],
  'GET /v1/topics/:id/opt-ins': ['note', 'mailbox'],
  'GET /v1/webhooks/:id/deliveries': ['webhook', 'link', 'mailbox'],
  'GET /v1/webhooks/:id/deliveries/:delivery': ['webhook', 'metadata'],
  'GET /v1/inbox/:id': ['captured'],
  'GET /v1/stats': ['mailbox'],
  'GET /v1/audit/reports/messages/:id': ['reply', 'mailbox', 'subject'],
} as const satisfies Partial<Record<GuardedRouteName, readonly (keyof typeof PLANTED)[]>>;

test('the token of an auditor who sees no contents reveals no person', async () => {
  const { token } = await post('/v1/audit/auditors', newAuditor());
  for (const route of READS) {
    // These lists show auditors who has access.
    const rule = /^GET \/v1\/(?:members|audit\/auditors)\b/.test(route.name) ? route.rule : {};
    for (const url of pathsOf(route)) expectMasked((await service.request({ url, key: token })).body, rule);
  }
});

test('an owner sees all of it', async () => {
  const cookie = await signIn('owner');
  for (const [name, words] of Object.entries(SHOWN)) {
    const route = READS.find((one) => one.name === name);
    let text = '';
    for (const url of route === undefined ? [] : pathsOf(route))
      text += (await service.request({ url, headers: { cookie } })).body;
    for (const word of words) expect(text.includes(PLANTED[word]), `${PLANTED[word]} of ${name} in ${text}`).toBe(true);
  }
});

describe('a mask', () => {
  test.each([
    ['ann@example.net', '***@example.net'],
    ['Ann <ann.lee+x@example.net>, bob@example.org', 'Ann <***@example.net>, ***@example.org'],
    ['"ann \\" lee, x"@example.net', '***@example.net'],
    ['550 5.1.1 <änn@exämple.net>: no such user', '550 5.1.1 <***@exämple.net>: no such user'],
    ['ann@example.net@example.org', '***@***@example.org'],
    ['"ann', '"ann'],
    ['"@example.net', '***@example.net'],
    ['@', '***@'],
    ['no address', 'no address'],
    ['user:ann%40example.net', 'user:***%40example.net'],
    ['ann＠example.net', '***＠example.net'],
    ['ann%252540example.net', '***%252540example.net'],
  ])('of %j is %j', (text, masked) => {
    expect(maskContents({ sentence: text })).toEqual({ sentence: masked });
  });

  test('masks a long text without an address quickly', () => {
    const tookMs = processorMs(() => {
      maskContents({ text: `${'"a\\'.repeat(50_000)}@` });
      maskContents({ text: `${'a'.repeat(200_000)} @` });
      maskContents({ text: '@'.repeat(100_000) });
      maskContents({ text: `%${'25'.repeat(100_000)}` });
      maskContents({ text: '%25'.repeat(30_000) });
    });
    expect(tookMs).toBeLessThan(1_000);
  });
});
