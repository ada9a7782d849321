import { describe, expect, test } from 'vitest';
import { counted, imported, useService } from './service.ts';

const { now, template } = useService();

describe('templates', () => {
  test('from Resend keep their variables, and can be sent at once', async () => {
    const text = JSON.stringify({
      object: 'template',
      id: '34a080c9-b17d-4187-ad80-5af20266e535',
      alias: 'Reset_Password',
      name: 'reset',
      status: 'published',
      subject: 'Hello {{{NAME}}}',
      html: '<p>{{{NAME}}}, {{{ COUNT }}}</p>',
      text: null,
      from: 'Shop <shop@import.test>',
      reply_to: null,
      variables: [
        { key: 'NAME', type: 'string', fallback_value: 'you' },
        { key: 'COUNT', type: 'number', fallback_value: null },
      ],
    });
    expect(await imported('resend', text)).toMatchObject({ templates: counted(1), problems: [], code: 0 });
    expect(await template('reset-password')).toMatchObject({
      published_version: 1,
      content: {
        subject: 'Hello {{ NAME }}',
        html: '<p>{{ NAME }}, {{ COUNT }}</p>',
        from: 'Shop <shop@import.test>',
        variables: [
          { name: 'NAME', type: 'string', required: false, default: 'you' },
          { name: 'COUNT', type: 'number', required: false },
        ],
      },
    });
    expect(await imported('resend', text)).toMatchObject({ templates: counted(0, 1) });
  });

  test('from Postmark are imported with their layouts', async () => {
    const layout = {
      TemplateType: 'Layout',
      TemplateId: 1,
      Alias: 'base',
      Name: 'Base',
      HtmlBody: '<div>{{{@content}}}</div>',
      TextBody: '{{{@content}}}',
    };
    const welcome = {
      TemplateId: 1_234_567,
      Alias: null,
      Name: 'Welcome',
      Subject: 'Hi {{user.name}}',
      HtmlBody: '<p>{{user.name}} {{{ extra }}}</p>',
      TextBody: 'Hi {{user.name}}',
      LayoutTemplate: 'base',
    };
    const loop = { ...welcome, TemplateId: 2, HtmlBody: '<ul>\n{{#each items}}<li></li>{{/each}}</ul>' };
    const text = [layout, welcome, loop].map((one) => JSON.stringify(one)).join('\n');
    const { templates, problems } = await imported('postmark', text);
    expect(templates).toEqual(counted(2));
    expect(problems).toEqual([
      {
        record: 3,
        line: 3,
        reason:
          'html line 2 has {{#each items}}, which is written differently in Liquid: use {% for item in items %} … {% endfor %} in POST /v1/templates',
      },
    ]);
    expect((await template('1234567')).content).toMatchObject({
      html: '<p>{{ user.name }} {{ extra | raw }}</p>',
      text: 'Hi {{ user.name }}',
      layout: 'base',
      inline_css: true,
      variables: expect.arrayContaining([
        { name: 'user', type: 'object', required: false },
        { name: 'extra', type: 'string', required: false },
      ]),
    });
  });

  test('from SendGrid are imported in their active versions', async () => {
    const version = (active: number, html: string) => ({
      active,
      name: 'v',
      subject: '{{subject}}',
      html_content: html,
      plain_content: 'Hi {{name}}',
    });
    const dynamic = {
      id: 'd-0123456789abcdef0123456789abcdef',
      name: 'Order',
      generation: 'dynamic',
      versions: [version(0, '<p>old</p>'), version(1, '<p>{{name}}</p>')],
    };
    const text = JSON.stringify({ result: [dynamic, { ...dynamic, id: 'legacy' }], _metadata: { count: 2 } });
    const { templates, problems } = await imported('sendgrid', text);
    expect([templates, problems.map(({ reason }) => reason)]).toEqual([
      counted(1),
      ['is a legacy template, which cannot be converted: recreate it as a dynamic template'],
    ]);
    expect((await template(dynamic.id)).content).toMatchObject({ subject: '{{ subject }}', html: '<p>{{ name }}</p>' });
  });

  test('that the service rejects are reported with its message, and the others are imported', async () => {
    const one = (id: number, HtmlBody: string) =>
      JSON.stringify({ TemplateId: id, Name: 'A', Subject: 'A', HtmlBody, TextBody: '' });
    const { templates, problems } = await imported(
      'postmark',
      `${one(1, '<p><div></p>')}\n${one(2, '<p>fine</p>')}\n${one(3, '{% raw %}')}`,
    );
    expect(templates).toEqual(counted(1, 0, 1));
    expect(problems).toEqual([
      { record: 1, line: 1, reason: expect.stringContaining('html') },
      { record: 3, line: 3, reason: 'html line 1 contains {%, which starts a Liquid tag: convert it by hand' },
    ]);
  });
});

test.each([
  ['resend', '{"data":[{"name":"NAME","region":"eu-west-1","status":"verified","created_at":"x"}]}'],
  ['postmark', '{"TotalCount":1,"Domains":[{"Name":"NAME","SPFVerified":true,"ID":1}]}'],
  ['sendgrid', '[{"id":1,"domain":"NAME","subdomain":"em","valid":true,"dns":{"mail_cname":{"valid":true}}}]'],
])('domains from %s are registered once', async (vendor, text) => {
  const export_ = text.replace('NAME', `own.${now.name.replace('.test', '.example.com')}`);
  expect(await imported(vendor, export_)).toMatchObject({ domains: counted(1), problems: [] });
  expect(await imported(vendor, export_)).toMatchObject({ domains: counted(0, 1), problems: [] });
});
