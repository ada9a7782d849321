import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { referencePages } from '../../../src/http/docs/page.ts';
import { type LocatedSchema, nameIn, operationsOf, readOpenApi } from '../../support/openapi/document.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
/** Pages by their path. */
const pages = new Map<string, string>();
let headers: Readonly<Record<string, unknown>>;
let source: { readonly tags: readonly { readonly name: string }[]; readonly components: { readonly schemas: object } };
let operations: readonly LocatedSchema[];

beforeAll(async () => {
  service = await startService();
  source = (await service.request({ url: '/openapi.json' })).json();
  operations = operationsOf(readOpenApi(source));
  for (const path of ['/docs', ...source.tags.map(({ name }) => `/docs/${name}`)]) {
    const answer = await service.request({ url: path });
    expect([path, answer.statusCode]).toEqual([path, 200]);
    pages.set(path, answer.body);
    headers = answer.headers;
  }
});
afterAll(() => service.close());

const page = (path: string): string => pages.get(path) ?? '';

/** The section of an operation on the page of its tag. */
const sectionOf = (id: string): string => {
  const tag = operations.find(({ operation }) => operation.operationId === id)?.operation.tags[0] ?? 'webhooks';
  return page(`/docs/${tag}`).split(` id="${id}">`)[1]?.split('</section>')[0] ?? '';
};

const plain = (html: string): string => html.replaceAll('<wbr>', '');

