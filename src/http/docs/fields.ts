import { escapeHtml } from '../../lib/html/html.ts';
import { nameIn, type Shape } from './document.ts';
import { markdown } from './markdown.ts';

type Schemas = Readonly<Record<string, Shape>>;

/** Deeper than any body of ours, and an end where one would contain itself. */
const DEPTH_MAX = 6;

const link = (reference: string): string => `<a href="#${nameIn(reference)}">${nameIn(reference)}</a>`;

const range = (least: number | undefined, most: number | undefined, unit: string): string => {
  if (least !== undefined && most !== undefined) return `, ${least} to ${most}${unit}`;
  if (most !== undefined) return `, at most ${most}${unit}`;
  return least === undefined ? '' : `, at least ${least}${unit}`;
};

const quoted = (values: readonly unknown[]): string =>
  values
    .map((value) => `<code>${escapeHtml(typeof value === 'string' ? value : JSON.stringify(value))}</code>`)
    .join(', ');

const ofType = (shape: Shape, type: string): string => {
  if (type === 'array') {
    return `array of ${typeOf(shape.items ?? {})}${range(shape.minItems, shape.maxItems, ' items')}`;
  }
  if (type === 'string') {
    return `${shape.format ?? 'string'}${range(shape.minLength, shape.maxLength, ' characters')}`;
  }
  return `${type}${range(shape.minimum, shape.maximum, '')}`;
};

/** `one of live, test`; `integer, 1 to 100`. */
export const typeOf = (shape: Shape): string => {
  if (shape.$ref !== undefined) return link(shape.$ref);
  if (shape.const !== undefined) return quoted([shape.const]);
  if (shape.enum !== undefined) return `one of ${quoted(shape.enum)}`;
  const variants = shape.anyOf ?? shape.oneOf;
  if (variants !== undefined) return variants.map(typeOf).join(' or ');
  return [shape.type ?? 'any']
    .flat()
    .map((type) => ofType(shape, type))
    .join(' or ');
};

interface Field {
  readonly name: string;
  readonly depth: number;
  readonly shape: Shape;
  readonly required: boolean;
}

/** The object that a field is, holds or may be. */
const objectIn = (shape: Shape): Shape | undefined => {
  if (shape.properties !== undefined) return shape;
  if (shape.items !== undefined) return objectIn(shape.items);
  return shape.anyOf?.map(objectIn).find((one) => one !== undefined);
};

const fieldsOf = (shape: Shape, depth: number): readonly Field[] => {
  const { properties = {}, required = [] } = objectIn(shape) ?? {};
  if (depth > DEPTH_MAX) return [];
  return Object.entries(properties).flatMap(([name, inner]) => [
    { name, depth, shape: inner, required: required.includes(name) },
    ...fieldsOf(inner, depth + 1),
  ]);
};

const defaultOf = ({ default: value }: Shape): string =>
  value === undefined ? '' : `<p>Default: <code>${escapeHtml(JSON.stringify(value))}</code></p>`;

const row = ({ name, depth, shape, required }: Field): string =>
  `<tr><td class="d${depth}"><code>${escapeHtml(name)}</code>${required ? ' <b title="required">*</b>' : ''}</td>` +
  `<td>${typeOf(shape)}${shape.description === undefined ? '' : markdown(shape.description)}${defaultOf(shape)}</td></tr>`;

/** The fields of a body, those within fields below them; `*` is required. */
export const fieldTable = (shape: Shape, schemas: Schemas): string => {
  const target = shape.$ref === undefined ? shape : (schemas[nameIn(shape.$ref)] ?? {});
  const rows = fieldsOf(target, 0).map(row);
  return rows.length === 0 ? `<p>${typeOf(target)}</p>` : `<table>${rows.join('')}</table>`;
};
