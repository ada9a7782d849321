import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { docsPage } from '../../../src/http/docs/page.ts';
import { type Located, operationsOf, readOpenApi } from '../../support/openapi/document.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let page: string;
let headers: Readonly<Record<string, unknown>>;
let source: unknown;
let operations: readonly Located[];

beforeAll(async () => {
  service = await startService();
  const answer = await service.request({ url: '/docs' });
  page = answer.body;
  headers = answer.headers;
  source = (await service.request({ url: '/openapi.json' })).json();
  operations = operationsOf(readOpenApi(source));
});
afterAll(() => service.close());

/** The text between an operation's anchor and the next one. */
const sectionOf = (id: string): string => page.split(`<section id="${id}">`)[1]?.split('</section>')[0] ?? '';

describe('/docs', () => {
  test('is one page of HTML that loads nothing and runs nothing', () => {
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    );
    const tags = (page.match(/<[a-z][^>]*>/g) ?? []).join('\n');
    expect(tags).not.toMatch(/<(?:script|link|img|iframe|object|form)\b|\bsrc=|\bon\w+=/);
    expect(page).not.toMatch(/@import|\burl\(/);
    expect(page).toContain('name="viewport"');
    expect(page).toContain('prefers-color-scheme: dark');
  });

  const needs = (permission: unknown): string => {
    if (permission === undefined) return 'Needs no key';
    return permission === 'any' ? 'with any permission' : `with <code>${permission}</code>`;
  };

  test('shows the path, permission, parameters and codes of every operation', () => {
    for (const { method, path, operation } of operations) {
      const section = sectionOf(operation.operationId);
      const permission = operation['x-permission'];
      const told = [...operation.parameters.map(({ name }) => name), ...Object.keys(operation.responses)];
      const wanted = [
        `<span class="method">${method}</span> ${path}`,
        'curl -sS',
        needs(permission),
        ...told.map((text) => `<code>${text}</code>`),
      ];
      expect(wanted.filter((text) => !section.includes(text))).toEqual([]);
    }
    expect(sectionOf('createKey')).toContain('<code>environment_not_allowed</code>');
  });

  test('shows bodies as tables of fields, and each example as a command', () => {
    const section = sectionOf('sendMessage');
    expect(section).toMatch(/<td class="d0"><code>to<\/code> <b title="required">\*<\/b><\/td>/);
    expect(section).toMatch(/<td class="d1"><code>filename<\/code>/);
    expect(section).toContain('-d &#39;{');
    expect(section).not.toContain('additionalProperties');
    const { examples = {} } =
      operations.find(({ operation }) => operation.operationId === 'sendMessage')?.operation.requestBody?.content[
        'application/json'
      ] ?? {};
    for (const { summary } of Object.values(examples)) expect(section).toContain(`<h4>${summary}</h4>`);
  });

  test('shows what a form posts, and what a webhook is sent', () => {
    const form = sectionOf('unsubscribeRecipient');
    expect(form).toContain('<code>application/x-www-form-urlencoded, multipart/form-data</code>');
    expect(form).toContain('<code>List-Unsubscribe</code>');
    expect(form).toContain('-d &#39;List-Unsubscribe=One-Click&#39;');
    expect(form).not.toContain("'Content-Type: application/json'");
    const event = sectionOf('postEvent');
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) expect(event).toContain(name);
    expect(event).toContain('&quot;type&quot;: &quot;message.delivered&quot;');
    expect(event).toContain('HMAC-SHA256');
    expect(event).not.toContain('curl');
  });

  test('links only to anchors that are there, each of them once', () => {
    const anchors = [...page.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id);
    expect(anchors.filter((id, index) => anchors.indexOf(id) !== index)).toEqual([]);
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((id) => !anchors.includes(id))).toEqual([]);
  });

  test('closes every element it opens', () => {
    const tags = [...page.matchAll(/<\/?(?!meta\b|br\b)([a-z][a-z0-9]*)[^>]*>/g)];
    const open: string[] = [];
    for (const [tag, name = ''] of tags) {
      if (tag.startsWith('</')) expect(open.pop()).toBe(name);
      else open.push(name);
    }
    expect(open).toEqual([]);
  });

  test('writes any text it gets as text', () => {
    const hostile = JSON.parse(JSON.stringify(source).replaceAll('Send an email', '<script>alert(1)</script>&amp;'));
    const shown = docsPage(hostile);
    expect(shown).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;');
    expect(shown).not.toContain('<script>');
  });
});