describe('/docs', () => {
  test('loads nothing and runs nothing, on any of its pages', () => {
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    for (const html of pages.values()) {
      const tags = (html.match(/<[a-z][^>]*>/g) ?? []).join('\n');
      expect(tags).not.toMatch(/<(?:script|link|img|iframe|object)\b|\b(?:src|style)=|\bon\w+=/);
      expect(html).not.toMatch(/@import|\burl\(/);
      expect(html).toContain('name="viewport"');
      expect(html).toContain('color-scheme: light dark');
    }
  });

  test('has a page for each tag, and links each to the ones before and after', () => {
    const names = source.tags.map(({ name }) => name);
    for (const [index, name] of names.entries()) {
      const [, turn = ''] = page(`/docs/${name}`).split('<div class="turn">');
      const links = [...turn.matchAll(/href="([^"]+)"/g)].map(([, href]) => href);
      const wanted = [index === 0 ? '/docs' : `/docs/${names[index - 1]}`, `/docs/${names[index + 1]}`];
      expect(links).toEqual(index === names.length - 1 ? wanted.slice(0, 1) : wanted);
      expect(page(`/docs/${name}`)).toContain(`<a href="/docs/${name}" aria-current="page">`);
    }
  });

  test('shows what customers need before members and probes', () => {
    const places = ['messages', 'webhooks', 'api-keys', 'audit', 'members', 'service'].map((tag) =>
      page('/docs').indexOf(`href="/docs/${tag}"`),
    );
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places[0]).toBeGreaterThan(0);
  });

  test('answers 404 for a page that does not exist, whatever its name', async () => {
    for (const name of ['nothing', '%00', '..%2f..%2fetc', '%0d%0aset-cookie:a=b', '__proto__', 'x'.repeat(5_000)]) {
      const answer = await service.request({ url: `/docs/${name}` });
      expect([name, answer.statusCode]).toEqual([name, name.length > 1_000 ? answer.statusCode : 404]);
      expect(answer.statusCode).toBeGreaterThanOrEqual(400);
      expect(answer.statusCode).toBeLessThan(500);
    }
  });

  const needs = (permission: unknown): string => {
    if (permission === undefined) return 'Needs no key';
    return permission === 'any' ? 'with any permission' : `with <code>${permission}</code>`;
  };

  test('shows the title, path, permission, parameters and codes of every operation', () => {
    for (const { method, path, operation } of operations) {
      const section = plain(sectionOf(operation.operationId));
      const names = [...operation.parameters.map(({ name }) => name), ...Object.keys(operation.responses)];
      const wanted = [
        `<h3><a href="#${operation.operationId}">`,
        `<b>${method}</b><code>${path}</code>`,
        'curl -sS',
        needs(operation['x-permission']),
        ...names.map((text) => `<code>${text}</code>`),
      ];
      expect([operation.operationId, wanted.filter((text) => !section.includes(text))]).toEqual([
        operation.operationId,
        [],
      ]);
      expect(section).not.toContain(`<h3><a href="#${operation.operationId}">${operation.operationId}</a>`);
    }
    expect(plain(sectionOf('createKey'))).toContain('<code>environment_not_allowed</code>');
  });

  test('shows the recorded answer of every operation', () => {
    expect(sectionOf('sendMessage')).toContain('<i>&quot;status&quot;</i>: &quot;accepted&quot;');
    expect(sectionOf('deleteKey')).toContain('No content');
    expect(sectionOf('exportSuppressions')).toContain('address,scope,reason');
    for (const { operation } of operations) {
      expect(plain(sectionOf(operation.operationId))).toMatch(/<span>Response <b>2\d\d<\/b>/);
    }
  });

  test('shows every request in six languages, of which one is shown', () => {
    for (const { operation } of operations) {
      const section = sectionOf(operation.operationId);
      for (const language of ['curl', 'typescript', 'python', 'php', 'go', 'ruby'])
        expect(section).toContain(`<figure class="code ${language}">`);
    }
    expect(page('/docs/messages').match(/name="language" id="\w+"( checked)?/g)).toHaveLength(6);
    expect(page('/docs/messages')).toContain('body:has(#python:checked) .code:not(.python)');
    expect(sectionOf('sendMessage')).toContain('await outbox.messages.send({');
  });

  test('shows bodies as lists of fields, and each example as code', () => {
    const section = sectionOf('sendMessage');
    expect(section).toMatch(/<li><code>to<\/code> <span class="type">.*?<\/span> <span class="required">required/);
    expect(section).toMatch(/<ul class="fields"><li><code>filename<\/code>/);
    expect(section).not.toContain('additionalProperties');
    const { examples = {} } =
      operations.find(({ operation }) => operation.operationId === 'sendMessage')?.operation.requestBody?.content[
        'application/json'
      ] ?? {};
    for (const { summary } of Object.values(examples).slice(1)) expect(section).toContain(`<summary>${summary}`);
  });

  test('shows what a form posts, and what a webhook is sent', () => {
    const form = plain(sectionOf('unsubscribeRecipient'));
    expect(form).toContain('<code>application/x-www-form-urlencoded</code> or <code>multipart/form-data</code>');
    expect(form).toContain('<code>List-Unsubscribe</code>');
    expect(form).toContain('-d &#39;List-Unsubscribe=One-Click&#39;');
    const event = sectionOf('postEvent');
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
      expect(plain(event)).toContain(`<code>${name}</code>`);
    expect(event).toContain('<i>&quot;type&quot;</i>: &quot;message.delivered&quot;');
    expect(event).toContain('HMAC-SHA256');
    expect(event).not.toContain('curl');
  });

  test('shows a list of the description as a list, with items that are whole', () => {
    const { info, tags, ...rest } = JSON.parse(JSON.stringify(source));
    const description = 'Lead:\n- one\n  goes on\n- two\n\nAfter.';
    const { first } = referencePages({ ...rest, tags, info: { ...info, description } });
    expect(first()).toContain('Lead:</p><ul><li>one goes on</li><li>two</li></ul>\n<p>After.</p>');
  });

  const anchorsIn = (html: string): readonly string[] => [...html.matchAll(/\bid="([^"]+)"/g)].map(([, id = '']) => id);
  const linksIn = (html: string): readonly string[] =>
    [...html.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href);

  test('links only to anchors that are there, each of them once', () => {
    const anchors = new Map([...pages].map(([path, html]) => [path, anchorsIn(html)]));
    for (const [path, ids] of anchors) expect([path, new Set(ids).size]).toEqual([path, ids.length]);
    const isThere = (path: string, href: string): boolean => {
      const [target = '', id] = href.split('#');
      const found = anchors.get(target === '' ? path : target);
      return found !== undefined && (id === undefined || found.includes(id));
    };
    const links = [...pages].flatMap(([path, html]) => linksIn(html).map((href) => [path, href] as const));
    expect(links.length).toBeGreaterThan(1_000);
    const broken = links.filter(([path, href]) => href !== '/openapi.json' && !isThere(path, href));
    expect(broken).toEqual([]);
  });

  test('keeps the anchors of the time when it was one page', () => {
    const wanted = [
      ...operations.map(({ operation }) => operation.operationId),
      ...Object.keys(source.components.schemas),
      ...source.tags.map(({ name }) => `tag-${name}`),
      ...['postEvent', 'what-webhooks-are-sent', 'bodies-by-name', 'authentication', 'rate-limits'],
    ];
    expect(wanted.filter((id) => !page('/docs').includes(` id="${id}"`))).toEqual([]);
  });

  /** Elements that are closed by another one, or never. */
  const unclosedIn = (html: string): readonly string[] => {
    const open: string[] = [];
    for (const [tag, name = ''] of html.matchAll(/<\/?(?!meta\b|br\b|wbr\b|input\b)([a-z][a-z0-9]*)[^>]*>/g)) {
      if (!tag.startsWith('</')) open.push(name);
      else if (open.pop() !== name) return [name];
    }
    return open;
  };

  test('closes every element it opens', () => {
    for (const [path, html] of pages) expect([path, unclosedIn(html)]).toEqual([path, []]);
  });

  test('writes any text it gets as text', () => {
    const hostile = JSON.parse(JSON.stringify(source).replaceAll('Send an email', '<script>alert(1)</script>&amp;'));
    const { first, page: make, search } = referencePages(hostile);
    for (const shown of [first(), make('messages'), search('script')]) {
      expect(shown).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;');
      expect(shown).not.toContain('<script>');
    }
  });
});

