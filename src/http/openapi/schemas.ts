import { z } from 'zod';
import { errorSchema } from '../schemas/envelope.ts';
import type { Json, Operation } from './operation.ts';

/** JSON Schemas of bodies and parameters, with whatever has a name or is a body told once. */
export interface Schemas {
  /** What `#/components/schemas` holds. */
  readonly components: Json;
  readonly body: (operation: Operation) => Json;
  readonly query: (operation: Operation) => Json;
  readonly answer: (operation: Operation) => Json;
  readonly error: Json;
}

/** What a schema is for; those of parameters and of answers keep their defaults as a word. */
type Purpose = 'body' | 'parameters' | 'answer';

const DEFINITION = '#/$defs/';
const COMPONENT = '#/components/schemas/';
/** The root that stands for every refusal. */
const ERROR = 'error';

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

interface Variant {
  readonly properties?: { readonly type?: { readonly enum?: readonly string[] } };
}

interface Converting {
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** What we write is ISO 8601 in UTC with milliseconds; `format` says what the digits may be. */
const TIME = '\\.\\d{3}Z$';

/** What a reader of the document is better off without: bounds of the number type, calendars as regular expressions. */
const plain = ({ jsonSchema }: Converting): void => {
  if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};

/**
 * A field with a default may be left out; generators of clients (openapi-typescript) take the word `default` for the
 * opposite. So what it is stands in words.
 */
const asked = (converting: Converting): void => {
  plain(converting);
  const { jsonSchema } = converting;
  if (jsonSchema.default === undefined) return;
  const told = `Default: \`${JSON.stringify(jsonSchema.default)}\`.`;
  jsonSchema.description = jsonSchema.description === undefined ? told : `${jsonSchema.description} ${told}`;
  delete jsonSchema.default;
};

/** Fields are added to answers within a version: a client that refuses what it does not know would break. */
const open = (converting: Converting): void => {
  plain(converting);
  if (converting.jsonSchema.format === 'date-time') converting.jsonSchema.pattern = TIME;
  if (converting.jsonSchema.additionalProperties === false) delete converting.jsonSchema.additionalProperties;
};

const OVERRIDES = { body: asked, parameters: plain, answer: open } as const;

interface Converted {
  readonly roots: Readonly<Record<string, Json>>;
  readonly named: Readonly<Record<string, Json>>;
}

const convert = (schemas: Readonly<Record<string, z.ZodType>>, purpose: Purpose): Converted => {
  const all = z.toJSONSchema(z.object(schemas), {
    io: purpose === 'answer' ? 'output' : 'input',
    unrepresentable: 'any',
    override: OVERRIDES[purpose],
  }) as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly $defs?: Readonly<Record<string, Json>>;
  };
  return { roots: all.properties ?? {}, named: all.$defs ?? {} };
};

/** The same with its references led to where `nameOf` puts their targets. */
const relinked = (value: unknown, nameOf: (name: string) => string): unknown =>
  JSON.parse(JSON.stringify(value), (key, one) =>
    key === '$ref' && typeof one === 'string' ? COMPONENT + nameOf(one.slice(DEFINITION.length)) : one,
  );

const isReference = (schema: Json): boolean => '$ref' in schema;

const byId = (
  operations: readonly Operation[],
  suffix: string,
  of: (one: Operation) => z.ZodType | undefined,
): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(
    operations.flatMap((one) => {
      const schema = of(one);
      return schema === undefined ? [] : [[capitalized(one.operationId) + suffix, schema]];
    }),
  );

/** A union of objects that each name their types: generators make a type for each, told apart by it. */
const told = (schema: Json, components: Json): Json => {
  const variants = (schema.oneOf ?? []) as readonly { readonly $ref?: string }[];
  const mapping = variants.flatMap(({ $ref = '' }) => {
    const variant = components[$ref.slice(COMPONENT.length)] as Variant | undefined;
    return (variant?.properties?.type?.enum ?? []).map((type) => [type, $ref] as const);
  });
  if (mapping.length === 0) return schema;
  return { ...schema, discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) } };
};

/** Named schemas under their names, and roots that are no mere reference under their own. */
const componentsOf = ({ roots, named }: Converted, nameOf: (name: string) => string): Json =>
  Object.fromEntries([
    ...Object.entries(named).map(([name, schema]) => [nameOf(name), relinked(schema, nameOf)]),
    ...Object.entries(roots)
      .filter(([, schema]) => !isReference(schema))
      .map(([name, schema]) => [name, relinked(schema, nameOf)]),
  ]);

const withDiscriminators = (components: Json): Json =>
  Object.fromEntries(Object.entries(components).map(([name, schema]) => [name, told(schema as Json, components)]));

/** A reference to a root, or to what it refers to. */
const linkTo = ({ roots }: Converted, name: string, nameOf: (name: string) => string): Json => {
  const root = roots[name] ?? {};
  return isReference(root) ? (relinked(root, nameOf) as Json) : { $ref: COMPONENT + name };
};

/** All schemas of the operations at once, so that each name is there once. */
export const schemasOf = (operations: readonly Operation[]): Schemas => {
  const bodies = convert(
    byId(operations, 'Request', ({ body }) => body),
    'body',
  );
  const queries = convert(
    byId(operations, 'Query', ({ query }) => query),
    'parameters',
  );
  const answers = convert({ ...byId(operations, 'Answer', ({ answer }) => answer), [ERROR]: errorSchema }, 'answer');
  const same = (name: string): string => name;
  // What is asked for may leave out what is answered always: such a schema is two.
  const differs = (name: string): boolean =>
    name in answers.named && JSON.stringify(answers.named[name]) !== JSON.stringify(bodies.named[name]);
  const askedName = (name: string): string => (differs(name) ? `${name}Input` : name);
  return {
    components: withDiscriminators({ ...componentsOf(bodies, askedName), ...componentsOf(answers, same) }),
    body: ({ operationId }) => linkTo(bodies, `${capitalized(operationId)}Request`, askedName),
    query: ({ operationId }) => relinked(queries.roots[`${capitalized(operationId)}Query`] ?? {}, same) as Json,
    answer: ({ operationId }) => linkTo(answers, `${capitalized(operationId)}Answer`, same),
    error: linkTo(answers, ERROR, same),
  };
};
