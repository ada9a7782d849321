import { z } from 'zod';
import { escapeHtml } from '../../lib/html/html.ts';

/** The parts of the OpenAPI document that the reference page shows, and how its texts and fields become HTML. */

/** `code` in a line. */
const inline = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

/** `rate-limits` of `Rate limits`. */
export const anchorOf = (heading: string): string => heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

const cells = (line: string): readonly string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

const tableRow = (line: string, tag: 'td' | 'th'): string =>
  `<tr>${cells(line)
    .map((cell) => `<${tag}>${inline(cell)}</${tag}>`)
    .join('')}</tr>`;

const table = ([head = '', , ...lines]: readonly string[]): string =>
  `<table>${tableRow(head, 'th')}${lines.map((line) => tableRow(line, 'td')).join('')}</table>`;

const list = (lines: readonly string[]): string =>
  `<ul>${lines.map((line) => `<li>${inline(line.slice('- '.length))}</li>`).join('')}</ul>`;

const block = (text: string): string => {
  const lines = text.split('\n');
  const heading = /^## (.+)$/.exec(text)?.[1];
  if (heading !== undefined) return `<h2 id="${anchorOf(heading)}">${inline(heading)}</h2>`;
  if (text.startsWith('|')) return table(lines);
  if (text.startsWith('- ')) return list(lines);
  return `<p>${inline(lines.join(' '))}</p>`;
};

/** Renders the Markdown that our document uses: paragraphs, `## headings`, lists, tables and `code`. */
export const markdown = (text: string): string =>
  text
    .split(/\n{2,}/)
    .map(block)
    .join('\n');

/** A JSON Schema as far as the page shows it. */
interface Shape {
  readonly $ref?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly format?: string | undefined;
  readonly description?: string | undefined;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly anyOf?: readonly Shape[] | undefined;
  readonly oneOf?: readonly Shape[] | undefined;
  readonly properties?: Readonly<Record<string, Shape>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: Shape | boolean | undefined;
  readonly items?: Shape | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly pattern?: string | undefined;
}

const shape = z.custom<Shape>((value) => typeof value === 'object' && value !== null);
const content = z.record(
  z.string(),
  z.looseObject({
    schema: shape,
    examples: z.record(z.string(), z.object({ summary: z.string(), value: z.unknown() })).default({}),
  }),
);
const response = z.looseObject({
  description: z.string(),
  headers: z.record(z.string(), z.unknown()).default({}),
  content: content.optional(),
});

const operation = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  security: z.array(z.unknown()).default([]),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        required: z.boolean().default(false),
        description: z.string().default(''),
        schema: shape,
      }),
    )
    .default([]),
  requestBody: z.looseObject({ required: z.boolean().default(false), content }).optional(),
  responses: z.record(z.string(), z.union([z.strictObject({ $ref: z.string() }), response])),
});

const documentSchema = z.looseObject({
  info: z.looseObject({ title: z.string(), description: z.string() }),
  servers: z.array(z.looseObject({ url: z.string() })).min(1),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  webhooks: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({
    schemas: z.record(z.string(), shape),
    responses: z.record(z.string(), response),
  }),
});

export type ApiDocument = z.output<typeof documentSchema>;
export type ApiOperation = z.output<typeof operation>;
export type ApiResponse = z.output<typeof response>;

/** Parses the parts of the OpenAPI document that the page uses. */
export const readDocument = (source: unknown): ApiDocument => documentSchema.parse(source);

/** `ApiKey` of `#/components/schemas/ApiKey`. */
export const nameIn = (reference: string): string => reference.split('/').at(-1) ?? '';

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
