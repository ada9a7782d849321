import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let key: string;
let organizationId: string;
let names = 0;

const HELLO = {
  name: 'Hello',
  subject: 'Hello {{ name }}',
  html: '<p>Hello {{ name }}</p>',
  variables: [{ name: 'name', type: 'string', example: 'Ann' }],
};

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
});
afterAll(() => service.close());

const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, headers = {}) => {
  const body = payload === undefined ? {} : { payload };
  const answer = await service.request({ method, url: `/v1${url}`, key, headers, ...body });
  return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? null : answer.json() };
};
const publish = async (alias: string) => {
  const { status, body } = await ask('POST', `/templates/${alias}/publish`);
  expect([status, body.error]).toEqual([200, undefined]);
};
/** @returns the alias of a template with one version. */
const make = async (content: object = {}): Promise<string> => {
  names += 1;
  const alias = `template-${names}`;
  expect((await ask('POST', '/templates', { ...HELLO, ...content, alias })).status).toBe(201);
  await publish(alias);
  return alias;
};
const bodyOf = (id: string, more: object = {}) => ({
  from: 'shop@example.test',
  to: 'ann@example.net',
  template: { id, variables: { name: 'Ann & Bob' }, ...more },
});
const send = (body: object, headers = {}) => ask('POST', '/messages/send', body, headers);
const contentOf = async (id: string) => (await ask('GET', `/messages/${id}/content`)).body;

describe('a send by template', () => {
  test('is rendered when it is accepted, and names its template and version', async () => {
    const alias = await make();
    const sent = await send(bodyOf(alias));
    expect(sent.status).toBe(202);
    expect(await contentOf(sent.body.id)).toMatchObject({
      subject: 'Hello Ann & Bob',
      html: '<p>Hello Ann &amp; Bob</p>',
      text: 'Hello Ann & Bob',
    });
    const { id } = (await ask('GET', `/templates/${alias}`)).body;
    expect((await ask('GET', `/messages/${sent.body.id}`)).body.template).toEqual({ id, version: 1 });
    const { steps } = (await ask('GET', `/messages/${sent.body.id}/explain`)).body;
    expect(steps.find(({ type }: { readonly type: string }) => type === 'rendered')).toMatchObject({
      sentence: `Rendered from version 1 of template "${alias}" (${id}).`,
      facts: { template_id: id, template_version: 1 },
    });
  });

  test('still names them in lists when its content is gone', async () => {
    const alias = await make();
    const sent = await send(bodyOf(alias));
    vi.spyOn(service.deps.context.contents, 'heads').mockResolvedValueOnce(new Map());
    const [listed] = (await ask('GET', `/messages?template_id=${alias}`)).body.data;
    expect(listed).toMatchObject({ id: sent.body.id, subject: null, template: { version: 1 } });
  });

  test('uses the given version and language, and the sender of the template', async () => {
    const alias = await make({ from: 'News <news@example.test>', reply_to: ['help@example.test'] });
    const locales = { de: { subject: 'Hallo {{ name }}', html: '<p>Hallo {{ name }}</p>' } };
    await ask('PATCH', `/templates/${alias}`, { locales });
    await publish(alias);
    const german = await send({ ...bodyOf(alias, { locale: 'de-AT' }), from: undefined });
    expect(await contentOf(german.body.id)).toMatchObject({
      from: 'news@example.test',
      from_name: 'News',
      reply_to: ['help@example.test'],
      subject: 'Hallo Ann & Bob',
    });
    const first = await send(bodyOf(alias, { locale: 'de-AT', version: 1 }));
    expect((await contentOf(first.body.id)).subject).toBe('Hello Ann & Bob');
  });

  test('with a repeated key has the first response, whatever became of the template', async () => {
    const alias = await make();
    const first = await send(bodyOf(alias), { 'idempotency-key': alias });
    await ask('PATCH', `/templates/${alias}`, { variables: [], subject: 'No name', html: '<p>None</p>' });
    await publish(alias);
    await ask('DELETE', `/templates/${alias}`);
    const again = await send(bodyOf(alias), { 'idempotency-key': alias });
    expect([again.status, again.body.id]).toEqual([202, first.body.id]);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect((await send(bodyOf(alias))).body.error.code).toBe('template_not_published');
  });

  test.each([
    [{ variables: {} }, 'template_variables_invalid', 'template.variables.name', 'template.variables.name is required'],
    [{ variables: { name: 1 } }, 'template_variables_invalid', 'template.variables.name', /must be a string/],
    [{ version: 2 }, 'template_not_published', 'template.version', /is not a version of the template/],
    [{ id: 'nowhere' }, 'template_not_published', 'template.id', /is not a template of your organization/],
  ])('is refused with a sentence: %o', async (more, code, field, sentence) => {
    const { status, body } = await send(bodyOf(await make(), more));
    expect([status, body.error.code]).toEqual([422, code]);
    expect(body.error.details[field]?.[0]).toMatch(sentence);
  });

  test('says what is missing, and what is not allowed, before the template is read', async () => {
    const { status, body } = await send({ template: { id: 'nowhere' }, html: '<p>x</p>', subject: 'x' });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(Object.keys(body.error.details).sort()).toEqual(['html', 'subject', 'to']);
    expect((await send({ to: 'a@example.net', text: 'x' })).body.error.details).toMatchObject({
      from: ['from is required'],
      subject: ['subject is required'],
    });
    const nobody = await send({ to: 'a@example.net', template: { id: await make(), variables: { name: 'x' } } });
    expect(nobody.body.error.details.from).toEqual(['from is required: the template does not set one']);
  });

  test('of another organization is not found', async () => {
    const alias = await make();
    const { id } = (await ask('GET', `/templates/${alias}`)).body;
    const other = await service.makeOrganization();
    const domain = await service.makeDomain(other, 'other.test');
    const stranger = (await service.makeKey(other, domain)).value;
    for (const name of [alias, id]) {
      const payload = { ...bodyOf(name), from: 'a@other.test' };
      const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key: stranger, payload });
      expect(answer.json().error.code).toBe('template_not_published');
    }
  });

  test('is analysed as it would be sent', async () => {
    const alias = await make({ subject: '{{ name }}' });
    const { body } = await ask('POST', '/messages/analyze', bodyOf(alias));
    expect(body).toMatchObject({ object: 'analysis' });
    expect((await ask('POST', '/messages/analyze', bodyOf(alias, { variables: {} }))).status).toBe(422);
  });
});

