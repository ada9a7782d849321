import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { HELLO, openTemplates, type Templates } from '../../support/templates.ts';

let service: DatabaseService;
let key: string;
let testKey: string;
let templates: Templates;

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  testKey = (await service.makeKey(organizationId, domainId, { environment: 'test' })).value;
  templates = openTemplates(service, key);
});
afterAll(() => service.close());

describe('a template', () => {
  test('is a draft first, known by its id and its alias', async () => {
    const made = await templates.ask('POST', '', { ...HELLO, alias: 'welcome' });
    expect(made.status).toBe(201);
    expect(made.headers).toMatchObject({ etag: '"0"', location: `/v1/templates/${made.body.id}` });
    expect(made.body).toMatchObject({
      object: 'template',
      alias: 'welcome',
      status: 'draft',
      published_version: null,
      has_draft: true,
      content: { subject: HELLO.subject, text: null, format: 'html', locales: {}, reply_to: [] },
    });
    for (const path of ['/welcome', `/${made.body.id}`])
      expect((await templates.ask('GET', path)).body).toEqual(made.body);
    const { content: _, ...listed } = made.body;
    expect((await templates.ask('GET', '')).body.data).toEqual([listed]);
  });

  test('has an alias that no other has, until it is deleted', async () => {
    const alias = await templates.make();
    expect((await templates.ask('POST', '', { ...HELLO, alias })).body.error.code).toBe('resource_conflict');
    expect((await templates.ask('DELETE', `/${alias}`)).status).toBe(204);
    expect((await templates.ask('GET', `/${alias}`)).status).toBe(404);
    expect((await templates.ask('POST', '', { ...HELLO, alias })).status).toBe(201);
  });

  test('can use the address of each copy in html and text without a declaration, but not in other fields', async () => {
    const viewed = '<p>{{ name }} <a href="{{ view_url }}">View in browser</a></p>';
    const more = { html: viewed, text: '{{ view_url }}', locales: { de: { subject: '.', html: viewed } } };
    const alias = await templates.make(more);
    expect((await templates.publish(alias)).status).toBe(200);
    const rendered = await templates.ask('POST', `/${alias}/render`, { version: 1 });
    expect(rendered.body).toMatchObject({ html: viewed.replace('{{ name }}', 'Ann'), text: '{{ view_url }}' });
    const rules = rendered.body.analysis.findings.map(({ rule }: { readonly rule: string }) => rule);
    expect(rules).not.toContain('template-marker');
    const wrong = await templates.publish(await templates.make({ subject: '{{ name }} {{ view_url }}' }));
    expect(wrong.body.error.details).toEqual({
      subject: ["subject line 1, column 15: the variable 'view_url' is not declared"],
    });
    const variables = [...HELLO.variables, { name: 'view_url', type: 'url', example: 'https://own.test/' }];
    const own = await templates.makePublished({ ...more, variables });
    expect((await templates.ask('POST', `/${own}/render`, { version: 1 })).body.text).toBe('https://own.test/');
  });

  test('is analysed by the lines of its source', async () => {
    const html = '{% if name %}\n\n{% endif %}<p>{{ name }}</p>\n<p>\n  <a href="http://10.0.0.1/">{{ name }}</a></p>';
    const alias = await templates.make({ html });
    const findings = ({ findings }: { readonly findings: readonly { readonly rule: string }[] }) =>
      findings.filter(({ rule }) => rule === 'link-private-host');
    const expected = [expect.objectContaining({ source: { field: 'html', line: 5, column: 3 } })];
    expect(findings((await templates.ask('POST', `/${alias}/render`, {})).body.analysis)).toEqual(expected);
    expect(findings((await templates.publish(alias)).body.analysis)).toEqual(expected);
    const broken = await templates.make({ html: `${html}\n<div>` });
    const { details } = (await templates.publish(broken)).body.error;
    expect(details).toEqual({ html: ['html line 6, column 1: element <div> is not closed'] });
  });

  test('is changed field by field, unless it was changed by another request since', async () => {
    const alias = await templates.make({ text: 'Hello {{ name }}' });
    const { headers } = await templates.ask('GET', `/${alias}`);
    const changed = await templates.ask(
      'PATCH',
      `/${alias}`,
      { subject: 'Hi {{ name }}', text: null },
      { 'if-match': headers.etag },
    );
    expect(changed.body.content).toMatchObject({ subject: 'Hi {{ name }}', html: HELLO.html, text: null });
    const late = await templates.ask('PATCH', `/${alias}`, { subject: 'Late' }, { 'if-match': headers.etag });
    expect([late.status, late.body.error.code]).toEqual([412, 'precondition_failed']);
  });

  test('is shared with test keys, which change nothing', async () => {
    const alias = await templates.make();
    expect((await service.request({ url: `/v1/templates/${alias}`, key: testKey })).statusCode).toBe(200);
    const url = `/v1/templates/${alias}/publish`;
    expect((await service.request({ method: 'POST', url, key: testKey })).json().error.code).toBe(
      'environment_not_allowed',
    );
  });
});

