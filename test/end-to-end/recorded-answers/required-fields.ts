import { type LocatedSchema, nameIn, type OpenApi } from '../../support/openapi/document.ts';

/** Compares `required` of the document with what the service enforces, one field of one request at a time. */

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

type Path = readonly (string | number)[];

/** A field of an accepted request, as the document describes it. */
export interface Field {
  readonly place: 'body' | 'query';
  readonly path: Path;
  /** True if the document requires it. */
  readonly documented: boolean;
  /** False if the request was accepted without it. */
  readonly isSent: boolean;
}

/** A field of one request of an operation, compared. */
export interface Comparison {
  readonly operationId: string;
  /** `messages[].to` for every item of a list, `?q` for a query parameter. */
  readonly field: string;
  readonly documented: boolean;
  /** True if the service names the field as missing when it is left out. */
  readonly enforced: boolean;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schemas that a schema stands for: the target of a reference, the variants of a union. */
const variantsOf = (schema: Schema, document: OpenApi): readonly Schema[] => {
  const { $ref, anyOf, oneOf } = schema;
  if ($ref !== undefined) return variantsOf((document.components.schemas[nameIn($ref)] ?? {}) as Schema, document);
  const variants = anyOf ?? oneOf;
  return variants === undefined ? [schema] : variants.flatMap((one) => variantsOf(one, document));
};

const describes = ({ items, properties }: Schema, value: unknown): boolean => {
  if (Array.isArray(value)) return items !== undefined;
  return isObject(value) && properties !== undefined && Object.keys(value).every((name) => name in properties);
};

/** The fields of every object in a value, outer fields first. */
const fieldsIn = (
  schema: Schema,
  value: unknown,
  document: OpenApi,
  path: Path = [],
): readonly Omit<Field, 'place'>[] => {
  const variant = variantsOf(schema, document).find((one) => describes(one, value));
  if (variant === undefined) return [];
  if (Array.isArray(value))
    return value.flatMap((item, index) => fieldsIn(variant.items ?? {}, item, document, [...path, index]));
  const given = value as Readonly<Record<string, unknown>>;
  return Object.entries(variant.properties ?? {}).flatMap(([name, inner]) => [
    {
      path: [...path, name],
      documented: variant.required?.includes(name) ?? false,
      isSent: Object.hasOwn(given, name),
    },
    ...fieldsIn(inner, given[name], document, [...path, name]),
  ]);
};

export interface SentRequest {
  readonly body: unknown;
  readonly query: Readonly<Record<string, string>>;
}

/** The fields of an accepted request. A body that is not JSON has none. */
export const fieldsOf = (
  { operation }: LocatedSchema,
  { body, query }: SentRequest,
  document: OpenApi,
): readonly Field[] => {
  const { schema } = operation.requestBody?.content['application/json'] ?? {};
  const parameters = operation.parameters.filter((one) => one.in === 'query');
  return [
    ...fieldsIn(schema ?? {}, schema && (body ?? {}), document).map((field) => ({ place: 'body' as const, ...field })),
    ...parameters.map(({ name, required }) => ({
      place: 'query' as const,
      path: [name],
      documented: required === true,
      isSent: query[name] !== undefined,
    })),
  ];
};

/** A field that no operation has. With it the service reports all problems of a request and does nothing. */
const UNKNOWN = 'no_such_field';

/** The value with an unknown field in place of the one at the path. */
const replaced = (value: unknown, [first, ...rest]: Path, unknown: unknown): unknown => {
  if (Array.isArray(value)) return value.map((item, index) => (index === first ? replaced(item, rest, unknown) : item));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => {
    if (name !== first) return [name, inner];
    return rest.length === 0 ? [UNKNOWN, unknown] : [name, replaced(inner, rest, unknown)];
  });
  return Object.fromEntries(entries);
};

/** The request without a field. It is refused in any case, so that it changes nothing. */
export const requestWithout = ({ body, query }: SentRequest, { place, path }: Field): SentRequest =>
  place === 'body'
    ? { body: replaced(body, path, 1), query }
    : { body, query: replaced(query, path, '1') as SentRequest['query'] };

const pathText = (path: Path): string =>
  path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');

export const fieldName = ({ place, path }: Field): string =>
  (place === 'query' ? '?' : '') + pathText(path).replaceAll(/\[\d+\]/g, '[]');

interface ErrorBody {
  readonly error?: { readonly details?: Readonly<Record<string, readonly string[]>> };
}

/** True if the response names the field as missing. @throws if it does not name the unknown field. */
export const isMissing = (text: string, { path }: Field): boolean => {
  const { error } = JSON.parse(text) as ErrorBody;
  const sentences = Object.values(error?.details ?? {}).flat();
  const unknown = pathText([...path.slice(0, -1), UNKNOWN]);
  if (!sentences.some((one) => one.startsWith(`${unknown} is not a known`)))
    throw new Error(`the response does not list the problems of the fields: ${text}`);
  return sentences.includes(`${pathText(path)} is required`);
};

/**
 * Fields that the document describes wrongly. A field is optional if one accepted request can do without it: `html`
 * is missing only where `text` and `template` are absent too.
 */
export const differences = (comparisons: readonly Comparison[]): readonly string[] =>
  [...Map.groupBy(comparisons, ({ operationId, field }) => `${operationId}: ${field}`)].flatMap(([name, seen]) => {
    const isDocumented = seen.some(({ documented }) => documented);
    const isEnforced = seen.every(({ enforced }) => enforced);
    if (isDocumented === isEnforced) return [];
    return [`${name} is ${isDocumented ? 'required' : 'optional'} in the document, but not in the service`];
  });
