import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maskContents } from '../../../../src/http/serialize/mask-contents.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';
import { openWalkTenant, requestOf, type WalkTenant } from '../../support/walk.ts';
import { ALL_KINDS, GUARDED, type Kind, type WalkedRoute } from '../../support/walk-routes.ts';

const LIVE_ADMIN = { permission: 'admin', environment: 'live' } as const;
/** What people wrote, and what they are called. */
const WRITTEN = ['Secretsubject', 'Secretbody', 'Secretname', 'secretfile', 'secretmeta', 'secretlocal'];
/** Every address but a masked one. */
const ADDRESS = /(?<!\*)@/;

let service: DatabaseService;
let tenant: WalkTenant;
let key: string;
let messageId: string;
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
    email: `secretlocal.${role}${people}@example.net`,
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
  const content = Buffer.from('Secretbody').toString('base64');
  const message = {
    from: `Secretname <secretlocal@${tenant.domainName}>`,
    to: ['Secretname <secretlocal@example.net>', 'secretlocal+x@example.net'],
    reply_to: 'secretlocal@example.org',
    subject: 'Secretsubject for secretlocal@example.net',
    html: '<p>Secretbody</p>',
    headers: { 'X-Of': 'secretlocal@example.net' },
    attachments: [{ filename: 'secretfile.txt', content_type: 'text/plain', content }],
    metadata: { customer: 'secretmeta' },
  };
  messageId = (await post('/v1/messages/send', message)).id;
  await post('/v1/suppressions', { address: 'secretlocal@example.com', note: 'Asked by secretlocal@example.com' });
  await post(`/v1/topics/${ids.topics}/opt-ins`, { addresses: ['secretlocal@example.com'] });
}, 120_000);
afterAll(() => service.close());

const READS = GUARDED.filter(({ method }) => method === 'GET');

/** Of something of the route's kind, and of the message that was planted. */
const pathsOf = (route: WalkedRoute): readonly string[] => {
  const own = route.kind === null ? '' : ids[route.kind];
  const asked = [own, ...(route.kind === 'messages' ? [messageId] : [])];
  return asked.map((id) => String(requestOf(route, tenant, id).url));
};

const expectMasked = (text: string): void => {
  expect(text).not.toMatch(ADDRESS);
  for (const written of WRITTEN) expect(text.includes(written), `${written} in ${text}`).toBe(false);
};

describe('a member who sees no contents', () => {
  test('asks for ranges, and not for what mail says', async () => {
    const cookie = await signIn('auditor');
    const ask = async (url: string) => (await service.request({ url, headers: { cookie } })).statusCode;
    const from = new Date(Date.now() - 3_600_000).toISOString();
    expect(await ask(`/v1/stats?from=${from}&to=${new Date().toISOString()}`)).toBe(200);
    expect(await ask('/v1/audit/consistency?from=0')).not.toBe(403);
    expect(await ask('/v1/messages?from=a@example.net')).toBe(403);
  });

  test('reads in sentences where a link of mail leads, and not which one it is', () => {
    const sentence = 'bob@example.net followed a link: https://shop.example/reset?token=abc (at 10:00)';
    const masked = '***@example.net followed a link: https://shop.example/*** (at 10:00)';
    expect(maskContents({ sentence })).toEqual({ sentence: masked });
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

  test.each(READS)('$name shows nobody', async (route) => {
    for (const url of pathsOf(route)) {
      const answer = await get(url);
      expect([url, answer.statusCode === 500]).toEqual([url, false]);
      expectMasked(answer.body);
    }
  });

  test('an address keeps its domain', async () => {
    const answer = await get(`/v1/messages/${messageId}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('***@example.net');
  });

  test.each(['to', 'from', 'subject', 'metadata'])('lists cannot be filtered by %s', async (filter) => {
    const answer = await get(`/v1/messages?${filter}=secretlocal@example.net`);
    expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'permission_missing']);
  });

  test('a stream of events shows nobody', async () => {
    await service.server.listen({ port: 0, host: '127.0.0.1' }).catch(() => undefined); // by the other role
    const { port } = service.server.server.address() as AddressInfo;
    const ended = new AbortController();
    const headers = { accept: 'text/event-stream', cookie };
    const stream = await fetch(`http://127.0.0.1:${port}/v1/events?after=start`, { headers, signal: ended.signal });
    expect(stream.status).toBe(200);
    const text = await readUntil(stream, messageId);
    ended.abort();
    expect(text).toContain('***@example.net');
    expectMasked(text);
  });
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
  ])('of %j is %j', (text, masked) => {
    expect(maskContents({ sentence: text })).toEqual({ sentence: masked });
  });

  test('takes a long text without an address in little time', () => {
    const began = performance.now();
    maskContents({ text: `${'"a\\'.repeat(50_000)}@` });
    maskContents({ text: `${'a'.repeat(200_000)} @` });
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
