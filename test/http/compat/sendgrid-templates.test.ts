import sendgrid from '@sendgrid/mail';
import { beforeAll, describe, expect, test } from 'vitest';
import { startDatabaseService } from '../support/database-service.ts';
import { useTenant } from './tenant.ts';

/** The published client, unmodified. */

const { now, ask } = useTenant(() => startDatabaseService());

interface Response {
  readonly statusCode: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what each test looks at
  readonly body: any;
}
type Request = { readonly method: string; readonly url: string; readonly qs?: object; readonly body?: object };
/** The instance of `@sendgrid/client` that `@sendgrid/mail` uses. */
interface Client {
  setApiKey(key: string): void;
  setDefaultRequest(name: string, value: string): void;
  request(asked: Request): Promise<[Response, unknown]>;
}
const client = (sendgrid as unknown as { readonly client: Client }).client;

beforeAll(async () => {
  const url = await now.service.server.listen({ port: 0, host: '127.0.0.1' });
  client.setApiKey(now.key);
  client.setDefaultRequest('baseUrl', `${url}/compat/sendgrid/`);
});

const call = async (method: string, url: string, more: Omit<Request, 'method' | 'url'> = {}): Promise<Response> =>
  (await client.request({ method, url, ...more }))[0];
const refused = (method: string, url: string, more: object = {}): Promise<string> =>
  call(method, url, more).then(
    () => '',
    ({ code, response }) => `${code} ${response.body.errors[0].field} ${response.body.errors[0].message}`,
  );
const ours = async (url: string) => (await now.service.request({ url, key: now.key })).json();
const create = async (name: string): Promise<string> =>
  (await call('POST', '/v3/templates', { body: { name, generation: 'dynamic' } })).body.id;

