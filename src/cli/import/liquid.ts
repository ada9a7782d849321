/** Converts placeholders of other services' templates (Mustache and Handlebars) to Liquid. */

export interface LiquidSource {
  readonly source: string;
  /** Input variables by name, with their types. */
  readonly variables: ReadonlyMap<string, 'string' | 'object'>;
}

const PLACEHOLDER = /\{\{\{?([^{}]*)\}?\}\}/g;
const PATH = /^[A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63})*$/;
/** Position of a template's HTML in its layout. */
const CONTENT = '@content';
const COMMENT = '!';
const LIQUID_TAG = '{%';
const SHOWN_CHARACTERS_MAX = 60;

const lineOf = (source: string, at: number): number => source.slice(0, at).split('\n').length;

interface Options {
  /** Name of the source in error messages. */
  readonly field: string;
  /** True if triple braces output HTML unescaped. */
  readonly raw: boolean;
}

const isPath = (name: string): boolean => PATH.test(name);
const isConvertible = (name: string): boolean => isPath(name) || name === CONTENT || name.startsWith(COMMENT);

/** Why a source cannot be converted; null: it can. */
const problemIn = (source: string, field: string): string | null => {
  const tag = source.indexOf(LIQUID_TAG);
  if (tag >= 0) return `${field} line ${lineOf(source, tag)} holds {%, which is a tag of Liquid`;
  const other = source.matchAll(PLACEHOLDER).find(([, inner = '']) => !isConvertible(inner.trim()));
  if (other === undefined) return null;
  const shown = other[0].slice(0, SHOWN_CHARACTERS_MAX);
  return `${field} line ${lineOf(source, other.index)} has ${shown}, which Liquid writes otherwise: convert it by hand`;
};

const variablesIn = (source: string): LiquidSource['variables'] => {
  const found = new Map<string, 'string' | 'object'>();
  const paths = [...source.matchAll(PLACEHOLDER)].map(([, inner = '']) => inner.trim()).filter(isPath);
  for (const path of paths) {
    const [root = '', ...rest] = path.split('.');
    if (rest.length > 0) found.set(root, 'object');
    else if (!found.has(root)) found.set(root, 'string');
  }
  return found;
};

const written = (whole: string, name: string, raw: boolean): string => {
  if (name === CONTENT) return '{{ content }}';
  if (name.startsWith(COMMENT)) return '';
  return raw && whole.startsWith('{{{') ? `{{ ${name} | raw }}` : `{{ ${name} }}`;
};

/** @returns the Liquid source, or a sentence that says why it cannot be converted. */
export const liquidOf = (source: string, { field, raw }: Options): LiquidSource | string =>
  problemIn(source, field) ?? {
    source: source.replaceAll(PLACEHOLDER, (whole: string, inner: string) => written(whole, inner.trim(), raw)),
    variables: variablesIn(source),
  };
