import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SubmissionServer } from '../../../src/http/dependencies.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let key: string;
let sendOnly: string;
const servers: SubmissionServer[] = [];

beforeAll(async () => {
  service = await startService({ submissionServers: servers });
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['read'] })).value;
  sendOnly = (await service.makeKey(organizationId, domainId, { permissions: ['send'] })).value;
});
afterAll(() => service.close());

test('the address for mail by SMTP can be read, and so can its absence', async () => {
  const read = async () => (await service.request({ url: '/v1/submission', key })).json();
  expect(await read()).toEqual({ object: 'submission', user: 'outbox', servers: [] });
  servers.push({ host: 'mail.example.com', port: 587, tls: 'starttls' });
  expect((await read()).servers).toEqual([{ host: 'mail.example.com', port: 587, tls: 'starttls' }]);
});

test('the address for mail by SMTP is not shown without a key that reads', async () => {
  expect((await service.request({ url: '/v1/submission' })).statusCode).toBe(401);
  expect((await service.request({ url: '/v1/submission', key: sendOnly })).statusCode).toBe(403);
});
