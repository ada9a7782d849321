import { describe, expect, test } from 'vitest';
import type { TemplateContent } from '../../../src/domain/template/content.ts';
import { renderTemplate } from '../../../src/domain/template/render-template.ts';
import { createLiquidRenderer } from '../../../src/lib/templates/templates.ts';

const renderer = createLiquidRenderer();
const HOSTILE = '<img src=x onerror="a()"> & \'b\'';
const ESCAPED = '&lt;img src=x onerror=&#34;a()&#34;&gt; &amp; &#39;b&#39;';

const content: TemplateContent = {
  subject: '{{ value }}',
  html: '<p>{{ value }}</p>',
  text: '{{ value }}',
  preheader: '{{ value }}',
  format: 'html',
  inlineCss: false,
  variables: [],
  locales: {},
  compiled: {
    layouts: [{ templateId: 'tpl_1', version: 1, html: '<div title="{{ value }}">{{ content }}</div>', locales: {} }],
    layoutVariables: [],
  },
};

describe('a value with markup', () => {
  const made = renderTemplate(renderer, content, { values: { value: HOSTILE }, locale: 'en' });

  test('is escaped in the html, its layout and its preheader', () => {
    expect(made.html).not.toContain('<img');
    expect(made.html.split(ESCAPED)).toHaveLength(4);
    expect(made.html).toContain(`<div title="${ESCAPED}">`);
    expect(made.html).toContain(`<p>${ESCAPED}</p>`);
  });

  test('is left as it is in the subject and the text', () => {
    expect([made.subject, made.text]).toEqual([HOSTILE, HOSTILE]);
  });
});