describe('/docs?q=', () => {
  const search = (q: string) => service.request({ url: `/docs?q=${encodeURIComponent(q)}` });
  const resultsOf = (html: string): readonly string[] =>
    [...html.matchAll(/<li><a href="([^"]+)">[^<]*<\/a><p class="endpoint">/g)].map(([, href = '']) => href);

  test('finds operations by their words, paths and fields, objects, and rules', async () => {
    const first = async (q: string) => resultsOf((await search(q)).body)[0];
    expect(await first('/v1/messages/send')).toBe('/docs/messages#sendMessage');
    expect(await first('  ROTATE   key ')).toBe('/docs/api-keys#rotateKey');
    expect(await first('rate limits')).toBe('/docs#rate-limits');
    expect(resultsOf((await search('grace_period_minutes')).body)).toContain('/docs/api-keys#rotateKey');
    const object = nameIn('#/components/schemas/CreatedApiKey');
    expect(await first(object)).toBe(`/docs/api-keys#${object}`);
  });

  test('says so where nothing is found, and shows the first page without a query', async () => {
    expect((await search('zzzzzz')).body).toContain('Nothing found');
    expect((await search('   ')).body).toBe(page('/docs'));
    expect((await service.request({ url: '/docs?other=1' })).body).toBe(page('/docs'));
  });

  test.each([
    ['markup', '"><script>alert(1)</script>'],
    ['control characters', 'a\r\nset-cookie: x=1\0\u202E'],
    ['a pattern', '(a+)+$ .* [ \\'],
    ['half a character', '\ud83d'.toWellFormed()],
    ['names of properties', '__proto__ constructor'],
    ['many words', 'a '.repeat(3_000)],
  ])('takes %s as words, under the same policy', async (_what, q) => {
    const answer = await search(q);
    expect([answer.statusCode, answer.headers['content-security-policy']]).toEqual([
      200,
      headers['content-security-policy'],
    ]);
    expect(answer.body).not.toMatch(/<script>|\0/);
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect(answer.body.length).toBeLessThan(60_000);
  });

  test('is bounded: the query, its results, and what is not one text', async () => {
    expect(resultsOf((await search('e')).body)).toHaveLength(30);
    expect((await search('x'.repeat(8_000))).body).not.toContain('x'.repeat(101));
    expect((await service.request({ url: '/docs?q=send&q=other' })).statusCode).toBe(200);
    expect((await service.request({ url: '/docs?q[]=send' })).body).toBe(page('/docs'));
    expect((await service.request({ url: '/docs', payload: 'x'.repeat(1_000), method: 'POST' })).statusCode).toBe(405);
  });
});
