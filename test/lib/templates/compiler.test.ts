import { afterAll, describe, expect, test } from 'vitest';
import { type CompiledHtml, createTemplateCompiler } from '../../../src/lib/templates/compiler.ts';
import { longestTurnMs } from '../../support/longest-turn.ts';

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

describe('checking a source', () => {
  test('reports its variables', async () => {
    expect(await compiler.check('Hello {{ name }}', 'org_1')).toEqual({
      problem: null,
      uses: [{ name: 'name', line: 1, column: 10 }],
    });
  });

  test.each([
    ['many assignments', '{%assign b=a%}'.repeat(5_000)],
    ['many paths', '{{a.b.c.d.e.f.g.h.i}}'.repeat(5_000)],
    ['many variables in each tag', `{{a${'|append:a'.repeat(200)}}}`.repeat(100)],
  ])('blocks nothing else: %s', async (_, source) => {
    await compiler.check('{{ a }}', 'org_1');
    const turnMs = await longestTurnMs(async () => {
      const { problem } = await compiler.check(source, 'org_1');
      if (problem !== null) expect(problem.sentence).toMatch(/takes longer/);
    });
    expect(turnMs).toBeLessThan(50);
  });
});

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
    ['<p>x</p>', 1, 1, 'it must begin with <mjml>'],
    ['<mj-section></mj-section>', 1, 1, 'it must begin with <mjml>'],
    ['<mjml></mjml>', 1, 1, 'the MJML could not be compiled: Malformed MJML'],
    [`${around('')}\n<mjml><mj-body></mj-body></mjml>`, 2, 1, 'nothing may follow </mjml>'],
    ['<mjml>\n  <mj-body>', 2, 3, '<mj-body> is never closed'],
    [around('\r\n<mj-image src="x"><mj-text>x</mj-text>'), 2, 1, '<mj-image> is never closed'],
    ['<mjml>\n<mj-body>\n<!-- {{ é }} --></mj-section></mj-body></mjml>', 3, 17, 'unexpected end tag </mj-section>'],
    [around('\n <mj-text>x</mj-text><mj-txet>y</mj-txet>'), 2, 22, 'unknown element <mj-txet>'],
    [around('\n <p>x</p>'), 2, 2, 'unknown element <p>'],
    [
      around('\r\n <mj-title>x</mj-title>'),
      2,
      2,
      '<mj-title> is not allowed in <mj-column>, only in: mj-attributes, mj-head',
    ],
    [around('<mj-text>x</mj-text>\n a word'), 2, 2, 'text is not shown here: use <mj-text>'],
    [around('\n{% if a %}<mj-text>x</mj-text>{% endif %}'), 2, 1, 'or <mj-raw> around Liquid tags'],
    ['<mjml><mj-body><mj-include path="/etc/passwd"/></mj-body></mjml>', 1, 16, 'mj-include is not supported'],
    [around('<mj-wrapper>'.repeat(5000)), 1, expect.any(Number), 'nested more than 300 deep'],
    [around('\n<mj-image src="x" width="{{ w }}"/>'), 2, 26, 'write it here, without Liquid'],
    [around('\n<mj-image src="x" padding="{{ w }}"/>'), 2, 28, 'write it here, without Liquid'],
  ])('is refused with line and column: %.60s', async (source, line, column, sentence) => {
    expect(await mjml(source)).toEqual({ problem: { line, column, sentence: expect.stringContaining(sentence) } });
  });

  test.each([
    [
      'emoji, spaces that do not break, Hindi, Thai and combining accents',
      `<p title="I ❤️ you, 10\u00a0€">नमस्ते สวัสดี cafe\u0301 ❤️</p>`,
    ],
    ['line breaks in a style', '<p style="color: red;\n  margin: 0">x</p>'],
    ['single quotes around double ones', `<p style='font-family: "Arial"'>x</p>`],
    ['attributes without quotes, and end tags that html does not need', '<ul class=big><li>x<li>y</ul><br>'],
    ['Windows line breaks', 'a<br>\r\nb'],
  ])('keeps text and attributes of html to the character: %s', async (_, content) => {
    for (const element of ['mj-text', 'mj-raw']) {
      expect(htmlOf(await mjml(around(`<${element}>${content}</${element}>`)))).toContain(content);
    }
  });

  test('keeps attributes of its own elements, with any quotes or none', async () => {
    const image = `<mj-image src=x.png alt='I ❤️ "you", 10\u00a0€'/><MJ-TEXT css-class=big>नमस्ते</MJ-TEXT>`;
    const html = htmlOf(await mjml(around(image)));
    expect(html).toContain('alt="I ❤️ &quot;you&quot;, 10\u00a0€"');
    expect(html).toMatch(/src="x.png"[\s\S]*class="big"[\s\S]*नमस्ते/);
  });

  test('is compiled with Windows line breaks as with others', async () => {
    const source = `<mjml>\n<mj-head>\n<mj-style inline="inline">\nb { margin: 0 }\n</mj-style>\n</mj-head>\n<mj-body>\n<mj-section>\n<mj-column>\n<mj-text>\n<b>x</b>\n</mj-text>\n</mj-column>\n</mj-section>\n</mj-body>\n</mjml>`;
    const windows = htmlOf(await mjml(source.replaceAll('\n', '\r\n')));
    expect(windows.replaceAll('\r\n', '\n')).toBe(htmlOf(await mjml(source)));
    expect(windows).toContain('<b style="margin: 0;">x</b>');
  });

  test.each([
    ['<ul><li>a<li><p>b<p>c<li>d</ul>', '<ul><li>a</li><li><p>b</p><p>c</p></li><li>d</li></ul>'],
    ['<ul><li>a<ol><li>b<li>c</ol><li>d</ul>', '<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>'],
    ['<p>a<div>b</div><p>c<br>d', '<p>a</p><div>b</div><p>c<br>d</p>'],
    ['<dl><dt>a<dd>b<dt>c<dd>d</dl>', '<dl><dt>a</dt><dd>b</dd><dt>c</dt><dd>d</dd></dl>'],
    [
      '<table><thead><tr><th>a<th>b<tbody><tr><td>c<td><p>d<tr><td>e</table>',
      '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>c</td><td><p>d</p></td></tr><tr><td>e</td></tr></tbody></table>',
    ],
    [
      '<table><tr><td><table><tr><td>a</table><td>b</table>',
      '<table><tr><td><table><tr><td>a</td></tr></table></td><td>b</td></tr></table>',
    ],
    ['<p>a <b>b</b> <!-- <li> --> {{ c }}', '<p>a <b>b</b> <!-- <li> --> {{ c }}</p>'],
    ['<ul><LI class="x">a<LI>b</ul>', '<ul><LI class="x">a</li><LI>b</li></ul>'],
  ])('ends what html may leave open next to mj-html-attributes: %s', async (open, closed) => {
    const head =
      '<mj-head><mj-html-attributes><mj-selector path=".big div"><mj-html-attribute name="data-id">42</mj-html-attribute></mj-selector></mj-html-attributes></mj-head>';
    const withHead = (content: string): string =>
      around(`<mj-text css-class="big">${content}</mj-text><mj-text>after</mj-text>`).replace(
        '<mjml>',
        `<mjml>${head}`,
      );
    expect(htmlOf(await mjml(withHead(open)))).toBe(htmlOf(await mjml(withHead(closed))));
  });

  test('leaves rows open that several mj-raw write together next to mj-html-attributes', async () => {
    const source = `<mjml><mj-head><mj-html-attributes><mj-selector path=".big"><mj-html-attribute name="data-id">42</mj-html-attribute></mj-selector></mj-html-attributes></mj-head><mj-body><mj-section><mj-column><mj-raw><ul><li>a</mj-raw><mj-raw>b</li></ul></mj-raw></mj-column></mj-section></mj-body></mjml>`;
    expect(htmlOf(await mjml(source)).replace(/\s+/g, '')).toContain('<ul><li>ab</li></ul>');
  });

  test('writes mj-html-attributes into elements and leaves the html around them valid', async () => {
    const html = htmlOf(
      await mjml(
        `<mjml><mj-head><mj-html-attributes><mj-selector path=".big div"><mj-html-attribute name="data-id">42</mj-html-attribute></mj-selector></mj-html-attributes></mj-head><mj-body><mj-section><mj-column><mj-text css-class="big">a<br>b<div></div><img src="x?a=1&b=2" alt="{{ a }}"></mj-text></mj-column></mj-section></mj-body></mjml>`,
      ),
    );
    expect(html).toContain('data-id="42">a<br/>b<div data-id="42"></div><img src="x?a=1&b=2" alt="{{ a }}"/></div>');
  });

  test('writes raw content for the start of the file before everything', async () => {
    const source = '<mjml><mj-raw position="file-start">{% assign a = 1 %}</mj-raw><mj-body></mj-body></mjml>';
    expect(htmlOf(await mjml(source))).toMatch(/^\{% assign a = 1 %\}\s*<!doctype html>/i);
  });

  test('may have comments anywhere', async () => {
    const html = htmlOf(
      await mjml(
        around(
          '<!-- a --><mj-carousel><!-- b --><mj-carousel-image src="x.png"/></mj-carousel><mj-navbar><!-- c --><mj-navbar-link>x</mj-navbar-link></mj-navbar>',
        ),
      ),
    );
    expect(html).toContain('src="x.png"');
  });

  test.each([
    [
      'a class that thousands of elements have',
      `<mjml><mj-head><mj-attributes><mj-class name="a" color="${'x'.repeat(90_000)}"/></mj-attributes></mj-head><mj-body><mj-section><mj-column>${'<mj-text mj-class="a"/>'.repeat(4_000)}</mj-column></mj-section></mj-body></mjml>`,
      'shared attributes and styles are too long',
    ],
    [
      'an attribute that thousands of links inherit',
      around(`<mj-navbar base-url="${'x'.repeat(50_000)}">${'<mj-navbar-link/>'.repeat(3_000)}</mj-navbar>`),
      'shared attributes and styles are too long',
    ],
    [
      'a carousel of thousands of images',
      around(`<mj-carousel>${'<mj-carousel-image/>'.repeat(8_000)}</mj-carousel>`),
      'carousels may have 100 images',
    ],
    ['quadratic conditional comments', around(`<mj-raw>${'<!--[if mso]>'.repeat(15_000)}</mj-raw>`), ''],
  ])(
    'that is made to fill the memory is refused, and the next template is compiled: %s',
    async (_, source, sentence) => {
      const made = await mjml(source);
      if ('problem' in made) expect(made.problem.sentence).toContain(sentence);
      else expect(made.html.length).toBeLessThan(1_000_000);
      expect(htmlOf(await mjml(around('<mj-text>x</mj-text>')))).toContain('>x</div>');
    },
  );
});

