/** The largest body that the service accepts. */
const CHARACTERS = 1_000_000;

const filled = (unit: (index: number) => string): string => {
  const units: string[] = [];
  for (let index = 0, length = 0; length < CHARACTERS; index += 1) {
    const next = unit(index);
    units.push(next);
    length += next.length;
  }
  return units.join('').slice(0, CHARACTERS);
};
const repeated = (unit: string): string => filled(() => unit);
const around = (before: string, unit: (index: number) => string, after: string): string =>
  `${before}${filled(unit).slice(before.length + after.length)}${after}`;

/** Inputs of a megabyte each that are slow for a careless parser. */
export const ADVERSARIAL_HTML: Readonly<Record<string, string>> = {
  'elements nested as deep as they go': repeated('<div>'),
  'elements opened and then all closed': '<b>'.repeat(CHARACTERS / 7) + '</b>'.repeat(CHARACTERS / 7),
  'end tags that match nothing': '<a>'.repeat(1000) + repeated('</x>').slice(3000),
  'tables left open': repeated('<table><tr><td>'),
  'one tag with 300,000 attributes': around('<a ', (index) => `${index.toString(36)} `, '>'),
  'one attribute 300,000 times': around('<a ', () => 'x ', '>'),
  'attributes with values': around('<a ', (index) => `${index.toString(36)}=1 `, '>'),
  entities: repeated('&amp;'),
  'unknown entities': repeated('&nosuch'),
  'entities in an attribute': around('<p title="', () => '&#x41;', '">'),
  '100,000 links': repeated('<a href=x>'),
  'links to as many hosts': filled((index) => `<a href=http://h${index}.example>`),
  'links that name other hosts': repeated('<a href=https://a.example>https://b.example</a>'),
  'a link with an endless text': around('<a href="https://x.example">', () => 'a.', '</a>'),
  'paragraphs left open': repeated('<p>x'),
  'a long style': around('<p style="', () => 'background:url(x;', '">x</p>'),
  'styled elements': repeated('<b style="color:#fff;background:#fff">x'),
  'hidden elements': repeated('<b hidden>x</b>'),
  'images without anything': repeated('<img src=x>'),
  imports: around('<style>', () => '@import', '</style>'),
  'marks that open a template': repeated('{{a'),
  'markers that are complete': repeated('{{a}}'),
  'damaged text': repeated('\ufffd '),
  'half of an escape': repeated('&amp;am'),
  'almost a secret': repeated('-----BEGIN A'),
  'less-than signs': repeated('<'),
  'comments left open': `<!--${repeated('<!--').slice(4)}`,
  'lines without text': repeated('\n'),
  'characters of two units': repeated('😀'),
  'drawings in drawings': repeated('<svg>'),
};
