import { Resend } from 'resend';
import { beforeAll, describe, expect, test } from 'vitest';
import { startDatabaseService } from '../support/database-service.ts';
import { useTenant } from './tenant.ts';

/** The published client, unmodified. */

const { now, ask } = useTenant(() => startDatabaseService());

let baseUrl: string;
beforeAll(async () => {
  baseUrl = `${await now.service.server.listen({ port: 0, host: '127.0.0.1' })}/compat/resend`;
});

const client = (by = now.key): Resend => new Resend(by, { baseUrl });
const ours = async (url: string) => (await now.service.request({ url, key: now.key })).json();

const WELCOME = {
  name: 'Welcome',
  alias: 'welcome',
  subject: 'Hello {{{NAME}}}',
  html: '<p>Hello {{{NAME}}}, you have {{{COUNT}}} orders</p>',
  text: 'Hello {{{NAME}}}',
  from: 'Shop <a@a.test>',
  replyTo: 'help@a.test',
  variables: [
    { key: 'NAME', type: 'string' as const, fallbackValue: 'you' },
    { key: 'COUNT', type: 'number' as const },
  ],
};

describe('templates', () => {
  test('create a draft, publish it, and send it', async () => {
    const { templates, emails } = client();
    const { data: made, error } = await templates.create(WELCOME);
    expect(error).toBeNull();
    const id = made?.id ?? '';
    expect(made).toEqual({ object: 'template', id });
    const draft = { status: 'draft', published_at: null, has_unpublished_versions: true, current_version_id: null };
    const { name, alias, subject, html, text, from } = WELCOME;
    const shown = { object: 'template', id, name, alias, subject, html, text, from, reply_to: ['help@a.test'] };
    const { data: found } = await templates.get('welcome');
    expect(found).toMatchObject({ ...shown, ...draft });
    expect(found?.variables).toMatchObject([
      { key: 'NAME', type: 'string', fallback_value: 'you' },
      { key: 'COUNT', type: 'number', fallback_value: null },
    ]);
    expect((await ours(`/v1/templates/${id}`)).content.variables).toEqual([
      { name: 'NAME', type: 'string', required: false, default: 'you' },
      { name: 'COUNT', type: 'number', required: true },
    ]);
    const send = (variables: Readonly<Record<string, string | number>>) =>
      emails.send({ to: 'b@example.org', template: { id: 'welcome', variables } });
    expect((await send({ COUNT: 2 })).error?.message).toContain('template');
    expect((await templates.publish(id)).data).toEqual({ object: 'template', id });
    expect((await templates.get(id)).data).toMatchObject({
      ...shown,
      status: 'published',
      published_at: expect.stringMatching(/^20/),
      has_unpublished_versions: false,
      current_version_id: '1',
    });
    expect((await send({})).error?.message).toContain('COUNT');
    const { data: sent } = await send({ COUNT: 2 });
    const content = await ours(`/v1/messages/${sent?.id}/content`);
    expect([content.subject, content.html]).toEqual(['Hello you', '<p>Hello you, you have 2 orders</p>']);
  });

  test('update the draft only, and keep what is not sent', async () => {
    const { templates } = client();
    const { data } = await templates.update('welcome', { subject: 'Good day {{{NAME}}} from {{{SHOP}}}' });
    expect((await templates.get('welcome')).data).toMatchObject({
      id: data?.id,
      subject: 'Good day {{{NAME}}} from {{{SHOP}}}',
      html: WELCOME.html,
      variables: [{ key: 'NAME', fallback_value: 'you' }, { key: 'COUNT', type: 'number' }, { key: 'SHOP' }],
      has_unpublished_versions: true,
      current_version_id: '1',
    });
    expect((await templates.update('welcome', { name: 'Greeting' })).error).toBeNull();
    expect(await ours('/v1/templates/welcome')).toMatchObject({ name: 'Greeting', content: { from: WELCOME.from } });
    expect((await templates.update('welcome', { alias: 'other' })).error?.message).toContain('alias cannot be changed');
  });

  test('duplicate, list page by page, and remove', async () => {
    const { templates } = client();
    const published = await templates.duplicate('welcome').publish();
    const copy = published.data?.id ?? '';
    expect((await templates.get(copy)).data).toMatchObject({ name: 'Greeting', alias: null, status: 'published' });
    const { data: first } = await templates.list({ limit: 1 });
    expect([first?.has_more, first?.data.map(({ id }) => id)]).toEqual([true, [copy]]);
    const { data: second } = await templates.list({ limit: 1, after: copy });
    expect([second?.has_more, second?.data.map(({ alias }) => alias)]).toEqual([false, ['welcome']]);
    expect((await templates.list({ before: copy })).error?.message).toContain('before is not supported');
    expect((await templates.remove(copy)).data).toEqual({ object: 'template', id: copy, deleted: true });
    expect((await templates.remove(copy)).error).toMatchObject({ statusCode: 404, name: 'not_found' });
  });

  test('name the fields of the program in errors, and create nothing', async () => {
    const { variables: _, replyTo: __, ...welcome } = WELCOME;
    const refused = async (more: object) =>
      (await ask('resend', 'POST', '/templates', { payload: { ...welcome, alias: 'bad', ...more } })).body;
    for (const [more, sentence] of [
      [{ name: undefined }, 'name is required'],
      [{ name: 'a\r\nb' }, 'name '],
      [{ html: '<p>{{#if a}}x{{/if}}</p>' }, 'html line 1 has {{#if a}}'],
      [{ html: '<p>{% render "x" %}</p>' }, 'html line 1 contains {%'],
      [{ html: 7 }, 'html must be text'],
      [{ html: undefined, text: undefined }, 'html must not be empty'],
      [{ subject: 'a\0b' }, 'subject '],
      [{ alias: 'a b/../c' }, 'alias must be'],
      [{ variables: 'x' }, 'variables must be an array'],
      [{ variables: [7] }, 'variables[0] must be an object'],
      [{ other: 1 }, 'other is not a known field'],
      [{ reply_to: 7 }, 'reply_to[0] must be'],
      [{ variables: [{ key: 'a-b', type: 'string' }] }, 'variables[0].key must be'],
      [{ variables: [{ key: 'A', type: 'text' }] }, 'variables[0].type must be'],
    ] as const)
      expect([sentence, (await refused(more)).message]).toEqual([sentence, expect.stringContaining(sentence)]);
    expect(await refused({ html: 'x'.repeat(10_000_000) })).toMatchObject({ statusCode: 413 });
    expect(await refused({ alias: 'welcome' })).toMatchObject({ statusCode: 409 });
    expect((await ours('/v1/templates')).data).toHaveLength(1);
  });

  test('show and change nothing of another organization', async () => {
    const other = await now.service.makeOrganization();
    const { value: by } = await now.service.makeKey(other, await now.service.makeDomain(other, 'b.test'));
    expect((await client(by).templates.list()).data?.data).toEqual([]);
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/publish'],
      ['POST', '/duplicate'],
    ] as const) {
      const payload = method === 'PATCH' ? { name: 'x' } : undefined;
      const answer = await ask('resend', method, `/templates/welcome${path}`, { by, payload });
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
    expect((await ours('/v1/templates/welcome')).name).toBe('Greeting');
  });
});
