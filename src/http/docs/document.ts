import { z } from 'zod';
import { escapeHtml } from '../../lib/html/html.ts';

/** The parts of the OpenAPI document that the reference page shows, and how its texts and fields become HTML. */

/** A name as code, which may continue on the next line after `_`, `.`, `/`, `@` or a capital, but not within a word. */
export const name = (text: string): string =>
  `<code>${escapeHtml(text).replaceAll(/[_./=:,?@…-](?=[\w&…@])|[a-z](?=[A-Z])/g, '$&<wbr>')}</code>`;

/** `code` in a line. */
const inline = (text: string): string =>
  text
    .split(/(`[^`]+`)/)
    .map((part) => (/^`[^`]+`$/.test(part) ? name(part.slice(1, -1)) : escapeHtml(part)))
    .join('');

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

/** Items of a list, each with the lines that continue it. */
const list = (lines: readonly string[]): string =>
  `<ul>${lines
    .join('\n')
    .split(/^- /m)
    .slice(1)
    .map((item) => `<li>${inline(item.trim().replaceAll(/\s*\n\s*/g, ' '))}</li>`)
    .join('')}</ul>`;

const paragraph = (lines: readonly string[]): string => (lines.length === 0 ? '' : `<p>${inline(lines.join(' '))}</p>`);

/** A list may follow the line that introduces it without an empty line between them. */
const block = (text: string): string => {
  const lines = text.split('\n');
  const heading = /^## (.+)$/.exec(text)?.[1];
  if (heading !== undefined) return `<h2 id="${anchorOf(heading)}">${inline(heading)}</h2>`;
  if (text.startsWith('|')) return table(lines);
  const start = lines.findIndex((line) => line.startsWith('- '));
  return start === -1 ? paragraph(lines) : paragraph(lines.slice(0, start)) + list(lines.slice(start));
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
    /** Recorded. */
    example: z.unknown().optional(),
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
        example: z.unknown().optional(),
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
  'x-tagGroups': z.array(z.object({ name: z.string(), tags: z.array(z.string()) })),
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

/** Address of a schema on the pages. */
export type Locate = (schema: string) => string;

/** Deeper than any body of ours, and an end where one would contain itself. */
const DEPTH_MAX = 6;

const range = (least: number | undefined, most: number | undefined, unit: string): string => {
  if (least !== undefined && most !== undefined) return `, ${least} to ${most}${unit}`;
  if (most !== undefined) return `, at most ${most}${unit}`;
  return least === undefined ? '' : `, at least ${least}${unit}`;
};

const quoted = (values: readonly unknown[]): string =>
  values.map((value) => name(typeof value === 'string' ? value : JSON.stringify(value))).join(', ');

const ofType = (shape: Shape, type: string, locate: Locate): string => {
  if (type === 'array') {
    return `array of ${typeOf(shape.items ?? {}, locate)}${range(shape.minItems, shape.maxItems, ' items')}`;
  }
  if (type === 'string') {
    return `${shape.format ?? 'string'}${range(shape.minLength, shape.maxLength, ' characters')}`;
  }
  return `${type}${range(shape.minimum, shape.maximum, '')}`;
};

/** `one of live, test`; `integer, 1 to 100`. */
const typeOf = (shape: Shape, locate: Locate): string => {
  if (shape.$ref !== undefined) {
    const named = nameIn(shape.$ref);
    return `<a href="${escapeHtml(locate(named))}">${escapeHtml(named)}</a>`;
  }
  if (shape.const !== undefined) return quoted([shape.const]);
  if (shape.enum !== undefined) return `one of ${quoted(shape.enum)}`;
  const variants = shape.anyOf ?? shape.oneOf;
  if (variants !== undefined) return variants.map((variant) => typeOf(variant, locate)).join(' or ');
  return [shape.type ?? 'any']
    .flat()
    .map((type) => ofType(shape, type, locate))
    .join(' or ');
};

/** The object that a field is, holds or may be. */
const objectIn = (shape: Shape): Shape | undefined => {
  if (shape.properties !== undefined) return shape;
  if (shape.items !== undefined) return objectIn(shape.items);
  return (shape.anyOf ?? shape.oneOf)?.map(objectIn).find((one) => one !== undefined);
};

export interface Field {
  readonly name: string;
  /** Such as `query`. */
  readonly place?: string;
  readonly isRequired: boolean;
  readonly description?: string | undefined;
  readonly shape: Shape;
}

const defaultOf = ({ default: value }: Shape): string =>
  value === undefined ? '' : `<p>Default: ${name(JSON.stringify(value))}</p>`;

/** One field, those within it below it. */
const fieldItem = ({ name: named, place, isRequired, description, shape }: Field, locate: Locate, depth = 0): string =>
  `<li>${name(named)} <span class="type">${place === undefined ? '' : `${escapeHtml(place)} · `}${typeOf(shape, locate)}</span>` +
  `${isRequired ? ' <span class="required">required</span>' : ''}` +
  `${description === undefined || description === '' ? '' : markdown(description)}${defaultOf(shape)}` +
  `${fieldsIn(shape, locate, depth + 1)}</li>`;

const fieldsIn = (shape: Shape, locate: Locate, depth: number): string => {
  const { properties = {}, required = [] } = (depth > DEPTH_MAX ? undefined : objectIn(shape)) ?? {};
  const fields = Object.entries(properties).map(([named, inner]) =>
    fieldItem(
      { name: named, isRequired: required.includes(named), description: inner.description, shape: inner },
      locate,
      depth,
    ),
  );
  return fields.length === 0 ? '' : `<ul class="fields">${fields.join('')}</ul>`;
};

export const fieldList = (fields: readonly Field[], locate: Locate): string =>
  `<ul class="fields">${fields.map((field) => fieldItem(field, locate)).join('')}</ul>`;

/** The fields of a body, those within fields below them. */
export const bodyFields = (shape: Shape, locate: Locate): string =>
  fieldsIn(shape, locate, 0) || `<p class="type">${typeOf(shape, locate)}</p>`;

/** Names of the schemas that a part of the document leads to, in the order found. */
export const schemasIn = (
  part: unknown,
  { components }: Pick<ApiDocument, 'components'>,
  found: Set<string> = new Set(),
): ReadonlySet<string> => {
  if (typeof part !== 'object' || part === null) return found;
  const { $ref } = part as Shape;
  if (typeof $ref === 'string' && $ref.startsWith('#/components/schemas/') && !found.has(nameIn($ref))) {
    found.add(nameIn($ref));
    schemasIn(components.schemas[nameIn($ref)], { components }, found);
  }
  for (const inner of Object.values(part)) schemasIn(inner, { components }, found);
  return found;
};
