import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/** Every class of the dashboard is styled in one file, so that the rules of one screen cannot affect another. */

const DASHBOARD = new URL('../../src/dashboard/', import.meta.url).pathname;
const STYLES = `${DASHBOARD}styles/`;
const COMMENT = /\/\*[\s\S]*?\*\//g;
/** Selectors of a rule: the text before a brace that opens declarations. */
const RULE = /([^{}@;]+)\{(?=[^{}]*\})/g;
/** Commas between selectors, but not those within `:is(…)`. */
const BETWEEN_SELECTORS = /,(?![^(]*\))/;

interface Lead {
  readonly file: string;
  readonly selector: string;
  /** Classes in the first compound selector: for `.keys.domains .kr` both `keys` and `domains`. */
  readonly classes: readonly string[];
}

const leads: readonly Lead[] = readdirSync(STYLES)
  .filter((file) => file.endsWith('.css'))
  .flatMap((file) => {
    const text = readFileSync(STYLES + file, 'utf8').replaceAll(COMMENT, '');
    return [...text.matchAll(RULE)]
      .flatMap(([, selectors = '']) => selectors.split(BETWEEN_SELECTORS))
      .map((selector) => {
        const [first = ''] = selector.trim().split(/[\s>+~]/);
        return {
          file,
          selector: selector.trim(),
          classes: [...first.matchAll(/\.([\w-]+)/g)].map(([, name = '']) => name),
        };
      });
  })
  .filter(({ classes }) => classes.length > 0);

/** Files with a rule that starts with this class alone. */
const filesOf = (name: string): ReadonlySet<string> =>
  new Set(leads.filter(({ classes }) => classes.length === 1 && classes[0] === name).map(({ file }) => file));

/** A rule may refine another file's class if it also names a class of its own file. */
const isOwn = ({ file, classes }: Lead): boolean =>
  classes.some((name) => [...filesOf(name)].every((owner) => owner === file));

const style = readdirSync(STYLES)
  .filter((file) => file.endsWith('.css'))
  .map((file) => readFileSync(STYLES + file, 'utf8').replaceAll(COMMENT, ''))
  .join('\n');

/** Texts that can be a value of `class`: sentences have capitals and punctuation. */
const CLASSES = /^[a-z\d\s-]*$/;

/** Templates can contain quotes, so they are looked for apart. */
const QUOTED = [/'([^'\n]*)'/g, /"([^"\n]*)"/g, /`([^`]*)`/g];

/** Texts in quotes of a source file. Templates are split where they insert a value. */
const textsIn = (path: string): readonly string[] => {
  const source = readFileSync(path, 'utf8');
  return QUOTED.flatMap((quoted) => [...source.matchAll(quoted)].map(([, text = '']) => text)).flatMap((text) =>
    text.split(/\$\{[^}]*\}/),
  );
};

const sources = readdirSync(DASHBOARD, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => DASHBOARD + file);
const words = new Set(
  sources
    .flatMap(textsIn)
    .filter((text) => CLASSES.test(text))
    .flatMap((text) => text.split(/\s+/)),
);
/** Beginnings that a script completes, such as `plot-`. */
const prefixes = [...words].filter((word) => /^[a-z].*-$/.test(word));
const isUsed = (name: string): boolean => words.has(name) || prefixes.some((prefix) => name.startsWith(prefix));

describe('the styles of the dashboard', () => {
  test('have no class or token that nothing uses', () => {
    const rules = style.replaceAll(/url\([^)]*\)/g, '');
    const classes = [...rules.matchAll(RULE)].flatMap(([, selector = '']) =>
      [...selector.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name = '']) => name),
    );
    const unused = [...new Set(classes)].filter((name) => !isUsed(name));
    expect(unused).toEqual([]);
    const scripts = sources.map((path) => readFileSync(path, 'utf8')).join('\n');
    const tokens = new Set([...style.matchAll(/(--[\w-]+):/g)].map(([, name = '']) => name));
    expect(tokens.size).toBeGreaterThan(40);
    const isRead = (name: string): boolean =>
      new RegExp(`var\\(${name}[,)]`).test(style) || scripts.includes(`'${name}'`);
    expect([...tokens].filter((name) => !isRead(name))).toEqual([]);
  });

  test('exist', () => expect(leads.length).toBeGreaterThan(500));

  test('define each class in one file only', () => {
    const names = new Set(leads.flatMap(({ classes }) => classes));
    const shared = [...names].filter((name) => filesOf(name).size > 1);
    expect(shared.map((name) => `.${name} in ${[...filesOf(name)].join(' and ')}`)).toEqual([]);
    expect(leads.filter((lead) => !isOwn(lead)).map(({ file, selector }) => `${selector} in ${file}`)).toEqual([]);
  });

  test('list every file once, in bundling order', () => {
    const bundled = [...readFileSync(`${STYLES}index.css`, 'utf8').matchAll(/"\.\/([\w-]+\.css)"/g)].map(
      ([, file]) => file,
    );
    expect(bundled.sort()).toEqual(
      readdirSync(STYLES)
        .filter((file) => file !== 'index.css')
        .sort(),
    );
  });
});