describe('sendgrid templates', () => {
  test('/v3/templates: creates, adds versions, sends, activates, renames, lists and deletes', async () => {
    const made = await call('POST', '/v3/templates', { body: { name: 'Welcome', generation: 'dynamic' } });
    expect([made.statusCode, made.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^d-[0-9a-f]{32}$/),
        name: 'Welcome',
        generation: 'dynamic',
        updated_at: expect.any(String),
        versions: [],
      },
    ]);
    const { id } = made.body;
    const url = `/v3/templates/${id}`;
    const body = {
      template_id: id,
      active: 1,
      name: 'First',
      subject: 'Hi {{name}}',
      html_content: '<p>Hi {{user.name}} {{{html}}}</p>',
      generate_plain_content: true,
    };
    const { template_id: _, ...first } = body;
    const version = await call('POST', `${url}/versions`, { body: first });
    expect([version.statusCode, version.body]).toMatchObject([
      201,
      {
        id: '1',
        template_id: id,
        active: 1,
        subject: body.subject,
        html_content: body.html_content,
        plain_content: '',
      },
    ]);

    const send = async (dynamicTemplateData: object) => {
      const mail = { from: 'a@a.test', to: 'b@example.org', templateId: id, dynamicTemplateData };
      const [{ headers }] = await sendgrid.send(mail as never);
      return ours(`/v1/messages/${(headers as Record<string, string>)['x-message-id']}/content`);
    };
    expect(await send({ name: 'Ann', user: { name: '<A>' }, html: '<b>x</b>' })).toMatchObject({
      subject: 'Hi Ann',
      html: '<p>Hi &lt;A&gt; <b>x</b></p>',
    });

    // Parts that are not written are those of the newest version.
    const second = await call('POST', `${url}/versions`, { body: { name: 'Second', subject: 'Hello {{name}}' } });
    expect(second.body).toMatchObject({ id: '2', active: 1, html_content: body.html_content });
    expect((await send({ name: 'Bob' })).subject).toBe('Hello Bob');
    const activated = await call('POST', `${url}/versions/1/activate`);
    expect([activated.statusCode, activated.body]).toMatchObject([200, { id: '1', active: 1, subject: 'Hi {{name}}' }]);
    expect((await send({ name: 'Bob' })).subject).toBe('Hi Bob');
    expect((await call('GET', `${url}/versions/2`)).body).toMatchObject({ active: 0, subject: 'Hello {{name}}' });

    expect((await call('PATCH', url, { body: { name: 'Renamed' } })).body.name).toBe('Renamed');
    const shown = (await call('GET', url)).body;
    expect(shown).toMatchObject({
      id,
      name: 'Renamed',
      versions: [
        { id: '2', active: 0 },
        { id: '1', active: 1 },
      ],
    });
    const other = await create('Other');
    const page = (await call('GET', '/v3/templates', { qs: { generations: 'dynamic', page_size: 1 } })).body;
    expect(page).toMatchObject({ result: [{ id: other, versions: [] }], _metadata: { next: expect.any(String) } });
    const next = { page_size: 1, page_token: page._metadata.next };
    expect((await call('GET', '/v3/templates', { qs: next })).body).toEqual({ result: [shown], _metadata: {} });
    for (const each of [id, other]) expect((await call('DELETE', `/v3/templates/${each}`)).statusCode).toBe(204);
    expect(await refused('GET', url)).toContain('404 null template not found');
  });

  test.each([
    [{}, 'name name is required, as text'],
    [{ name: 7 }, 'name name must be text'],
    [{ name: 'x\r\ny' }, 'name name must'],
    [{ name: 'x', generation: 'legacy' }, 'generation generation must be dynamic'],
    [{ name: 'x', other: 1 }, 'other other is not a known field'],
  ])('refuses a template %j', async (body, sentence) => {
    expect(await refused('POST', '/v3/templates', { body })).toContain(`400 ${sentence}`);
  });

  test('refuses versions that cannot be kept, and keeps none of them', async () => {
    const id = await create('Refused');
    for (const [body, sentence] of [
      [{ name: 'x' }, 'html_content html_content is required, or plain_content'],
      [{ subject: 7, html_content: '<p>x</p>' }, 'subject subject must be text'],
      [{ subject: 'x\r\nBcc: a@b.test', html_content: '<p>x</p>' }, 'subject subject must'],
      [{ html_content: '<p>\0</p>' }, 'html_content html_content must'],
      [{ html_content: '{{#each a}}x{{/each}}' }, 'html_content html_content line 1 has {{#each a}}'],
      [{ plain_content: '{% x %}' }, 'plain_content plain_content line 1 contains {%'],
      [{ html_content: '<p><div></p>' }, 'html_content html_content'],
      [{ html_content: '<p>x</p>', active: 0 }, 'active active must be 1'],
      [{ html_content: '<p>x</p>', active: '1' }, 'active active must be 1'],
      [{ html_content: '<p>x</p>', other: 1 }, 'other other is not a known field'],
    ] as const)
      expect(await refused('POST', `/v3/templates/${id}/versions`, { body })).toContain(`400 ${sentence}`);
    expect((await call('GET', `/v3/templates/${id}`)).body.versions).toEqual([]);
    const large = { html_content: 'x'.repeat(10_000_000) };
    expect((await ask('sendgrid', 'POST', `/v3/templates/${id}/versions`, { payload: large })).status).toBe(413);
    for (const path of ['versions/1', 'versions/x', 'versions/%00'])
      expect((await ask('sendgrid', 'GET', `/v3/templates/${id}/${path}`)).status).toBeGreaterThanOrEqual(400);
  });

  test('/v3/templates/{id}/versions/{version}: a change is the next version, and none is deleted', async () => {
    const id = await create('Changed');
    const url = `/v3/templates/${id}/versions`;
    const first = { subject: 'Hi {{name}}', html_content: '<p>{{name}}</p>', plain_content: 'Hi {{name}}' };
    await call('POST', url, { body: first });
    const changed = await call('PATCH', `${url}/1`, { body: { subject: 'Hello {{name}}', name: 'Renamed' } });
    expect([changed.statusCode, changed.body]).toMatchObject([
      200,
      { ...first, id: '2', template_id: id, active: 1, subject: 'Hello {{name}}' },
    ]);
    expect((await call('GET', `${url}/1`)).body).toMatchObject({ ...first, active: 0 });
    // Nothing that is sent changes.
    const same = { name: 'x', test_data: '{}', subject: 'Hello {{name}}' };
    expect((await call('PATCH', `${url}/2`, { body: same })).body).toMatchObject({ id: '2', active: 1 });

    // The parts of an earlier version that is changed stay its own.
    expect(await refused('PATCH', `${url}/1`, { body: { plain_content: 'Earlier' } })).toMatch(
      /^400 active active must be 1: version 1 is not active/,
    );
    const back = await call('PATCH', `${url}/1`, { body: { plain_content: 'Earlier', active: 1 } });
    expect(back.body).toMatchObject({ ...first, id: '3', active: 1, plain_content: 'Earlier' });

    for (const version of ['1', '3'])
      expect(await refused('DELETE', `${url}/${version}`)).toMatch(/^409 null version \d cannot be deleted, because/);
    expect((await call('GET', `/v3/templates/${id}`)).body.versions).toHaveLength(3);
  });

  test('refuses changes of versions that cannot be kept, and of versions that do not exist', async () => {
    const id = await create('Unchanged');
    const url = `/v3/templates/${id}/versions`;
    await call('POST', url, { body: { html_content: '<p>x</p>' } });
    for (const [body, sentence] of [
      [{ active: 0 }, 'active active must be 1'],
      [{ html_content: '', plain_content: '' }, 'html_content html_content is required, or plain_content'],
      [{ subject: 'x\r\nBcc: a@b.test' }, 'subject subject must'],
      [{ html_content: ['x'] }, 'html_content html_content must be text'],
      [{ other: 1 }, 'other other is not a known field'],
    ] as const)
      expect(await refused('PATCH', `${url}/1`, { body })).toContain(`400 ${sentence}`);
    const large = { html_content: 'x'.repeat(10_000_000) };
    expect((await ask('sendgrid', 'PATCH', `${url}/1`, { payload: large })).status).toBe(413);
    expect(await refused('PATCH', `${url}/9`, { body: { subject: 'x' } })).toContain('404 ');
    expect(await refused('DELETE', `${url}/9`)).toContain('404 ');
    expect((await call('GET', `/v3/templates/${id}`)).body.versions).toHaveLength(1);
  });

  test.each([
    ['generations=legacy', 'generations must be dynamic'],
    ['page_size=101', 'page_size must be'],
    ['page_token=x', 'cursor'],
    ['other=x', 'other is not'],
  ])('refuses to list with %s', async (query, sentence) => {
    const { status, body } = await ask('sendgrid', 'GET', `/v3/templates?${query}`);
    expect([status, body.errors[0].message]).toEqual([400, expect.stringContaining(sentence)]);
  });

  test('shows and changes nothing of another organization, or for a key that may not', async () => {
    const id = await create('Mine');
    const other = await now.service.makeOrganization();
    const { value: by } = await now.service.makeKey(other, await now.service.makeDomain(other, 'b.test'));
    const { id: ownId } = await ours(`/v1/templates/${id}`);
    expect((await ask('sendgrid', 'GET', '/v3/templates', { by })).body.result).toEqual([]);
    const payload = { name: 'Theirs' };
    for (const name of [id, ownId]) {
      const url = `/v3/templates/${name}`;
      for (const [method, path, more] of [
        ['GET', url, {}],
        ['PATCH', url, { payload }],
        ['DELETE', url, {}],
        ['POST', `${url}/versions`, { payload: { html_content: '<p>x</p>' } }],
        ['PATCH', `${url}/versions/1`, { payload: { html_content: '<p>x</p>' } }],
        ['DELETE', `${url}/versions/1`, {}],
        ['POST', `${url}/versions/1/activate`, {}],
      ] as const)
        expect([403, 404]).toContain((await ask('sendgrid', method, path, { by, ...more })).status);
    }
    const permissions = ['send', 'read'] as const;
    const { value: reader } = await now.service.makeKey(now.organizationId, now.domainId, { permissions });
    expect((await ask('sendgrid', 'GET', '/v3/templates', { by: reader })).status).toBe(403);
    expect((await call('GET', `/v3/templates/${id}`)).body.name).toBe('Mine');
  });
});
