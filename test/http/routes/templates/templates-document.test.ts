import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMarks } from '../../../../src/domain/template/render-template.ts';
import { createLiquidRenderer } from '../../../../src/lib/templates/templates.ts';
import { type Service, startService } from '../../support/service.ts';

const source = readFileSync(new URL('../../../../docs/templates.md', import.meta.url), 'utf8');
const [template, send] = [...source.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = '']) => JSON.parse(json));

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
});
afterAll(() => service.close());

const post = async (url: string, payload: object) => {
  const answer = await service.request({ method: 'POST', url: `/v1${url}`, key, payload });
  return { status: answer.statusCode, body: answer.json() };
};

test('the template of docs/templates.md is created, published and sent as the page says', async () => {
  expect((await post('/templates', template)).status).toBe(201);
  const published = await post(`/templates/${template.alias}/publish`, {});
  expect(published).toMatchObject({ status: 200, body: { version: 1 } });
  const sent = await post('/messages/send', send);
  expect(sent.status).toBe(202);
  const content = await service.request({ url: `/v1/messages/${sent.body.id}/content`, key });
  expect(content.json()).toMatchObject({
    subject: 'Bestellung A-7 ist unterwegs',
    html: '<p>Hallo Ann,</p>\n<p>Bestellung A-7 kommt am 1. März 2026.</p>',
  });
  const { order: _, ...variables } = send.template.variables;
  const refused = await post('/messages/send', { ...send, template: { ...send.template, variables } });
  expect(source).toContain(refused.body.error.details['template.variables.order'][0]);
});

const rows = [...source.matchAll(/^\| `(\{.*?)` \| (.*?) \| (.*?) \|$/gm)].map(([, written = '', english, german]) => [
  written.replaceAll('\\|', '|'),
  english,
  german,
]);

test.each(rows)('%s makes %s, and in German %s', (written = '', english, german) => {
  const values = { day: '2026-01-31', amount: 1234.5, count: 3, names: ['Ann', 'Bob'] };
  const render = (locale: string): string =>
    readMarks(
      createLiquidRenderer().render(written, values, { locale, escapes: true, charactersMax: 1_000 }),
    ).html.trim();
  expect([render('en'), render('de')]).toEqual([english, german]);
});

test('the table of docs/templates.md was read', () => {
  expect(rows.length).toBeGreaterThan(4);
});
