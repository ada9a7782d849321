import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { suspendOrganization } from '../../../src/commands/organization.ts';
import { createShiftableSystem } from '../../workers/shiftable-system.ts';
import { receive } from '../support/received-mail.ts';
import { operator, type Service, startService } from '../support/service.ts';

const DAY_MS = 86_400_000;
const system = createShiftableSystem();
let service: Service;
let key: string;
let organizationId: string;
let domainId: string;

beforeAll(async () => {
  service = await startService({ context: { system } });
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['read'] })).value;
});
afterAll(() => service.close());

let mails = 0;
const receiveOne = () => {
  mails += 1;
  const to = `a${mails}@example.test`;
  return receive(service.deps.context, { organizationId, environment: 'live', domainId, to });
};

/** @returns the path of the link to the first attachment. */
const linkOf = async (id: string, by = key): Promise<string> => {
  const { attachments } = (await service.request({ url: `/v1/inbound/${id}`, key: by })).json();
  return new URL(attachments[0].url).pathname;
};
const get = (url: string) => service.request({ url });
const codeOf = async (url: string) => {
  const answer = await get(url);
  return [answer.statusCode, answer.json().error.code];
};

test('an attachment is downloaded by its link without a key, as a file that no browser shows', async () => {
  const id = await receiveOne();
  const answer = await get(await linkOf(id));
  expect([answer.statusCode, answer.body]).toEqual([200, '<script>alert(1)</script>']);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${id}-0"`,
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
});

test('each download is on record before anything is shown', async () => {
  const id = await receiveOne();
  const link = await linkOf(id);
  const { store } = service.deps.context;
  const before = (await store.readAll({ from: await store.head(), limit: 1 })).position;
  await get(link);
  const { events } = await store.readAll({ from: before, limit: 10 });
  expect(events).toMatchObject([
    { type: 'DataRead', data: { what: 'inbound_content', subjectId: id }, metadata: { actor: 'link', organizationId } },
  ]);
  expect(events[0]?.metadata.originId).toBeDefined();
});

test('a forged link is 404, wherever it was changed', async () => {
  const link = await linkOf(await receiveOne());
  const token = link.slice(link.lastIndexOf('/') + 1);
  const changed = (at: number) => token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
  const forged = [changed(0), changed(22), changed(24), changed(26), changed(40), token.slice(1), 'x', '%00', '..%2f'];
  for (const one of forged)
    expect([one, ...(await codeOf(`/inbound-attachments/${one}`))]).toEqual([one, 404, 'not_found']);
});

test('the link of another organization names its own message only', async () => {
  const other = await service.makeOrganization();
  const of = await service.makeDomain(other, 'other.test');
  const otherKey = (await service.makeKey(other, of, { permissions: ['read'] })).value;
  const mail = { organizationId: other, environment: 'live', domainId: of, to: 'a@other.test' } as const;
  const theirs = Buffer.from(
    (await linkOf(await receive(service.deps.context, mail), otherKey)).split('/')[2] ?? '',
    'base64url',
  );
  const ours = Buffer.from((await linkOf(await receiveOne())).split('/')[2] ?? '', 'base64url');
  const mixed = Buffer.concat([ours.subarray(0, 20), theirs.subarray(20)]).toString('base64url');
  expect(await codeOf(`/inbound-attachments/${mixed}`)).toEqual([404, 'not_found']);
});

test('is 410 once the content was removed or the organization is suspended, and 410 with the way to a new link later', async () => {
  const id = await receiveOne();
  const link = await linkOf(id);
  const removed = { kind: 'expired', at: '2026-01-01T00:00:00.000Z' } as const;
  const read = vi
    .spyOn(service.deps.context.contents, 'get')
    .mockImplementation(async (ids) => new Map(ids.map((one) => [one, removed])));
  expect(await codeOf(link)).toEqual([410, 'content_gone']);
  read.mockRestore();
  system.shift(7 * DAY_MS);
  expect((await get(link)).statusCode).toBe(200);
  system.shift(DAY_MS);
  const expired = await get(link);
  expect([expired.statusCode, expired.json().error]).toMatchObject([
    410,
    { code: 'content_gone', message: expect.stringContaining(`GET /v1/inbound/${id} has a new one`) },
  ]);
  const again = await linkOf(id);
  expect((await get(again)).statusCode).toBe(200);
  await suspendOrganization(service.deps.context, operator(organizationId), 'phishing');
  await vi.waitFor(async () => expect(await codeOf(again)).toEqual([410, 'link_suspended']));
});
