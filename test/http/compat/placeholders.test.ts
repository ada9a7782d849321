import { expect, test } from 'vitest';
import { liquidOf } from '../../../src/http/compat/placeholders.ts';

/** Blocks as the vendors' documents write them. */
test.each([
  ['{{#each user.orderHistory}}\n{{this.item}}\n{{/each}}', 'use {% for item in user.orderHistory %} … {% endfor %}'],
  ['{{#if user.profile.male}}Mr{{else}}Ms{{/if}}', 'use {% if user.profile.male %} … {% endif %}'],
  ['{{#unless user.active}}Inactive{{/unless}}', 'use {% unless user.active %} … {% endunless %}'],
  ['{{^products}}None{{/products}}', 'use {% unless products %} … {% endunless %}'],
  ['{{#products}}{{name}}{{/products}}', 'use {% for item in products %} for a list, or {% if products %} for a value'],
  ['{{#equals a b}}x{{/equals}}', 'convert it by hand'],
  ['{{formatDate date}}', 'convert it by hand'],
])('%s is refused with what to write in Liquid', (html, remedy) => {
  const { problems } = liquidOf({ subject: 'Hi', html, text: '' }, { raw: true });
  const shown = html.slice(0, html.indexOf('}}') + 2);
  expect(problems).toHaveLength(1);
  expect(problems[0]?.[1]).toContain(`line 1 has ${shown}, which is written differently in Liquid: ${remedy}`);
});