describe('publishing', () => {
  test('makes versions that never change, while the draft does', async () => {
    const alias = await templates.make();
    const first = await templates.publish(alias);
    expect(first.body).toMatchObject({ version: 1, published: true, analysis: { object: 'analysis' } });
    expect((await templates.publish(alias)).body.error.code).toBe('resource_conflict');
    await templates.ask('PATCH', `/${alias}`, { subject: 'Hi {{ name }}' });
    expect((await templates.ask('GET', `/${alias}`)).body).toMatchObject({ published_version: 1, has_draft: true });
    expect((await templates.publish(alias)).body).toMatchObject({ version: 2 });
    expect((await templates.ask('GET', `/${alias}/versions/1`)).body).toMatchObject({
      published: false,
      published_by: expect.stringMatching(/^key:key_/),
      content: { subject: HELLO.subject },
    });
    expect((await templates.ask('GET', `/${alias}/versions/2`)).body.content.subject).toBe('Hi {{ name }}');
    expect((await templates.ask('GET', `/${alias}/versions/3`)).status).toBe(404);
    expect((await templates.ask('GET', `/${alias}/versions/x`)).status).toBe(404);
  });

  test.each([
    [
      { html: '<p>{{ name }}</p>\n<p>{{ nobody }}</p>' },
      'html',
      /line 2, column 7: the variable 'nobody' is not declared/,
    ],
    [{ subject: 'Hi', html: '<p>Hi</p>' }, 'variables.name', /is declared but not used/],
    [{ html: '<p>{{ name }}</p>{% if name %}' }, 'html', /line 1, column 18/],
    [{ html: '<p>{{ name | shout }}</p>' }, 'html', /undefined filter: shout/],
    [{ html: '<div>{{ name }}' }, 'html', /^html line 1, column 1: element <div> is not closed/],
    [{ variables: [{ name: 'name', type: 'number', example: 'Ann' }] }, 'variables.name', /example must be a number/],
    [{ layout: 'nowhere' }, 'layout', /is not a template of your organization/],
  ])('refuses %o', async (content, field, sentence) => {
    const { status, body } = await templates.publish(await templates.make(content));
    expect([status, body.error.code]).toEqual([422, 'template_invalid']);
    expect(body.error.details[field]?.[0]).toMatch(sentence);
  });

  test('returns what is published to an earlier version, and forward again', async () => {
    const alias = await templates.makePublished();
    await templates.ask('PATCH', `/${alias}`, { subject: 'Bad {{ name }}' });
    await templates.publish(alias);
    const back = await templates.ask('POST', `/${alias}/rollback`, { version: 1 });
    expect(back.body).toMatchObject({ published_version: 1, has_draft: false });
    expect((await templates.ask('GET', `/${alias}/versions?limit=1`)).body).toMatchObject({
      data: [{ version: 2, published: false }],
      has_more: true,
    });
    expect((await templates.ask('POST', `/${alias}/rollback`, { version: 7 })).status).toBe(404);
  });

  test('lists versions page by page, and shows how two of them differ', async () => {
    const alias = await templates.makePublished({ html: '<p>One {{ name }}</p>\n<p>Two</p>\n<p>Three</p>' });
    await templates.ask('PATCH', `/${alias}`, { html: '<p>One {{ name }}</p>\n<p>2</p>\n<p>Three</p>' });
    await templates.publish(alias);
    const first = (await templates.ask('GET', `/${alias}/versions?limit=1`)).body;
    const second = (await templates.ask('GET', `/${alias}/versions?limit=1&after=${first.next_cursor}`)).body;
    expect([first.data[0].version, second.data[0].version, second.has_more]).toEqual([2, 1, false]);
    const { body } = await templates.ask('GET', `/${alias}/versions/2/diff?with=1`);
    expect(body).toMatchObject({ object: 'template_diff', from: 1, to: 2 });
    expect(body.changes.map(({ field }: { field: string }) => field)).toEqual(['html']);
    expect(body.changes[0].lines).toEqual([
      { kind: 'same', text: '<p>One {{ name }}</p>' },
      { kind: 'removed', text: '<p>Two</p>' },
      { kind: 'added', text: '<p>2</p>' },
      { kind: 'same', text: '<p>Three</p>' },
    ]);
    expect((await templates.ask('GET', `/${alias}/versions/2/diff?with=2`)).body.changes).toEqual([]);
    await templates.ask('PATCH', `/${alias}`, { subject: 'Another' });
    const draft = (await templates.ask('GET', `/${alias}/versions/2/diff?with=draft`)).body;
    expect([draft.from, draft.changes]).toMatchObject([null, [{ field: 'subject', from: 'Another' }]]);
    expect((await templates.ask('GET', `/${alias}/versions/2/diff?with=0`)).status).toBe(400);
  });
});

