import { afterAll, describe, expect, test } from 'vitest';
import { createTemplateCompiler } from '../../../src/adapters/templates/compiler.ts';
import type { CompiledHtml } from '../../../src/domain/ports/template-compiler.ts';

const compiler = createTemplateCompiler();
afterAll(() => compiler.close());

const mjml = (html: string, inlineCss: string | null = null): Promise<CompiledHtml> =>
  compiler.compile({ html, format: 'mjml', inlineCss }, 'org_1');
const inlined = (html: string, css = ''): Promise<CompiledHtml> =>
  compiler.compile({ html, format: 'html', inlineCss: css }, 'org_1');
const htmlOf = (made: CompiledHtml): string => {
  if ('problem' in made) throw new Error(made.problem.sentence);
  return made.html;
};
const around = (content: string): string =>
  `<mjml><mj-body><mj-section><mj-column>${content}</mj-column></mj-section></mj-body></mjml>`;

describe('MJML', () => {
  test('becomes html for mail, and Liquid passes through as it was written', async () => {
    const html = htmlOf(
      await mjml(
        around(`<mj-text font-size="{{ size | default: "12px" }}">Hello {{ name | upcase }}{% if a < 3 %} &amp; few{% endif %}</mj-text>
          <mj-button href="{{ url }}">{{ 'Go' | append: "!" }}</mj-button>`),
      ),
    );
    expect(html).toMatch(/^<!doctype html>/i);
    expect(html).toContain('<table');
    expect(html).toContain('font-size:{{ size | default: "12px" }}');
    expect(html).toContain('Hello {{ name | upcase }}{% if a < 3 %} &amp; few{% endif %}');
    expect(html).toContain('href="{{ url }}"');
    expect(html).toContain(`{{ 'Go' | append: "!" }}`);
    expect(html).not.toContain('\uA66E');
  });

  test('keeps raw and comment blocks whole, and Liquid in mj-raw', async () => {
    const block = '{% raw %}{{ not.liquid < }}{% endraw %}';
    const html = htmlOf(
      await mjml(
        around(`<mj-raw>{% for i in list %}</mj-raw><mj-text>${block}</mj-text><mj-raw>{% endfor %}</mj-raw>`),
      ),
    );
    expect(html).toContain(block);
    expect(html.indexOf('{% for i in list %}')).toBeLessThan(html.indexOf(block));
    expect(html.indexOf('{% endfor %}')).toBeGreaterThan(html.indexOf(block));
  });

  test('names no host of a third party for its fonts', async () => {
    const html = htmlOf(await mjml(around('<mj-text font-family="Open Sans, Roboto">x</mj-text>')));
    expect(html).not.toMatch(/fonts\.googleapis|https?:\/\/(?!www\.w3\.org)/);
  });

  test.each([
    ['', 1, 1, 'it must begin with <mjml>'],
    ['<p>x</p>', 1, 1, 'this must not stand here'],
    ['<mjml>\n  <mj-body>', 2, 12, 'it ends inside an element'],
    ['<mjml>\n<mj-body>\n{{ é }}</mj-section></mj-body></mjml>', 3, 8, 'unexpected end tag </mj-section>'],
    [around('\n <mj-text>x</mj-text><mj-txet>y</mj-txet>'), 2, 22, 'unknown element <mj-txet>'],
    ['<mjml><mj-body><mj-include path="/etc/passwd"/></mj-body></mjml>', 1, 17, 'mj-include is not supported'],
    [around('<mj-wrapper>'.repeat(5000)), 1, expect.any(Number), 'nested more than 50 deep'],
    [around('\n<mj-image src="x" width="{{ w }}"/>'), 2, 26, 'MJML makes nothing of this: it needs a plain value here'],
  ])('is refused with line and column: %.60s', async (source, line, column, sentence) => {
    expect(await mjml(source)).toEqual({ problem: { line, column, sentence: expect.stringContaining(sentence) } });
  });
});

describe('styles', () => {
  test('are written into elements, and their sheets stay for what cannot be', async () => {
    const html = htmlOf(
      await inlined(
        '<!doctype html><html><head><style>td { color: {{ color }} } @media (max-width: 9px) { td { color: red } }</style></head><body><table>{% for i in list %}<tr {{ attributes }}><td title="{{ "a" | upcase }}">{{ i }}</td></tr>{% endfor %}</table></body></html>',
      ),
    );
    expect(html).toContain('<td title="{{ "a" | upcase }}" style="color: {{ color }};">{{ i }}</td>');
    expect(html).toContain('<table>{% for i in list %}<tr {{ attributes }}>');
    expect(html).toContain('</tr>{% endfor %}');
    expect(html).toContain('@media (max-width: 9px)');
  });

  test('leave tables as Liquid writes them: no body is added to them, and theirs stay', async () => {
    const rows = '{% if a %}<tr><td>1</td></tr>{% endif %}';
    const html = `<table>${rows}</table><table><tbody class="x">${rows}</tbody></table>`;
    expect(htmlOf(await inlined(html, 'td { margin: 0 }'))).toBe(html.replaceAll('<td>', '<td style="margin: 0;">'));
  });

  test('of layouts are written into a part that has none, which stays a part', async () => {
    expect(htmlOf(await inlined('<p>{{ a }}</p>', 'p { margin: 0 }'))).toBe('<p style="margin: 0;">{{ a }}</p>');
  });

  test('of MJML are written into what it makes', async () => {
    const source = `<mjml><mj-head><mj-style>.big { font-weight: bold }</mj-style></mj-head><mj-body><mj-section><mj-column><mj-text><b class="big">x</b></mj-text></mj-column></mj-section></mj-body></mjml>`;
    expect(htmlOf(await mjml(source, ''))).toContain('<b class="big" style="font-weight: bold;">');
  });

  test('of MJML that are marked so are written into elements without being asked for', async () => {
    const source = `<mjml><mj-head><mj-style inline="inline">b { margin: 0 }</mj-style></mj-head><mj-body><mj-section><mj-column><mj-text><b>x</b></mj-text></mj-column></mj-section></mj-body></mjml>`;
    expect(htmlOf(await mjml(source))).toContain('<b style="margin: 0;">');
  });

  test('are loaded from nowhere', async () => {
    const html = htmlOf(await inlined('<link rel="stylesheet" href="http://127.0.0.1:1/x.css"><p>x</p>'));
    expect(html).toContain('<p>x</p>');
  });

  test('of deeply nested html are refused', async () => {
    expect(await inlined('<div>'.repeat(20_000))).toMatchObject({
      problem: { sentence: 'elements are nested more than 300 deep' },
    });
  });

  test('that exhaust the library are refused, and the next template is compiled', async () => {
    const css = Array.from({ length: 3_000 }, (_, index) => `.a${index} div div div > p { color: red }`).join('');
    const huge = await inlined(`<style>${css}</style>${'<div class="a1"><p>x</p></div>'.repeat(3_000)}`);
    if ('problem' in huge) expect(huge.problem.sentence).toMatch(/make it simpler|takes longer/);
    const next = () => inlined('<p>x</p>', 'p { margin: 0 }').catch(() => null);
    await expect.poll(next, { timeout: 20_000 }).toEqual({ html: '<p style="margin: 0;">x</p>' });
  }, 60_000);

  test('nobody asks for leave html as it is', async () => {
    const html = '<table>{% for x in y %}<tr>{% endfor %}';
    expect(await compiler.compile({ html, format: 'html', inlineCss: null }, 'org_1')).toEqual({ html });
  });
});
