import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TemplateContent } from '../../../src/domain/template/content.ts';
import { renderTemplate } from '../../../src/domain/template/render-template.ts';
import { atOnce } from '../../../src/lib/async/async.ts';
import { checkLiquid } from '../../../src/lib/templates/liquid.ts';
import { createLiquidRenderer } from '../../../src/lib/templates/templates.ts';

const renderer = createLiquidRenderer();

const contentOf = (html: string, more: Partial<TemplateContent> = {}): TemplateContent => ({
  subject: 'Hello',
  html,
  format: 'html',
  inlineCss: false,
  variables: [],
  locales: {},
  ...more,
});

const placeIn = (text: string, offset: number) => {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
};

const VALUES = { name: 'Ann\nB.', list: [1, 2, 3], yes: true };

/** Maps the last `word` of the rendering to its place in the template. */
const sourceOf = (content: TemplateContent, word: string, field: 'html' | 'text' = 'html', locale = 'en') => {
  const made = atOnce(renderTemplate(renderer, content, { values: VALUES, locale }));
  const text = made[field] ?? '';
  return atOnce(made.sourceOf(field, placeIn(text, text.lastIndexOf(word))));
};

describe('the place in the template of something rendered', () => {
  test.each([
    ['<p>a</p>\n<p>X</p>', 2, 4],
    ['{% if yes %}\n\n  <p>X</p>{% endif %}', 3, 6],
    ['{%- if yes -%}\n\n  <p>X</p>{%- endif -%}', 3, 6],
    ['{% if no %}\n<p>no</p>\n{% else %}\n<p>{{ name }} X</p>\n{% endif %}', 4, 15],
    ['{% for each in list %}\n<i>{{ each }}</i>\n<b>X{{ each }}</b>{% endfor %}', 3, 4],
    ['{{ name }}\n{{ name }} {{- name }}\nX', 3, 1],
    ['{{ name }}\n  {{- name -}}\n\n X', 4, 2],
    ['{% comment %}\nX\n{% endcomment %}\n<p>X</p>', 4, 4],
    ['{% assign a = "1" %}\n{{ a }}X', 2, 8],
    ['a\r\nX', 2, 1],
  ])('%j', (html, line, column) => {
    expect(sourceOf(contentOf(html), 'X')).toEqual({ field: 'html', line, column });
  });

  test('is that of the tag for what a tag makes', () => {
    expect(sourceOf(contentOf('<p>\n  {{ name }}</p>'), 'B.')).toEqual({ field: 'html', line: 2, column: 3 });
    expect(sourceOf(contentOf('<p>\n {% raw %}{{ X\n }}{% endraw %}</p>'), 'X')).toMatchObject({ line: 2, column: 2 });
  });

  test('is found within layouts and behind a preheader, of the language that is shown, and in the text', () => {
    const layout = { templateId: 'tpl_1', version: 1, html: '<div>\n\n{{ content }}\nL</div>', locales: {} };
    const content = contentOf('<p>\nX</p>', {
      preheader: 'P',
      text: '\nX',
      locales: { de: { subject: 'Hallo', html: '<p>\n\nX</p>' } },
      compiled: { layouts: [layout], layoutVariables: [] },
    });
    expect(sourceOf(content, 'X')).toEqual({ field: 'html', line: 2, column: 1 });
    expect(sourceOf(content, 'X', 'html', 'de-AT')).toEqual({ field: 'locales.de.html', line: 3, column: 1 });
    expect(sourceOf(content, 'X', 'text')).toEqual({ field: 'text', line: 2, column: 1 });
  });

  test('is not given for what surrounds the template, what was compiled, and what counts characters', () => {
    const layout = { templateId: 'tpl_1', version: 1, html: '<div>X{{ content }}</div>', locales: {} };
    expect(sourceOf(contentOf('<p>a</p>', { compiled: { layouts: [layout], layoutVariables: [] } }), 'X')).toBeNull();
    const compiled = { layouts: [], layoutVariables: [], html: { html: '<p>X</p>', locales: {} } };
    expect(sourceOf(contentOf('<p>X</p>', { compiled }), 'X')).toBeNull();
    expect(sourceOf(contentOf('{% capture a %}b{% endcapture %}{{ a | size }}X'), 'X')).toBeNull();
    expect(sourceOf(contentOf('\uFDD20\uFDD3X'), 'X')).toBeNull();
  });

  test('is right wherever it is given, whatever the template', () => {
    const piece = fc.constantFrom(
      ...['X', 'ab', ' ', '\n', '<p>', '{{ name }}', '{{- name -}}', '{%- if yes -%}', '{% endif %}', '{% raw %}'],
      ...[
        '{% endraw %}',
        '{% for a in list %}',
        '{% endfor %}',
        '{% else %}',
        '{% # n %}',
        '{% cycle "X", "b" %}',
        '{{',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        const html = pieces.join('');
        fc.pre(checkLiquid(html).problem === null);
        const lines = html.split('\n');
        const made = atOnce(renderTemplate(renderer, contentOf(html), { values: VALUES, locale: 'en' }));
        const told = [...made.html.matchAll(/X/g)]
          .map(({ index }) => atOnce(made.sourceOf('html', placeIn(made.html, index))))
          .filter((place) => place !== null)
          .map(({ line, column }) => lines[line - 1]?.slice(column - 1));
        for (const text of told) expect(text).toMatch(/^(?:X|\{[{%])/);
      }),
    );
  });
});