describe('a batch by template', () => {
  test('names each refused message, or sends the others', async () => {
    const alias = await make();
    const messages = [bodyOf(alias), bodyOf(alias, { variables: {} })];
    const strict = await ask('POST', '/messages/batch', { messages });
    expect(strict.body.error).toMatchObject({
      code: 'template_variables_invalid',
      details: {
        'messages[1].template.variables.name': ['messages[1].template.variables.name is required'],
      },
    });
    const partial = await ask('POST', '/messages/batch', { messages, mode: 'partial' });
    expect(partial.body.data.map(({ error }: { error?: object }) => error === undefined)).toEqual([true, false]);
  });

  test('that is repeated has the first response', async () => {
    const alias = await make();
    const messages = [bodyOf(alias), { ...bodyOf(alias), to: 'bob@example.net' }];
    const headers = { 'idempotency-key': alias };
    const first = await ask('POST', '/messages/batch', { messages }, headers);
    await ask('DELETE', `/templates/${alias}`);
    const again = await ask('POST', '/messages/batch', { messages }, headers);
    const idsOf = ({ body }: typeof first): readonly string[] => body.data.map(({ id }: { id: string }) => id);
    expect(idsOf(again)).toEqual(idsOf(first));
  });
});

describe('messages and statistics', () => {
  test('are found by template and version', async () => {
    const alias = await make();
    const first = (await send(bodyOf(alias))).body.id;
    await ask('PATCH', `/templates/${alias}`, { subject: 'Hi {{ name }}' });
    await publish(alias);
    const second = (await send(bodyOf(alias))).body.id;
    const { id } = (await ask('GET', `/templates/${alias}`)).body;
    const found = async (query: string): Promise<readonly string[]> =>
      (await ask('GET', `/messages?${query}`)).body.data.map((each: { id: string }) => each.id);
    expect(await found(`template_id=${alias}`)).toEqual([second, first]);
    expect(await found(`template_id=${id}&template_version=1`)).toEqual([first]);
    const { from, to } = bodyOf(alias);
    const plain = (await send({ from, to, subject: 'Plain', text: 'Plain', tags: [{ name: 'is', value: 'plain' }] }))
      .body.id;
    const none = 'template_id=(none)';
    for (const also of ['', '&subject=plain', '&tag=is:plain', '&to=ann@example.net&outcome=accepted'])
      expect([also, await found(none + also)]).toEqual([also, [plain]]);
    expect(await found(`${none}&stream=bulk`)).toEqual([]);
    expect((await ask('GET', `/messages?${none}&template_version=1`)).status).toBe(400);
    const counted = (await ask('GET', '/stats?template=(none)')).body.totals.accepted;
    expect(counted).toBe((await found(`${none}&outcome=accepted`)).length);
    expect((await ask('GET', '/messages?template_version=1')).status).toBe(400);
    expect((await ask('GET', `/stats?template=${alias}`)).body.totals.accepted).toBe(2);
    const { data } = (await ask('GET', '/stats?group_by=template')).body;
    expect(data).toContainEqual(expect.objectContaining({ group: id, accepted: 2 }));
  });
});
