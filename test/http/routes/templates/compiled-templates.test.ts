import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let key: string;

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
});
afterAll(() => service.close());

const ask = async (path: string, payload: object) => {
  const answer = await service.request({ method: 'POST', url: `/v1/templates${path}`, key, payload });
  return { status: answer.statusCode, body: answer.json() };
};

const NAME = { name: 'name', type: 'string', example: 'Ann & Bob' };
const MJML = `<mjml><mj-body><mj-section><mj-column>
  <mj-text>Hello {{ name }}</mj-text>
</mj-column></mj-section></mj-body></mjml>`;

test('a template in MJML is published as html in every language, and its source is unchanged', async () => {
  const locales = { de: { subject: 'Hallo', html: MJML.replace('Hello', 'Hallo') } };
  const content = { subject: 'Hello', html: MJML, format: 'mjml', variables: [NAME], locales };
  await ask('', { ...content, alias: 'in-mjml', name: 'In MJML' });
  expect((await ask('/in-mjml/publish', {})).status).toBe(200);
  const german = await ask('/in-mjml/render', { version: 1, locale: 'de-AT', variables: { name: '<b>' } });
  expect(german.body.html).toMatch(/^<!doctype html>[\s\S]*<table[\s\S]*Hallo &lt;b&gt;/i);
  const draft = await ask('/in-mjml/render', {});
  expect(draft.body.html).toContain('Hello Ann &amp; Bob');
  const version = await service.request({ url: '/v1/templates/in-mjml/versions/1', key });
  expect(version.json().content.html).toBe(MJML);
});

test('MJML that cannot be compiled is refused with line and column, in every language', async () => {
  const wrong = MJML.replace('mj-text>Hello', 'mj-txet>Hello');
  const locales = { de: { subject: 'Hallo', html: '<p>' } };
  const content = { subject: 'Hello', html: wrong, format: 'mjml', variables: [NAME], locales };
  await ask('', { ...content, alias: 'wrong-mjml', name: 'Wrong' });
  for (const path of ['/wrong-mjml/publish', '/wrong-mjml/render']) {
    const { status, body } = await ask(path, {});
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: 'template_invalid' });
    expect(body.error.details).toMatchObject({
      html: ['html line 2, column 28: unexpected end tag </mj-text>: <mj-txet> is open'],
      'locales.de.html': ['locales.de.html line 1, column 1: it must begin with <mjml>'],
    });
  }
});

test('styles of the template and of its layouts are written into the elements that they apply to', async () => {
  const layout = '<html><head><style>p { margin: 0 }</style></head><body>{{ content }}</body></html>';
  await ask('', { alias: 'styled-layout', name: 'Layout', subject: 'x', html: layout });
  expect((await ask('/styled-layout/publish', {})).status).toBe(200);
  const html = '<style>b { color: red }</style><p><b>{{ name }}</b></p>';
  const content = { subject: 'x', html, inline_css: true, layout: 'styled-layout', variables: [NAME] };
  await ask('', { ...content, alias: 'styled', name: 'Styled' });
  expect((await ask('/styled/publish', {})).status).toBe(200);
  const { body } = await ask('/styled/render', { version: 1, variables: { name: 'x' } });
  expect(body.html).toContain('<p style="margin: 0;"><b style="color: red;">x</b></p>');
});

test.each([
  ['<p></i>', 'html line 1, column 4: unexpected end tag </i>'],
  ['<style>b { color: red }</style>\n<a><b>{{ name }}</a></b>', 'html line 2, column 17: unexpected end tag </a>'],
  ['<p>{{ name }}</p><div', 'html line 1, column 22: '],
])('invalid html is refused as it was written, whether styles are inlined or not: %s', async (html, sentence) => {
  for (const inline_css of [false, true]) {
    const alias = `broken-${inline_css}-${html.length}`;
    const made = await ask('', {
      ...{ alias, name: 'Broken', subject: 'To {{ name }}', html, inline_css, variables: [NAME] },
    });
    expect(made.status).toBe(201);
    const { status, body } = await ask(`/${alias}/publish`, {});
    expect([status, body.error?.code]).toEqual([422, 'template_invalid']);
    expect(body.error.details.html[0]).toContain(sentence);
  }
});
