import compileByMjml from 'mjml';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTemplateCompiler } from '../../src/lib/templates/compiler.ts';
import { openBrowser } from '../support/browser.ts';
import { chromiumIsMissing } from '../support/chromium.ts';

/** Templates render as with the MJML compiler alone: the same text, attributes and computed styles. */

const WIDTHS = [700, 360];

const MJML = {
  fonts: {},
  ignoreIncludes: true,
  filePath: '',
  keepComments: true,
  noMigrateWarn: true,
  validationLevel: 'skip',
} as const;

const HEAD = `<mj-head>
  <mj-title>Autumn</mj-title>
  <mj-preview>News for you</mj-preview>
  <mj-attributes>
    <mj-all font-family="Georgia, serif" />
    <mj-class name="loud" color="#b00020" font-size="20px" />
    <mj-text line-height="1.4" />
  </mj-attributes>
  <mj-style>.wide { letter-spacing: 2px } @media (max-width: 480px) { .wide { letter-spacing: 0 } }</mj-style>
  <mj-style inline="inline">.soft { color: #336699 }</mj-style>
</mj-head>`;

const bodyOf = (content: string, head = HEAD): string =>
  `<mjml>\n${head}\n<mj-body background-color="#f4f4f4" width="640px">\n${content}\n</mj-body>\n</mjml>\n`;

const column = (content: string): string => `<mj-section><mj-column>\n${content}\n</mj-column></mj-section>`;

const NEWSLETTER = bodyOf(`
<mj-wrapper padding="10px" background-color="#ffffff">
  <mj-section padding="0">
    <mj-column width="60%"><mj-text mj-class="loud">Hello &amp; welcome, 10 €</mj-text></mj-column>
    <mj-column width="40%" vertical-align="middle"><mj-button href="https://a.test/?a=1&amp;b=2">Read on</mj-button></mj-column>
  </mj-section>
</mj-wrapper>
<mj-hero mode="fluid-height" background-color="#22384d" padding="20px"><mj-text color="#ffffff">I ❤️ नमस्ते สวัสดี é</mj-text></mj-hero>
<mj-section><mj-group><mj-column><mj-text>a</mj-text></mj-column><mj-column><mj-text>b</mj-text></mj-column></mj-group></mj-section>
${column(`<mj-divider border-width="2px" border-color="#cccccc" />
  <mj-spacer height="12px" />
  <mj-text css-class="wide"><p class="soft">One<br>two</p><ul><li>a</li><li>b</li></ul></mj-text>
  <mj-table><tr><th align="left">Item</th><th>Price</th></tr><tr><td>Tea</td><td align="right">3,50&nbsp;€</td></tr></mj-table>
  <mj-image width="120px" alt="I ❤️ you, 10 €" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" href="https://a.test/" />`)}
<mj-section><mj-column><mj-social font-size="12px"><mj-social-element name="github" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" href="https://a.test/g">Code</mj-social-element></mj-social></mj-column></mj-section>`);

const INTERACTIVE = bodyOf(
  column(`<mj-navbar hamburger="hamburger"><mj-navbar-link href="/a">First</mj-navbar-link><mj-navbar-link href="/b">Second</mj-navbar-link></mj-navbar>
  <mj-accordion><mj-accordion-element title="Why?"><mj-accordion-title>Why?</mj-accordion-title><mj-accordion-text>Because.</mj-accordion-text></mj-accordion-element></mj-accordion>
  <mj-carousel><mj-carousel-image src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt="one" /><mj-carousel-image src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt="two" /></mj-carousel>`),
);

const ATTRIBUTES = `<mj-head><mj-html-attributes><mj-selector path=".list li"><mj-html-attribute name="data-id">7</mj-html-attribute></mj-selector></mj-html-attributes></mj-head>`;

/** Each source, and an equivalent one that the MJML compiler handles correctly. */
const CASES: readonly (readonly [string, string, string])[] = [
  ['a newsletter', NEWSLETTER, NEWSLETTER],
  ['a newsletter with CRLF', NEWSLETTER.replaceAll('\n', '\r\n'), NEWSLETTER],
  ['a navigation, an accordion and a carousel', INTERACTIVE, INTERACTIVE],
  [
    'attributes in single quotes',
    bodyOf(column(`<mj-text font-family='"Trebuchet MS", serif' color='#123456'>x</mj-text>`)),
    bodyOf(column(`<mj-text font-family="&quot;Trebuchet MS&quot;, serif" color="#123456">x</mj-text>`)),
  ],
  [
    'components in capitals',
    bodyOf(column('<MJ-Text Color="#123456">x</MJ-Text>'.replace('Color', 'color'))),
    bodyOf(column('<mj-text color="#123456">x</mj-text>')),
  ],
  [
    'end tags left out beside mj-html-attributes',
    bodyOf(column('<mj-text css-class="list"><ul><li>a<li>b<br>c</ul><p>d<p>e</mj-text>'), ATTRIBUTES),
    bodyOf(
      column('<mj-text css-class="list"><ul><li>a</li><li>b<br/>c</li></ul><p>d</p><p>e</p></mj-text>'),
      ATTRIBUTES,
    ),
  ],
];

/**
 * Runs in the page: prints one line for each text, and two for each element (its attributes and its computed styles).
 */
const WALK = String.raw`(() => {
  const linesOf = (node) => {
    if (!(node instanceof Element)) return [node.nodeValue.replace(/\s+/g, ' ').trim()].filter((text) => text !== '');
    const attributes = [...node.attributes].map(({ name, value }) => name + '=' + value.trim()).sort();
    const style = getComputedStyle(node);
    const styles = [...style].map((name) => name + ':' + style.getPropertyValue(name));
    return [[node.tagName, ...attributes].join(' '), styles.join(';')];
  };
  const lines = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = walk.currentNode; node !== null; node = walk.nextNode()) lines.push(...linesOf(node));
  return lines;
})()`;

/** Replaces the random ids of carousels and navigation bars. */
const withoutChance = (html: string): string => {
  const ids = [...new Set(html.match(/\b[0-9a-f]{16}\b/g))];
  return ids.reduce((text, id, index) => text.replaceAll(id, `id${index}`), html);
};

describe.skipIf(chromiumIsMissing)('in Chromium', () => {
  const compiler = createTemplateCompiler();
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => Promise.all([browser.close(), compiler.close()]));

  /** Each element and text of the page as rendered. */
  const shown = async (html: string, width: number): Promise<readonly string[]> => {
    const page = await browser.newPage({ viewport: { width, height: 900 } });
    await page.route('**/*', (route) => route.abort());
    await page.setContent(withoutChance(html));
    const found = await page.evaluate<readonly string[]>(WALK);
    await page.close();
    return found;
  };

  test.each(CASES)('%s looks as rendered by MJML', async (_, source, reference) => {
    const made = await compiler.compile({ html: source, format: 'mjml', inlineCss: null }, 'org_1');
    if ('problem' in made) throw new Error(made.problem.sentence);
    const expected = compileByMjml(reference, MJML).html;
    for (const width of WIDTHS) {
      const ours = await shown(made.html, width);
      expect(ours.length).toBeGreaterThan(10);
      expect(ours).toEqual(await shown(expected, width));
    }
  });
});