describe('styles', () => {
  test('are written into elements, and their sheets stay for what cannot be inlined', async () => {
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

  test('leave tables as Liquid writes them: no tbody is added to them, and theirs are kept', async () => {
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

  test('of MJML that are marked for it are written into elements without a request', async () => {
    const source = `<mjml><mj-head><mj-style inline="inline">b { margin: 0 }</mj-style></mj-head><mj-body><mj-section><mj-column><mj-text><b>x</b></mj-text></mj-column></mj-section></mj-body></mjml>`;
    expect(htmlOf(await mjml(source))).toContain('<b style="margin: 0;">');
  });

  test('are never loaded from a URL', async () => {
    const html = htmlOf(await inlined('<link rel="stylesheet" href="http://127.0.0.1:1/x.css"><p>x</p>'));
    expect(html).toContain('<p>x</p>');
  });

  test.each([
    ['<p>x</p>\n<p style="margin: 0; color red">x</p>', 'color red', 2, 22],
    ['<p style="*zoom: 1">x</p>', '*zoom: 1', 1, 11],
    ["\r\n<p style='font-family:&quot;A; B&quot;;{{ style }}'>x</p>", '{{ style }}', 2, 40],
    [`<p style="${'a'.repeat(200)}">x</p>`, `${'a'.repeat(80)}…`, 1, 11],
  ])('name the declaration that cannot be read, and its place: %.60s', async (source, declaration, line, column) => {
    const sentence = `the declaration \`${declaration}\` in a style attribute must be \`property: value\``;
    expect(await inlined(source, 'p { padding: 0 }')).toEqual({ problem: { line, column, sentence } });
  });

  test('name the declaration of MJML where it was written', async () => {
    const source = around('<mj-text>\n<b style="color red">x</b></mj-text>');
    expect(await mjml(source, 'b { margin: 0 }')).toMatchObject({ problem: { line: 2, column: 11 } });
  });

  test('of sheets with a declaration that browsers skip are written without it', async () => {
    expect(htmlOf(await inlined('<p>x</p>', 'p { color red; *zoom: 1; margin: 0 }'))).toBe(
      '<p style="margin: 0;">x</p>',
    );
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
  });

  test('that are not requested leave html unchanged', async () => {
    const html = '<table>{% for x in y %}<tr>{% endfor %}';
    expect(await compiler.compile({ html, format: 'html', inlineCss: null }, 'org_1')).toEqual({ html });
  });
});
