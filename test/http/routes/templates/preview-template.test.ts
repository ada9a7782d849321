import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let key: string;
let stranger: string;
let sender: string;

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  sender = (await service.makeKey(organizationId, domainId, { permissions: ['send', 'read'] })).value;
  const foreign = await service.makeOrganization();
  stranger = (await service.makeKey(foreign, await service.makeDomain(foreign, 'foreign.example'))).value;
  const locales = { de: { subject: 'Hallo', html: '<p>Hallo {{ name }}</p>' } };
  const content = { subject: 'Hello', html: '<p>Hello {{ name }}</p>', variables: [NAME], locales };
  await post('', { ...content, alias: 'hello', name: 'Hello' });
  await post('/hello/publish', {});
  await service.request({ method: 'PATCH', url: '/v1/templates/hello', key, payload: { html: '<b>{{ name }}</b>' } });
  await post('', { alias: 'wrong', name: 'Wrong', subject: 'x', html: '{% for %}' });
});
afterAll(() => service.close());

const NAME = { name: 'name', type: 'string', example: '<Ann>' };
const BASE = '<base target="_blank">';

const post = async (path: string, payload: object): Promise<void> => {
  const { statusCode } = await service.request({ method: 'POST', url: `/v1/templates${path}`, key, payload });
  expect(statusCode).toBeLessThan(300);
};
const ask = (query = '', by = key, alias = 'hello') =>
  service.request({ url: `/v1/templates/${alias}/preview${query}`, key: by });

describe('the preview of a template', () => {
  test('is a document of its own under a policy of its own, which is not kept', async () => {
    const { statusCode, headers, body } = await ask();
    expect([statusCode, headers['content-type'], body]).toEqual([
      200,
      'text/html; charset=utf-8',
      `${BASE}<b>&lt;Ann&gt;</b>`,
    ]);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(headers['content-security-policy']).toBe(
      "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    );
  });

  test.each([
    ['a version', '?version=1', `${BASE}<p>Hello &lt;Ann&gt;</p>`],
    ['a language, or what it falls back to', '?version=1&locale=de-AT', `${BASE}<p>Hallo &lt;Ann&gt;</p>`],
  ])('shows %s', async (_, query, expected) => expect((await ask(query)).body).toBe(expected));

  test.each([
    { what: 'of a template that is wrong', alias: 'wrong', status: 422, code: 'template_variables_invalid' },
    { what: 'of no template', alias: 'none', status: 404, code: 'not_found' },
    { what: 'of another organization', by: () => stranger, status: 404, code: 'not_found' },
    { what: 'without permission to manage', by: () => sender, status: 403, code: 'permission_missing' },
    { what: 'of no version', query: '?version=2', status: 404, code: 'not_found' },
    { what: 'of an invalid version', query: '?version=1e1', status: 400, code: 'invalid_request' },
    { what: 'of a version beyond all', query: `?version=${'9'.repeat(30)}`, status: 400, code: 'invalid_request' },
    { what: 'in an invalid language', query: '?locale=de%0A', status: 400, code: 'invalid_request' },
    { what: 'with values', query: '?variables={}', status: 400, code: 'invalid_request' },
  ])('is refused $what, as data', async ({ alias = 'hello', query = '', by = () => key, status, code }) => {
    const { statusCode, headers, json } = await ask(query, by(), alias);
    expect([statusCode, json().error.code]).toEqual([status, code]);
    expect(headers['content-type']).toMatch(/^application\/json/);
  });
});
