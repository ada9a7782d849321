import { Models, ServerClient } from 'postmark';
import { beforeAll, describe, expect, test } from 'vitest';
import { startDatabaseService } from '../support/database-service.ts';
import { said, useTenant } from './tenant.ts';

/** The published client, unmodified. */

const { now, ask } = useTenant(() => startDatabaseService());

let requestHost: string;
beforeAll(async () => {
  const url = await now.service.server.listen({ port: 0, host: '127.0.0.1' });
  requestHost = `${url.replace('http://', '')}/compat/postmark`;
});

const client = (by = now.key): ServerClient => new ServerClient(by, { useHttps: false, requestHost });
const ours = async (url: string) => (await now.service.request({ url, key: now.key })).json();
const page = (body: string): string =>
  `<!DOCTYPE html><html lang="en"><head><title>x</title></head><body>${body}</body></html>`;
const WELCOME = {
  Name: 'Welcome',
  Alias: 'Welcome_Mail',
  Subject: 'Hello {{name}}',
  HtmlBody: page('<p>Hello {{user.name}}, {{{html}}}{{! not for you }}</p>'),
  TextBody: 'Hello {{user.name}}',
};

describe('postmark templates', () => {
  test('creates, sends, edits, lists and deletes', async () => {
    const made = await client().createTemplate(WELCOME);
    expect(made).toEqual({
      TemplateId: expect.stringMatching(/^tpl_/),
      Name: 'Welcome',
      Active: true,
      Alias: 'welcome-mail',
      TemplateType: 'Standard',
      LayoutTemplate: null,
    });
    const { content } = await ours('/v1/templates/welcome-mail');
    expect(content).toMatchObject({
      subject: 'Hello {{ name }}',
      html: page('<p>Hello {{ user.name }}, {{ html | raw }}</p>'),
      text: 'Hello {{ user.name }}',
      inline_css: true,
    });
    expect(content.variables.map(({ name, type }: { name: string; type: string }) => [name, type]).sort()).toEqual([
      ['html', 'string'],
      ['name', 'string'],
      ['user', 'object'],
    ]);
    const read = await client().getTemplate('Welcome_Mail');
    expect(read).toMatchObject({
      Subject: WELCOME.Subject,
      HtmlBody: page('<p>Hello {{user.name}}, {{{html}}}</p>'),
      TextBody: WELCOME.TextBody,
      AssociatedServerId: 0,
    });

    const send = (TemplateModel: object, by: object = { TemplateId: made.TemplateId }) =>
      client().sendEmailWithTemplate({ From: 'a@a.test', To: 'b@example.org', TemplateModel, ...by } as never);
    const { MessageID } = await send({ name: 'Ann', user: { name: 'A<b>' }, html: '<b>x</b>' });
    expect(await ours(`/v1/messages/${MessageID}/content`)).toMatchObject({
      subject: 'Hello Ann',
      html: page('<p>Hello A&lt;b&gt;, <b>x</b></p>'),
      text: 'Hello A<b>',
    });

    const edited = await client().editTemplate('welcome-mail', { Subject: 'Hi {{first}}', Name: 'Hi' });
    expect(edited).toMatchObject({ TemplateId: made.TemplateId, Name: 'Hi', Active: true });
    const { MessageID: second } = await send({ first: 'Bob' }, { TemplateAlias: 'welcome-mail' });
    expect(await ours(`/v1/messages/${second}/content`)).toMatchObject({ subject: 'Hi Bob' });
    expect(await client().editTemplate(made.TemplateId, {})).toMatchObject({ Name: 'Hi' });

    const { TotalCount, Templates } = await client().getTemplates();
    expect([TotalCount, Templates]).toEqual([1, [edited]]);
    expect((await client().getTemplates({ count: 1, offset: 1 })).Templates).toEqual([]);
    expect(await client().deleteTemplate('welcome-mail')).toEqual({
      ErrorCode: 0,
      Message: 'Template welcome-mail removed.',
    });
    await expect(client().getTemplate('welcome-mail')).rejects.toMatchObject({ code: 1101, statusCode: 422 });
  });

  test('gives a template without an alias a number, and a text its html', async () => {
    const made = await client().createTemplate({ Name: 'Note', TextBody: 'a < b & {{c}}' });
    expect([typeof made.TemplateId, made.Alias]).toEqual(['number', null]);
    const read = await client().getTemplate(made.TemplateId);
    expect(read).toMatchObject({ Subject: 'Note', HtmlBody: '', TextBody: 'a < b & {{c}}' });
    await client().editTemplate(made.TemplateId, { TextBody: 'c < {{c}}' });
    expect(await client().getTemplate(made.TemplateId)).toMatchObject({ HtmlBody: '', TextBody: 'c < {{c}}' });
    const mail = { From: 'a@a.test', To: 'b@example.org', TemplateId: made.TemplateId, TemplateModel: { c: 'd' } };
    const { MessageID } = await client().sendEmailWithTemplate(mail as never);
    expect(await ours(`/v1/messages/${MessageID}/content`)).toMatchObject({ text: 'c < d' });
    await client().deleteTemplate(made.TemplateId);
  });

  test('puts templates into a layout', async () => {
    const HtmlBody = page('<h1>{{brand}}</h1>{{{@content}}}');
    const layout = await client().createTemplate({
      Name: 'Frame',
      Alias: 'frame',
      HtmlBody,
      TemplateType: Models.TemplateTypes.Layout,
    });
    expect([layout.TemplateType, (await client().getTemplate('frame')).HtmlBody]).toEqual(['Layout', HtmlBody]);
    const made = await client().createTemplate({
      Name: 'In it',
      Alias: 'in-it',
      HtmlBody: '<p>Inside</p>',
      LayoutTemplate: 'frame',
    });
    expect([made.LayoutTemplate, made.TemplateType]).toEqual(['frame', 'Standard']);
    const mail = { From: 'a@a.test', To: 'b@example.org', TemplateAlias: 'in-it', TemplateModel: { brand: 'Acme' } };
    const { MessageID } = await client().sendEmailWithTemplate(mail as never);
    const { html } = await ours(`/v1/messages/${MessageID}/content`);
    expect(html).toBe(page('<h1>Acme</h1><p>Inside</p>'));
    expect((await client().editTemplate('in-it', { LayoutTemplate: null } as never)).LayoutTemplate).toBeNull();
  });

  test.each([
    [{}, 'Name is required, as text'],
    [{ Name: 'x' }, 'HtmlBody is required, or TextBody'],
    [{ Name: 7, HtmlBody: '<p>x</p>' }, 'Name must be text'],
    [{ Name: 'x\r\ny', HtmlBody: '<p>x</p>' }, 'Name must'],
    [{ Name: 'x', HtmlBody: '<p>\0</p>' }, 'HtmlBody must'],
    [{ Name: 'x', HtmlBody: '<p>x</p>', Subject: 'x\r\nBcc: a@b.test' }, 'Subject must'],
    [{ Name: 'x', HtmlBody: '<p>x</p>', Alias: 'a/b' }, 'Alias must be 1 to 64 characters'],
    [{ Name: 'x', HtmlBody: '<p>x</p>', Alias: {} }, 'Alias must be text'],
    [{ Name: 'x', HtmlBody: '<p>x</p>', TemplateType: 'constructor' }, 'TemplateType must be Standard or Layout'],
    [{ Name: 'x', HtmlBody: '<p>x</p>', TemplateType: 'Layout' }, 'HtmlBody must contain {{{@content}}}'],
    [{ Name: 'x', HtmlBody: '{{{@content}}}', TemplateType: 'Standard' }, 'HtmlBody must not contain {{{@content}}}'],
    [{ Name: 'x', HtmlBody: '<p>\n{{#each a}}{{/each}}</p>' }, 'HtmlBody line 2 has {{#each a}}'],
    [{ Name: 'x', TextBody: '{% raw %}', Subject: '{{^a}}' }, 'Subject line 1 has {{^a}}, which is written'],
    [{ Name: 'x', TextBody: '{% raw %}' }, 'TextBody line 1 contains {%'],
    [{ Name: 'x', HtmlBody: '<p>{{content}}</p>' }, 'HtmlBody line 1 has {{content}}, a name that Liquid uses itself'],
    [{ Name: 'x', TextBody: '{{constructor.a}}' }, 'TextBody line 1 has {{constructor.a}}'],
    [{ Name: 'x', HtmlBody: '<p>x</p>', LayoutTemplate: 'none' }, 'LayoutTemplate'],
    [{ Name: 'x', HtmlBody: '<p><div></p>' }, 'HtmlBody'],
    [{ Name: 'x', HtmlBody: '<p>x</p>', Active: true }, 'Active is not a known field'],
    [[], 'body must be an object'],
    ['"x"', 'body must be an object'],
  ])('refuses %j', async (payload, sentence) => {
    const before = (await ours('/v1/templates')).data.length;
    const answer = await ask('postmark', 'POST', '/templates', { payload });
    expect([answer.status, said('postmark', answer)]).toEqual([422, expect.stringContaining(sentence)]);
    expect((await ours('/v1/templates')).data).toHaveLength(before);
  });

  test('changes nothing if an edit cannot be published', async () => {
    await client().createTemplate({ Name: 'Kept', Alias: 'kept', Subject: 'Old', HtmlBody: '<p>{{a}}</p>' });
    await expect(
      client().editTemplate('kept', { Subject: 'New', HtmlBody: '<p><div></p>', Name: 'Other' }),
    ).rejects.toMatchObject({ statusCode: 422, message: expect.stringContaining('HtmlBody') });
    expect(await client().getTemplate('kept')).toMatchObject({
      Subject: 'Old',
      HtmlBody: '<p>{{a}}</p>',
      Name: 'Kept',
    });
    await expect(client().editTemplate('kept', { Alias: 'other' })).rejects.toMatchObject({
      message: 'Alias cannot be changed: create another template',
    });
    await expect(client().createTemplate({ Name: 'x', Alias: 'kept', HtmlBody: '<p>x</p>' })).rejects.toMatchObject({
      statusCode: 422,
      message: expect.stringContaining('already exists'),
    });
  });

  test('keeps declarations and translations that its client does not know', async () => {
    const payload = {
      alias: 'both',
      name: 'Both',
      subject: 'Hi {{ name }}',
      html: '<p>{{ name }} {{ view_url }}</p>',
      variables: [
        { name: 'name', type: 'string', default: 'you' },
        { name: 'day', type: 'string', default: 'now' },
      ],
      locales: { de: { subject: 'Hallo {{ name }}', html: '<p>{{ day }}</p>' } },
    };
    await now.service.request({ method: 'POST', url: '/v1/templates', key: now.key, payload });
    await client().editTemplate('both', { Subject: 'Hey {{name}} of {{place}}' });
    const { content } = await ours('/v1/templates/both');
    expect(content.locales.de.subject).toBe('Hallo {{ name }}');
    expect(content.variables).toEqual([
      expect.objectContaining({ name: 'name', default: 'you' }),
      expect.objectContaining({ name: 'place', required: false }),
      expect.objectContaining({ name: 'day', default: 'now' }),
    ]);
  });

  test('refuses 10 MB, test keys, keys without manage, and templates of others', async () => {
    const large = { Name: 'x', HtmlBody: 'x'.repeat(10_000_000) };
    expect((await ask('postmark', 'POST', '/templates', { payload: large })).status).toBe(413);
    const body = { Name: 'x', HtmlBody: '<p>x</p>' };
    const keyWith = async (more: object) =>
      (await now.service.makeKey(now.organizationId, now.domainId, more as never)).value;
    const reader = await keyWith({ permissions: ['read', 'send'] });
    for (const by of [reader, await keyWith({ environment: 'test' })])
      expect((await ask('postmark', 'POST', '/templates', { payload: body, by })).status).toBe(403);
    expect((await ask('postmark', 'GET', '/templates', { by: reader })).status).toBe(403);

    const other = await now.service.makeOrganization();
    const { value } = await now.service.makeKey(other, await now.service.makeDomain(other, 'b.test'));
    const { id } = await ours('/v1/templates/kept');
    expect(await client(value).getTemplates()).toEqual({ TotalCount: 0, Templates: [] });
    for (const name of ['kept', id]) {
      await expect(client(value).getTemplate(name)).rejects.toMatchObject({ code: 1101 });
      await expect(client(value).editTemplate(name, { Subject: 'Mine' })).rejects.toMatchObject({ code: 1101 });
      await expect(client(value).deleteTemplate(name)).rejects.toMatchObject({ code: 1101 });
    }
    expect(await client().getTemplate('kept')).toMatchObject({ Subject: 'Old' });
  });

  test.each([
    ['count=501', 'count must be'],
    ['offset=x', 'offset must be'],
    ['templateType=Layout', 'templateType must be All'],
    ['layoutTemplate=x', 'layoutTemplate is not'],
  ])('refuses to list with %s', async (query, sentence) => {
    expect(said('postmark', await ask('postmark', 'GET', `/templates?${query}`))).toContain(sentence);
  });
});
