import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { HELLO, openTemplates, type Templates } from '../../support/templates.ts';

let service: DatabaseService;
let key: string;
let templates: Templates;

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
  templates = openTemplates(service, key);
});
afterAll(() => service.close());

describe('a hostile template', () => {
  const long = (count: number): string => `${'{% for a in (1..9999) %}'.repeat(count)}x${'{% endfor %}'.repeat(count)}`;
  test.each([
    ['never ends', long(6), /longer than|too much memory/],
    ['makes 100 MB', `{% assign a = "x" %}${'{% assign a = a | append: a %}'.repeat(27)}{{ a }}`, /memory|longer than/],
    ['has 10,000 tags in one another', '{%if 1%}'.repeat(10_000) + '{%endif%}'.repeat(10_000), /deep in one another/],
    ['reads a file', '{% include "/etc/passwd" %}', /include/],
    ['has an unknown filter', '{{ 1 | constructor }}', /constructor/],
  ])(
    'that %s is refused with a sentence, when it is published and when it is rendered',
    async (_, source, sentence) => {
      const alias = await templates.make({ html: source, subject: 'x', variables: [] });
      for (const path of ['publish', 'render', 'test-send']) {
        const payload = path === 'test-send' ? { to: 'me@example.net' } : {};
        const { status, body } = await templates.ask('POST', `/${alias}/${path}`, payload);
        expect(status).toBe(422);
        expect(JSON.stringify(body.error.details)).toMatch(sentence);
      }
    },
  );

  test('sees no inherited members of objects', async () => {
    const html = '<p>{{ name.constructor }}{{ name.__proto__ }}{{ data.constructor.name }}{{ data.length }}</p>';
    const variables = [...HELLO.variables, { name: 'data', type: 'object', example: {} }];
    const alias = await templates.make({ html, variables });
    expect((await templates.ask('POST', `/${alias}/render`, {})).body.html).toBe('<p></p>');
    const raw = '{"variables": {"name": "x", "data": {"__proto__": {"length": "polluted"}}}}';
    const answer = await service.request({
      method: 'POST',
      url: `/v1/templates/${alias}/render`,
      key,
      payload: raw,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.body).not.toContain('polluted');
    expect(({} as Record<string, unknown>).length).toBeUndefined();
  });

  test.each(['__proto__', 'constructor', 'content', '1st', 'a-b', ''])('may not name a variable %j', async (name) => {
    const payload = `{"alias":"x","name":"x","subject":"x","html":"x","variables":[{"name":${JSON.stringify(name)},"type":"string"}]}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await service.request({ method: 'POST', url: '/v1/templates', key, payload, headers });
    expect(answer.json().error.details.variables).toHaveLength(1);
  });
});
