import { expect, test } from 'vitest';
import { liquidOf } from '../../../src/http/compat/placeholders.ts';
import { createLiquidRenderer } from '../../../src/lib/templates/liquid.ts';

/** Blocks as the vendors' documents write them. */
test.each([
  ['{{#each user.orderHistory}}\n{{this.item}}\n{{/each}}', 'use {% for item in user.orderHistory %} … {% endfor %}'],
  ['{{#if user.profile.male}}Mr{{else}}Ms{{/if}}', 'use {% if user.profile.male != blank %} … {% endif %}'],
  ['{{#unless user.active}}Inactive{{/unless}}', 'use {% if user.active == blank %} … {% endif %}'],
  ['{{^products}}None{{/products}}', 'use {% if products == blank %} … {% endif %}'],
  [
    '{{#products}}{{name}}{{/products}}',
    'use {% for item in products %} for a list, or {% if products != blank %} for a value',
  ],
  ['{{#equals a b}}x{{/equals}}', 'convert it by hand'],
  ['{{formatDate date}}', 'convert it by hand'],
])('%s is refused with what to write in Liquid', (html, remedy) => {
  const { problems } = liquidOf({ subject: 'Hi', html, text: '' }, { raw: true });
  const shown = html.slice(0, html.indexOf('}}') + 2);
  expect(problems).toHaveLength(1);
  expect(problems[0]?.[1]).toContain(`line 1 has ${shown}, which is written differently in Liquid: ${remedy}`);
});

const renderer = createLiquidRenderer();
const OPTIONS = { locale: 'en', escapes: true, charactersMax: 1_000 };

/** Results of `{{#if x}}` in Handlebars. Only 0, which programs send as a number, is different. */
test.each([
  [undefined, 'no'],
  [null, 'no'],
  [false, 'no'],
  ['', 'no'],
  [[], 'no'],
  ['Ann', 'yes'],
  [['a'], 'yes'],
  [{ a: 1 }, 'yes'],
  [true, 'yes'],
  [1, 'yes'],
])('the Liquid to write for {{#if x}} decides about %j as Handlebars does', (x, shown) => {
  const { problems } = liquidOf({ subject: 'Hi', html: '{{#if x}}yes{{else}}no{{/if}}', text: '' }, { raw: true });
  const [block = '', end = ''] = /{% if .* %}/.exec(problems[0]?.[1] ?? '')?.[0].split(' … ') ?? [];
  expect(renderer.render(`${block}yes{% else %}no${end}`, { x }, OPTIONS)).toBe(shown);
});
