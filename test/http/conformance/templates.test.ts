import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTemplateUses } from '../../../src/commands/template/use-template.ts';
import { sha256Hex } from '../../../src/domain/kernel/digest.ts';
import { messageStream, templateStream } from '../../../src/domain/kernel/streams.ts';
import { canonicalJson } from '../../../src/lib/transparency/transparency.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { HELLO, openTemplates, type Templates } from '../support/templates.ts';

/** Statements in the section Templates of the API's design that are not the title of another test. */

let service: DatabaseService;
let organizationId: string;
let key: string;
let templates: Templates;
let others: Templates;

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
  templates = openTemplates(service, key);
  const other = await service.makeOrganization();
  const otherKey = (await service.makeKey(other, await service.makeDomain(other, 'other.test'))).value;
  others = openTemplates(service, otherKey);
});
afterAll(() => service.close());

const send = async (id: string, more: object = {}) => {
  const payload = {
    from: 'a@example.test',
    to: 'b@example.net',
    template: { id, variables: { name: 'Ann' }, ...more },
  };
  const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
  return answer.json();
};
const subjectOf = async ({ id }: { readonly id: string }): Promise<string> =>
  (await service.request({ url: `/v1/messages/${id}/content`, key })).json().subject;

describe('templates', () => {
  test('a template belongs to an organization; its alias is unique there, and usable wherever the id is', async () => {
    const alias = await templates.makePublished();
    const { id } = (await templates.ask('GET', `/${alias}`)).body;
    expect(id).toMatch(/^tpl_[a-z2-7]{26}$/);
    expect((await others.ask('POST', '', { ...HELLO, alias })).status).toBe(201);
    expect((await others.ask('GET', `/${alias}`)).body.id).not.toBe(id);
    expect((await others.ask('GET', `/${id}`)).status).toBe(403);
    for (const path of ['', '/versions', '/versions/1', '/versions/1/diff?with=1']) {
      const [byAlias, byId] = [
        await templates.ask('GET', `/${alias}${path}`),
        await templates.ask('GET', `/${id}${path}`),
      ];
      expect([byAlias.status, byAlias.body]).toEqual([200, byId.body]);
    }
    expect(await subjectOf(await send(alias))).toBe(await subjectOf(await send(id)));
  });

  test.each([
    ['a', 201],
    ['0-9', 201],
    ['x'.repeat(64), 201],
    ['x'.repeat(65), 400],
    ['Upper', 400],
    ['under_score', 400],
    ['', 400],
    ['a/b', 400],
    ['ä', 400],
  ])('an alias matches [a-z0-9-]{1,64}: %j is answered %d', async (alias, status) => {
    expect((await templates.ask('POST', '', { ...HELLO, alias })).status).toBe(status);
  });

  test('a published template keeps being sent while it is edited, and a rollback points at an earlier version', async () => {
    const alias = await templates.makePublished();
    await templates.ask('PATCH', `/${alias}`, { subject: 'Draft {{ name }}' });
    expect((await templates.ask('GET', `/${alias}`)).body).toMatchObject({ status: 'published', has_draft: true });
    expect(await subjectOf(await send(alias))).toBe('Hello Ann');
    expect((await templates.publish(alias)).body.version).toBe(2);
    expect(await subjectOf(await send(alias))).toBe('Draft Ann');
    await templates.ask('POST', `/${alias}/rollback`, { version: 1 });
    expect(await subjectOf(await send(alias))).toBe('Hello Ann');
    expect(await subjectOf(await send(alias, { version: 2 }))).toBe('Draft Ann');
  });

  test('deletion: no new sends; versions stay readable for messages that used them', async () => {
    const alias = await templates.makePublished();
    const { id: messageId } = await send(alias);
    const before = (await templates.ask('GET', `/${alias}/versions/1`)).body;
    expect((await templates.ask('DELETE', `/${alias}`)).status).toBe(204);
    expect((await templates.ask('GET', `/${alias}`)).status).toBe(404);
    expect((await send(alias)).error.code).toBe('template_not_published');
    const { template } = (await service.request({ url: `/v1/messages/${messageId}`, key })).json();
    const { body } = await templates.ask('GET', `/${template.id}/versions/${template.version}`);
    expect(body).toEqual({ ...before, published: false });
    expect((await templates.ask('GET', `/${alias}/versions`)).body.data).toHaveLength(1);
    expect((await templates.ask('GET', `/${alias}/versions/1/diff?with=1`)).body.changes).toEqual([]);
    const [draft] = [await templates.make()];
    await templates.ask('DELETE', `/${draft}`);
    expect((await templates.ask('GET', `/${draft}/versions`)).status).toBe(404);
  });

  test('events carry the digest of the content; the content is in the vault', async () => {
    const alias = await templates.makePublished({ html: '<p>Unmistakable {{ name }}</p>' });
    const { id } = (await templates.ask('GET', `/${alias}`)).body;
    const { store, contents } = service.deps.context;
    const events = await store.readStream(templateStream(id));
    expect(events.map(({ type }) => type)).toEqual(['TemplateCreated', 'TemplatePublished']);
    expect(JSON.stringify(events.map(({ data }) => data))).not.toContain('Unmistakable');
    for (const { data, metadata } of events) {
      const { contentId, contentDigest } = data as { readonly contentId: string; readonly contentDigest: string };
      const body = (await contents.get([contentId])).get(contentId);
      expect(body?.kind === 'template' && sha256Hex(canonicalJson(body.content))).toBe(contentDigest);
      expect(metadata).toMatchObject({ actor: expect.stringMatching(/^key:key_/), organizationId });
    }
  });

  test('a batch renders one version for all', async () => {
    const alias = await templates.makePublished();
    const uses = createTemplateUses(service.deps);
    const use = uses.of(organizationId);
    const asked = { id: alias, version: null, locale: null, variables: { name: 'Ann' } };
    const first = await use(asked);
    await templates.ask('PATCH', `/${alias}`, { subject: 'Later {{ name }}' });
    await templates.publish(alias);
    uses.forget(first.templateId);
    expect((await use(asked)).version).toBe(1);
    expect((await uses.of(organizationId)(asked)).version).toBe(2);
  });

  test('a template is {id, alias, name, description, status, published_version, has_draft, created_at, updated_at}', async () => {
    const alias = await templates.make({ description: 'What it is for' });
    const [draft] = (await templates.ask('GET', '?limit=1')).body.data;
    expect(draft).toMatchObject({ alias, status: 'draft', published_version: null, has_draft: true });
    const { body } = await templates.publish(alias);
    expect(body.version).toBe(1);
    const { content, ...published } = (await templates.ask('GET', `/${alias}`)).body;
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(published).toEqual({
      object: 'template',
      id: draft.id,
      alias,
      name: HELLO.name,
      description: 'What it is for',
      status: 'published',
      published_version: 1,
      has_draft: false,
      created_at: time,
      updated_at: time,
    });
    expect(content).toMatchObject({ format: 'html', locales: {}, layout: null, text: null, preheader: null });
  });

  test('versions: history with actor and time', async () => {
    const alias = await templates.makePublished();
    const [listed] = (await templates.ask('GET', `/${alias}/versions`)).body.data;
    const { body } = await templates.ask('GET', `/${alias}/versions/1`);
    for (const version of [listed, body]) {
      expect(version).toMatchObject({ version: 1, published_by: expect.stringMatching(/^key:key_/) });
      expect(Math.abs(Date.now() - Date.parse(version.published_at))).toBeLessThan(60_000);
    }
  });

  test('a send renders at acceptance, what was accepted can’t change later, and the event records template and version', async () => {
    const alias = await templates.makePublished();
    const sent = await send(alias);
    const { id } = (await templates.ask('GET', `/${alias}`)).body;
    await templates.ask('PATCH', `/${alias}`, { subject: 'Other {{ name }}', html: '<p>Other</p>' });
    await templates.publish(alias);
    await templates.ask('DELETE', `/${alias}`);
    const content = (await service.request({ url: `/v1/messages/${sent.id}/content`, key })).json();
    expect(content).toMatchObject({ subject: 'Hello Ann', html: '<p>Hello <b>Ann</b></p>' });
    const [accepted] = await service.deps.context.store.readStream(messageStream(sent.id));
    expect(accepted).toMatchObject({ type: 'MessageAccepted', data: { template: { templateId: id, version: 1 } } });
  });
});
