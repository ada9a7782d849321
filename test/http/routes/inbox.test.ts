import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createInMemoryInbox } from '../../support/in-memory/inbox.ts';
import { type Service, startService } from '../support/service.ts';

const inbox = createInMemoryInbox();
let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService({ inbox });
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'a.test'))).value;
  await service.makeDomain(await service.makeOrganization(), 'other.test');
  for (const [from, to, subject] of [
    ['x@a.test', 'ann@b.test', 'Welcome'],
    ['x@a.test', 'bob@b.test', 'Your receipt'],
    ['x@other.test', 'ann@b.test', 'Welcome to another'],
  ] as const)
    await inbox.store({
      environment: 'live',
      from,
      to: [to],
      raw: Buffer.from(`Subject: ${subject}\r\n\r\nHi\r\n`),
      receivedAt: new Date(0),
    });
});
afterAll(() => service.close());

const subjects = async (query: string): Promise<readonly string[]> => {
  const { data } = (await service.request({ url: `/v1/inbox?${query}`, key })).json();
  return data.map(({ subject }: { subject: string }) => subject);
};

test('captured mail is found by recipient and subject, and is the organization’s own', async () => {
  expect(await subjects('to=ANN@b.test')).toEqual(['Welcome']);
  expect(await subjects('subject=receipt')).toEqual(['Your receipt']);
  expect(await subjects('to=ann@b.test&subject=receipt')).toEqual([]);
  const unknown = await service.request({ url: '/v1/inbox?recipient=x', key });
  expect(unknown.json().error.details).toEqual({ recipient: [expect.any(String)] });
});

test('a captured mail is read and deleted by its id, never another organization’s', async () => {
  const ask = async (method: 'GET' | 'DELETE', id: string) => {
    const { statusCode, body } = await service.request({ method, url: `/v1/inbox/${id}`, key });
    return { statusCode, body: body === '' ? null : JSON.parse(body) };
  };
  await inbox.store({
    environment: 'live',
    from: 'x@a.test',
    to: ['ann@b.test'],
    receivedAt: new Date(0),
    raw: Buffer.from('Subject: Once\r\n\r\nHi\r\n'),
  });
  const [listed] = (await service.request({ url: '/v1/inbox?subject=once', key })).json().data;
  expect(await ask('GET', listed.id)).toEqual({ statusCode: 200, body: listed });
  const others = (await inbox.list({ limit: 1, subject: 'another' })).mails[0]?.id ?? '';
  for (const id of [others, '0', 'x'])
    for (const method of ['GET', 'DELETE'] as const)
      expect(await ask(method, id)).toMatchObject({ statusCode: 404, body: { error: { code: 'not_found' } } });
  expect(await ask('DELETE', listed.id)).toEqual({ statusCode: 204, body: null });
  expect((await ask('GET', listed.id)).statusCode).toBe(404);
  expect(await subjects('')).toEqual(['Your receipt', 'Welcome']);
});

test('captured mail is deleted by the same filters, never another organization’s', async () => {
  const remove = async (query: string) =>
    (await service.request({ method: 'DELETE', url: `/v1/inbox?${query}`, key })).statusCode;
  expect(await remove('subject=receipt')).toBe(204);
  expect(await subjects('')).toEqual(['Welcome']);
  expect([await remove(''), await remove('')]).toEqual([204, 204]);
  expect(await subjects('')).toEqual([]);
  expect((await inbox.list({ limit: 10 })).mails.map(({ subject }) => subject)).toEqual(['Welcome to another']);
});

test('a test key sees and deletes what was simulated, and a live key what was sent', async () => {
  const own = createInMemoryInbox();
  const capturing = await startService({ inbox: own });
  onTestFinished(capturing.close);
  const organizationId = await capturing.makeOrganization();
  const domainId = await capturing.makeDomain(organizationId, 'a.test');
  for (const environment of ['live', 'test'] as const) {
    const raw = Buffer.from(`Subject: ${environment}\r\n\r\nHi\r\n`);
    await own.store({ environment, from: 'x@a.test', to: ['ann@b.test'], raw, receivedAt: new Date(0) });
  }
  for (const environment of ['test', 'live'] as const) {
    const { value } = await capturing.makeKey(organizationId, domainId, { environment });
    const look = async () => (await capturing.request({ url: '/v1/inbox', key: value })).json().data;
    expect((await look()).map(({ subject }: { subject: string }) => subject)).toEqual([environment]);
    expect((await capturing.request({ method: 'DELETE', url: '/v1/inbox', key: value })).statusCode).toBe(204);
    expect(await look()).toEqual([]);
  }
});
