import { describe, expect, test } from 'vitest';
import { contentProblems, sourcesOf, type TemplateContent } from '../../../src/domain/template/content.ts';
import { renderTemplate } from '../../../src/domain/template/render-template.ts';
import { atOnce } from '../../../src/lib/async/async.ts';
import { checkLiquid } from '../../../src/lib/templates/liquid.ts';
import { createLiquidRenderer, TemplateFailed, type TemplateRenderer } from '../../../src/lib/templates/templates.ts';

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
  const made = atOnce(renderTemplate(renderer, content, { values: { value: HOSTILE }, locale: 'en' }));

  test('is escaped in the html, its layout and its preheader', () => {
    expect(made.html).not.toContain('<img');
    expect(made.html.split(ESCAPED)).toHaveLength(4);
    expect(made.html).toContain(`<div title="${ESCAPED}">`);
    expect(made.html).toContain(`<p>${ESCAPED}</p>`);
  });

  test('is left unchanged in the subject and the text', () => {
    expect([made.subject, made.text]).toEqual([HOSTILE, HOSTILE]);
  });
});

const { compiled: _, ...uncompiled } = content;
const plain: TemplateContent = { ...uncompiled, html: '<p>Hello</p>', text: 'Hello', preheader: '' };
const rendered = (parts: Partial<TemplateContent>, values: Record<string, unknown> = {}) =>
  atOnce(renderTemplate(renderer, { ...plain, ...parts }, { values, locale: 'en' }));

test('a value with line ends cannot end a header', () => {
  const value = 'a\r\nBcc: b@example.org\u2028c\0d';
  const replyTo = ['{{ value }}'];
  const made = rendered({ subject: '{{ value }}', from: '{{ value }}', replyTo, preheader: '{{ value }}' }, { value });
  const oneLine = 'a Bcc: b@example.org c d';
  expect([made.subject, made.from, made.replyTo]).toEqual([oneLine, oneLine, [oneLine]]);
  expect(made.html).toContain(`>${oneLine}</div>`);
});

test('the address of the copy for browsers is defined, unless the template has a variable of this name', () => {
  const html = '<p>{{view_url}}</p>';
  // The address differs for each recipient, so it is filled in later.
  expect(rendered({ html }).html).toBe('<p>{{ view_url }}</p>');
  expect(rendered({ html }, { view_url: 'mine' }).html).toBe('<p>mine</p>');
});

test('html may not grow beyond a million characters by its preheader', () => {
  const html = 'x'.repeat(999_990);
  expect(rendered({ html }).html).toHaveLength(999_990);
  expect(() => rendered({ html, preheader: 'Hello' })).toThrow(TemplateFailed);
});

test('the address of the copy for browsers is a variable of html and text, and of nothing else', () => {
  const part = '{{ view_url }}';
  const german = { subject: part, html: part, text: part };
  const locales = { de: german };
  const tried = { ...plain, subject: part, html: part, text: part, preheader: part, locales };
  const checks = new Map([...sourcesOf(tried)].map(([field, source]) => [field, checkLiquid(source)]));
  const problems = contentProblems(tried, checks);
  expect(Object.keys(problems).toSorted()).toEqual(['locales.de.subject', 'preheader', 'subject']);
  expect(problems.subject).toEqual(["subject line 1, column 4: the variable 'view_url' is not declared"]);
});

test('a rendering pauses before each part is parsed and before it is rendered', () => {
  const calls: string[] = [];
  const counting: TemplateRenderer = {
    ...renderer,
    prepare: (source) => void calls.push(`prepare ${source}`),
    render: (source) => {
      calls.push(`render ${source}`);
      return source;
    },
  };
  const work = renderTemplate(counting, { ...content, replyTo: ['r@example.test'] }, { values: {}, locale: 'en' });
  const perTurn: number[] = [];
  for (let before = 0; work.next().done !== true; before = calls.length) perTurn.push(calls.length - before);
  expect(calls).toHaveLength(2 * 6);
  expect(Math.max(...perTurn)).toBe(1);
});
