import { type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';

let service: DatabaseService;
let organizationId: string;
let domainId: string;
let key: string;
let port: number;
let people = 0;

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'revoked.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
  await service.server.listen({ port: 0, host: '127.0.0.1' });
  port = (service.server.server.address() as AddressInfo).port;
});
afterAll(() => service.close());

const signIn = async (role: string, name = 'A person') => {
  people += 1;
  const payload = { email: `person${people}@example.net`, role, name };
  const invited = (await service.request({ method: 'POST', url: '/v1/members', key, payload })).json();
  const answer = await signInWith(service, invited.link.url);
  return { memberId: invited.id as string, sessionId: answer.json().id as string, cookie: cookieOf(answer) };
};
type SignedIn = Awaited<ReturnType<typeof signIn>>;

const endings: readonly (readonly [string, (of: SignedIn) => object])[] = [
  ['whose session was ended', ({ sessionId }) => ({ method: 'DELETE', url: `/v1/sessions/${sessionId}` })],
  ['who was removed', ({ memberId }) => ({ method: 'DELETE', url: `/v1/members/${memberId}` })],
];

describe.each(endings)('for a member %s', (_, end) => {
  test('a request whose body was still on its way changes nothing', async () => {
    const member = await signIn('developer');
    const body = JSON.stringify({ name: 'theirs', domain_id: domainId, permissions: ['send'] });
    const headers = {
      ...{ cookie: member.cookie, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      ...SAME_ORIGIN,
    };
    const answered = Promise.withResolvers<IncomingMessage>();
    const sent: ClientRequest = openRequest({ port, host: '127.0.0.1', method: 'POST', path: '/v1/api-keys', headers });
    sent.on('response', answered.resolve).on('error', answered.reject);
    sent.write(body.slice(0, 10));
    await expect.poll(() => service.server.server.listening).toBe(true);
    await service.request({ ...end(member), key });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    sent.end(body.slice(10));
    const answer = await answered.promise;
    expect([answer.statusCode, JSON.parse(await text(answer)).error.code]).toEqual([401, 'unauthorized']);
  });

  test('a stream of events ends within seconds, though nothing happens', async () => {
    const member = await signIn('owner');
    const headers = { accept: 'text/event-stream', cookie: member.cookie };
    const stream = await fetch(`http://127.0.0.1:${port}/v1/events`, { headers });
    await service.request({ ...end(member), key });
    const endedAt = Date.now();
    expect(await stream.text()).toContain('"reason":"unauthorized"');
    // A heartbeat would come after 14 s.
    expect(Date.now() - endedAt).toBeLessThan(8_000);
  });

  test('a stream of events ends', async () => {
    const member = await signIn('owner');
    const headers = { accept: 'text/event-stream', cookie: member.cookie };
    const stream = await fetch(`http://127.0.0.1:${port}/v1/events`, { headers });
    expect(stream.status).toBe(200);
    await service.request({ ...end(member), key });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const payload = { name: 'wakes the stream', domain_id: domainId, permissions: ['send'] };
    const made = (await service.request({ method: 'POST', url: '/v1/api-keys', key, payload })).json();
    const told = await stream.text();
    expect(told).toContain('"reason":"unauthorized"');
    expect(told).not.toContain(made.id);
  });
});

describe('a member', () => {
  const send = (member: SignedIn, url: string, payload: object) =>
    service.request({ method: 'POST', url, payload, headers: { cookie: member.cookie, ...SAME_ORIGIN } });

  test.each([
    ['/v1/messages/send', 202],
    ['/v1/messages/analyze', 200],
  ])('asks %s from any domain of the organization, and from no other', async (url, status) => {
    const stranger = await service.makeOrganization();
    await service.makeDomain(stranger, `stranger-${status}.test`);
    const member = await signIn('developer');
    const ask = (from: string) => send(member, url, { from, to: 'b@example.net', subject: 'x', text: 'x' });
    expect((await ask('a@revoked.test')).statusCode).toBe(status);
    for (const from of [`a@stranger-${status}.test`, 'a@nowhere.test'])
      expect((await ask(from)).json().error.code).toBe('from_domain_mismatch');
  });

  test('sends a batch from several domains of the organization, or each message individually', async () => {
    const stranger = await service.makeOrganization();
    await service.makeDomain(stranger, 'elsewhere.test');
    await service.makeDomain(organizationId, 'second.test');
    const member = await signIn('developer');
    const from = (address: string) => ({ from: address, to: 'b@example.net', subject: 'x', text: 'x' });
    const ask = (more: object, addresses: readonly string[]) =>
      send(member, '/v1/messages/batch', { messages: addresses.map(from), ...more });
    const own = ['a@revoked.test', 'A <a@SECOND.test>', 'b@second.test'];
    const answer = await ask({}, own);
    expect([answer.statusCode, answer.json().data.length]).toEqual([202, 3]);
    const sent = (await service.request({ url: `/v1/messages/${answer.json().data[1].id}`, key })).json();
    expect(sent).toMatchObject({
      from: 'a@second.test',
      message_id: `<${sent.id}@second.test>`,
      api_key_id: member.memberId,
    });
    const strict = await ask({}, [...own, 'a@elsewhere.test']);
    expect([strict.statusCode, strict.json().error.code]).toEqual([403, 'from_domain_mismatch']);
    const partial = (await ask({ mode: 'partial' }, ['a@elsewhere.test', 'a@nowhere.test', 'a@second.test'])).json();
    expect(partial.data.map(({ error }: { error?: { code: string } | null }) => error?.code ?? null)).toEqual([
      'from_domain_mismatch',
      'from_domain_mismatch',
      null,
    ]);
  });

  test('cannot send from a domain that was deleted, and can once it is registered again', async () => {
    const member = await signIn('developer');
    const ask = async () => {
      const message = { from: 'a@gone.test', to: 'b@example.net', subject: 'x', text: 'x' };
      return (await send(member, '/v1/messages/send', message)).statusCode;
    };
    const { id } = (await send(member, '/v1/domains', { name: 'gone.test' })).json();
    expect(await ask()).toBe(202);
    await service.request({ method: 'DELETE', url: `/v1/domains/${id}`, key });
    expect(await ask()).toBe(403);
    await send(member, '/v1/domains', { name: 'gone.test' });
    await expect.poll(ask, { timeout: 5_000 }).toBe(202);
  });

  test('is named in the explanation of what they sent, rescheduled and cancelled, and in reports', async () => {
    const member = await signIn('developer', 'Ada Example');
    const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
    const message = { from: 'a@revoked.test', to: 'b@example.net', subject: 'x', text: 'x', scheduled_at };
    const { id } = (await send(member, '/v1/messages/send', message)).json();
    await send(member, `/v1/messages/${id}/cancel`, {});
    await service.request({ method: 'DELETE', url: `/v1/members/${member.memberId}`, key });
    const { steps } = (await service.request({ url: `/v1/messages/${id}/explain`, key })).json();
    const named = `Ada Example (${member.memberId})`;
    expect(steps[0].sentence).toContain('came from Ada Example without');
    expect(steps[1]).toMatchObject({
      sentence: 'Ada Example is a member with permission to send.',
      facts: { member_id: member.memberId, member_name: 'Ada Example' },
    });
    expect(steps.at(-1)).toMatchObject({
      sentence: 'Cancelled for b@example.net by Ada Example.',
      actor: { type: 'member', id: member.memberId },
    });
    expect(JSON.stringify(steps)).not.toContain(member.sessionId);
    const report = (await service.request({ url: `/v1/audit/reports/messages/${id}`, key })).json();
    expect(report.facts).toContainEqual({ name: 'Sent by', value: `${named}, from domain revoked.test` });
    expect(report.events[0].by).toBe(named);
  });

  test('tries a template', async () => {
    const content = { alias: 'try-it', name: 'Try it', subject: 'Hello', html: '<p>Hello</p>' };
    const member = await signIn('developer');
    const { id } = (await send(member, '/v1/templates', content)).json();
    const answer = await send(member, `/v1/templates/${id}/test-send`, { to: 'b@example.net' });
    expect(answer.statusCode).toBe(202);
    const url = `/v1/messages/${answer.json().id}`;
    expect((await service.request({ url, key })).body).toContain('test@revoked.test');
  });

  test('cannot make changes as an owner whose role is lowered at that moment', async () => {
    const [member] = [await signIn('owner'), await signIn('owner')];
    const payload = { role: 'auditor' };
    await service.request({ method: 'PATCH', url: `/v1/members/${member.memberId}`, key, payload });
    const invite = () => send(member, '/v1/members', { email: `friend${Math.random()}@example.net`, role: 'owner' });
    await expect.poll(async () => (await invite()).statusCode, { timeout: 5_000 }).toBe(403);
  });
});