describe('rendering', () => {
  test('shows what a message would be, and writes nothing', async () => {
    const alias = await templates.make();
    const { store } = service.deps.context;
    const head = await store.head();
    const examples = await templates.ask('POST', `/${alias}/render`, {});
    expect(examples.body).toMatchObject({ version: null, subject: 'Hello Ann', html: '<p>Hello <b>Ann</b></p>' });
    const given = await templates.ask('POST', `/${alias}/render`, { variables: { name: '<i>\r\nBcc: x', typo: 1 } });
    expect(given.body).toMatchObject({
      subject: 'Hello <i> Bcc: x',
      html: '<p>Hello <b>&lt;i&gt;\r\nBcc: x</b></p>',
      unused_variables: ['typo'],
    });
    expect(await store.head()).toBe(head);
  });

  test('names what prevents publishing the draft, and nothing for a version', async () => {
    const alias = await templates.makePublished();
    expect((await templates.ask('POST', `/${alias}/render`, {})).body.publish_problems).toEqual([]);
    await templates.ask('PATCH', `/${alias}`, { subject: 'Hi', html: '<p>{{ nobody }}</p>' });
    const { status, body } = await templates.ask('POST', `/${alias}/render`, { variables: { name: 'Ann' } });
    expect([status, body.publish_problems]).toEqual([
      200,
      [
        "html line 1, column 7: the variable 'nobody' is not declared",
        'variables.name is declared but not used: use it or remove it',
      ],
    ]);
    expect((await templates.ask('POST', `/${alias}/render`, { version: 1 })).body.publish_problems).toEqual([]);
    await templates.ask('PATCH', `/${alias}`, { html: '<div>{{ name }}' });
    const unclosed = await templates.ask('POST', `/${alias}/render`, {});
    expect(unclosed.body.publish_problems).toEqual([
      expect.stringMatching(/^html line 1, column 1: element <div> is not closed/),
    ]);
  });

  test.each([
    [
      'made from the html',
      { html: '<p>Hi {{ name }}, <a href="https://a.test/">look</a></p>' },
      'Hi Ann, look [https://a.test/]',
    ],
    ['its own', { html: '<p>Hello</p>', text: 'Bonjour {{ name }}' }, 'Bonjour Ann'],
    ['none where the html has no words', { html: '<img src="https://a.test/{{ name }}.png" alt="">' }, null],
  ])('shows the text that a send carries: %s', async (_, content, text) => {
    const alias = await templates.make(content);
    expect((await templates.ask('POST', `/${alias}/render`, {})).body.text).toBe(text);
  });

  test('refuses variables that are missing or of another type, all at once', async () => {
    const variables = [...HELLO.variables, { name: 'count', type: 'number' }];
    const alias = await templates.make({ text: '{{ count }}', variables });
    const { status, body } = await templates.ask('POST', `/${alias}/render`, { variables: { count: '1' } });
    expect([status, body.error.code]).toEqual([422, 'template_variables_invalid']);
    expect(body.error.details).toEqual({
      'variables.name': ['variables.name is required'],
      'variables.count': ['variables.count must be a number'],
    });
  });

  test('uses the requested language, or the nearest one there is', async () => {
    const locales = { de: { subject: 'Hallo {{ name }}', html: '<p>Hallo {{ name }}</p>' } };
    const alias = await templates.make({ locales });
    const subjects = [];
    for (const locale of ['de-AT', 'de', 'fr', undefined]) {
      subjects.push(
        (await templates.ask('POST', `/${alias}/render`, locale === undefined ? {} : { locale })).body.subject,
      );
    }
    expect(subjects).toEqual(['Hallo Ann', 'Hallo Ann', 'Hello Ann', 'Hello Ann']);
  });

  test('refuses a layout without a place for its content', async () => {
    const layout = await templates.makePublished();
    const { body } = await templates.publish(await templates.make({ layout }));
    expect(body.error.details.layout).toEqual([
      `layout '${layout}' has no {{ content }}, where the content of the template is inserted`,
    ]);
  });

  test('puts the template into the published version of its layout', async () => {
    const layout = await templates.makePublished({ html: '<div>{{ content }}</div>', subject: 'x', variables: [] });
    const alias = await templates.makePublished({ layout });
    await templates.ask('PATCH', `/${layout}`, { html: '<main>{{ content }}</main>' });
    await templates.publish(layout);
    const old = await templates.ask('POST', `/${alias}/render`, { version: 1 });
    expect(old.body.html).toBe('<div><p>Hello <b>Ann</b></p></div>');
    expect((await templates.ask('POST', `/${alias}/render`, {})).body.html).toBe(
      '<main><p>Hello <b>Ann</b></p></main>',
    );
    await templates.ask('PATCH', `/${layout}`, { layout: alias });
    expect((await templates.publish(layout)).body.error.details.layout).toEqual([
      `layout '${alias}' would contain itself, directly or through its own layouts`,
    ]);
  });
});
