import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERROR_CATALOGUE } from '../../src/domain/kernel/errors.ts';
import { ERROR_STATUSES } from '../../src/http/errors.ts';
import { PRESENCE_ERRORS } from '../../src/http/route-rules.ts';
import { isRouteName, methodAndUrl, methodsOf, ROUTES } from '../../src/http/route-table.ts';
import { buildServer } from '../../src/http/server.ts';
import { createInMemoryInbox } from '../support/in-memory/inbox.ts';
import { type Service, startService } from './support/service.ts';

const names = Object.keys(ROUTES).filter(isRouteName);

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

describe('the route table', () => {
  test.each(names)('%s is registered', (name) => {
    const { method, url } = methodAndUrl(name);
    expect(service.server.hasRoute({ method: method as 'GET', url })).toBe(true);
  });

  test('is complete: a server with another route does not start', async () => {
    const server = await buildServer(service.deps);
    expect(() => server.get('/v1/secrets', async () => 'all')).toThrow(
      'route GET /v1/secrets is not in the route table',
    );
    await server.close();
  });

  test('answers every code of the catalogue somewhere, or on any path', () => {
    const anywhere = ['method_not_allowed', 'not_found', 'unsupported_media_type'];
    const declared = names.flatMap((name) => ROUTES[name].errors as readonly string[]);
    const always = [
      'unauthorized',
      'permission_missing',
      'address_not_allowed',
      'invalid_request',
      'header_not_allowed',
    ];
    const limits = ['rate_limit_exceeded', 'internal_error', 'unavailable'];
    const known = new Set([...anywhere, ...declared, ...always, ...limits, ...PRESENCE_ERRORS]);
    expect(Object.keys(ERROR_CATALOGUE).filter((code) => !known.has(code))).toEqual([]);
    expect(Object.keys(ERROR_STATUSES).sort()).toEqual(Object.keys(ERROR_CATALOGUE).sort());
  });

  test('knows the methods of a path', () => {
    expect(methodsOf('/v1/messages/x')).toEqual(['GET', 'PATCH']);
    expect(methodsOf('/v1/messages/x/y')).toEqual([]);
  });

  test('has no inbox when mail leaves the machine', async () => {
    const sending = await startService({ inbox: null });
    const organizationId = await sending.makeOrganization();
    const { value } = await sending.makeKey(organizationId, await sending.makeDomain(organizationId, 'example.test'));
    expect((await sending.request({ url: '/v1/inbox', key: value })).statusCode).toBe(404);
    await sending.close();
  });
});

test('/v1/inbox shows captured mail page by page and refuses cursors it never gave', async () => {
  const inbox = createInMemoryInbox();
  const capturing = await startService({ inbox });
  const organizationId = await capturing.makeOrganization();
  const domainId = await capturing.makeDomain(organizationId, 'a.test');
  const { value: key } = await capturing.makeKey(organizationId, domainId);
  const simulated = await capturing.makeKey(organizationId, domainId, { environment: 'test' });
  for (const subject of ['one', 'two', 'three']) {
    const raw = Buffer.from(`Subject: ${subject}\r\n\r\nHello\r\n`);
    await inbox.store({
      environment: 'live',
      from: 'a@a.test',
      to: ['b@b.test'],
      raw,
      receivedAt: new Date('2026-01-01T00:00:00Z'),
    });
  }
  const first = (await capturing.request({ url: '/v1/inbox?limit=2', key })).json();
  expect(first.data.map((mail: { subject: string }) => mail.subject)).toEqual(['three', 'two']);
  const second = (await capturing.request({ url: `/v1/inbox?limit=2&after=${first.next_cursor}`, key })).json();
  expect(second).toMatchObject({ has_more: false, next_cursor: null, data: [{ subject: 'one', size_bytes: 23 }] });
  for (const name of ['text', 'html', 'headers', 'raw']) expect(second.data[0]).not.toHaveProperty(name);
  for (const given of [
    'x',
    'inbox\nx',
    'inbox\n',
    'inbox\n-1',
    'inbox\n01',
    'inbox\n1e3',
    'inbox\n9999999999999999999',
  ]) {
    const after = given === 'x' ? given : Buffer.from(given).toString('base64url');
    const refused = await capturing.request({ url: `/v1/inbox?after=${after}`, key });
    expect(refused.json().error?.code).toBe('invalid_cursor');
  }
  const test = await capturing.request({ url: '/v1/inbox', key: simulated.value });
  expect([test.statusCode, test.json().data]).toEqual([200, []]);
  await capturing.close();
});
