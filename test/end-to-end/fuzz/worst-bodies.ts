import { type LocatedSchema, nameIn, type OpenApi } from '../../support/openapi/document.ts';

/**
 * The most expensive values for every field of every body in the document: as many repetitions of one element as the
 * body can hold.
 */
export interface WorstBody {
  readonly method: string;
  readonly path: string;
  /** A description such as `to: a list of wrong texts, 60000 bytes`. */
  readonly what: string;
  make(): string;
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly type?: string;
}

type Path = readonly (string | number)[];

const alternativesOf = ({ anyOf = [], oneOf = [] }: Schema): readonly Schema[] => [...anyOf, ...oneOf];

const resolved = (document: OpenApi, schema: Schema): Schema =>
  schema.$ref === undefined ? schema : resolved(document, document.components.schemas[nameIn(schema.$ref)] ?? {});

/** JSON types that a schema allows. */
const typesOf = (document: OpenApi, schema: Schema): readonly string[] => {
  const { type, ...rest } = resolved(document, schema);
  return type === undefined ? alternativesOf(rest).flatMap((one) => typesOf(document, one)) : [type];
};

/** Type of JSON text. */
const typeOf = (value: string): string => {
  if (value.startsWith('"')) return 'string';
  return value.startsWith('[') ? 'array' : 'object';
};

/** Paths of all fields, including those of the first item of each list. @param seen schemas that have been visited. */
const fieldsOf = (document: OpenApi, schema: Schema, seen: Set<string>, path: Path = []): readonly Path[] => {
  const into = (inner: Schema, at: Path): readonly Path[] => fieldsOf(document, inner, seen, at);
  if (schema.$ref !== undefined) {
    const name = nameIn(schema.$ref);
    if (seen.has(name)) return [];
    seen.add(name);
    return into(document.components.schemas[name] ?? {}, path);
  }
  return [
    ...(path.length === 0 ? [] : [path]),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => into(member, [...path, name])),
    ...(schema.items === undefined ? [] : into(schema.items, [...path, 0])),
    ...alternativesOf(schema)
      .flatMap((one) => into(one, path))
      .filter((one) => one.length > path.length),
  ];
};

/** Generates JSON text of about this many bytes. */
type Make = (bytes: number) => string;

const text =
  (unit: string): Make =>
  (bytes) =>
    `"${unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)))}"`;

const listOf =
  (make: (index: number) => string): Make =>
  (bytes) => {
    const items: string[] = [];
    for (let length = 0, index = 0; length < bytes; index += 1) {
      const item = make(index);
      items.push(item);
      length += item.length + 1;
    }
    return `[${items.join()}]`;
  };

const mapOf =
  (make: (index: number) => string): Make =>
  (bytes) =>
    `{${listOf(make)(bytes).slice(1, -1)}}`;

/** A thousand items, which is the maximum that is accepted. */
const first = (make: (index: number) => string, open: string, close: string): Make => {
  const items = Array.from({ length: 1_000 }, (_, index) => make(index)).join();
  return () => `${open}${items}${close}`;
};

const nested =
  (open: string, close: string): Make =>
  (bytes) => {
    const depth = Math.floor(bytes / (open.length + close.length));
    return `${open.repeat(depth)}1${close.repeat(depth)}`;
  };

const lists = Array.from({ length: 900 }, () => `[${'1,'.repeat(900)}1]`).join();

/** Values that fill a body. */
const FILLING: Readonly<Record<string, Make>> = {
  'a long text': text('a'),
  'a text of escapes': text('\\u0000'),
  'a text of backslashes': text('\\\\'),
  'a text of three bytes a character': text('€'),
  'a text of pairs': text('💥'),
  'an address list in a text': text('a@b.test,'),
  'a text of dots': text('a.'),
  'a text of commas and brackets': text('<a@'),
  'a text of line breaks': text('\\r\\n'),
  'a text of spaces': text(' '),
  'a text of tags': text('<b>'),
  'a text of base64 but for its end': (bytes) => `"${'QUJD'.repeat(Math.floor(bytes / 4))}****"`,
  'many wrong texts': listOf(() => '"@"'),
  'many addresses': listOf((index) => `"a${index}@example.test"`),
  'many empty objects': listOf(() => '{}'),
  'many numbers': listOf(() => '1'),
  'many keys': mapOf((index) => `"X-${index}":"x"`),
  'many long keys': mapOf((index) => `"${index}${'k'.repeat(1_900)}":1`),
  'many equal keys': mapOf(() => '"x":1'),
  'many keys that differ in case': mapOf((index) => `"${(index % 2 === 0 ? 'x' : 'X').repeat(1 + (index % 400))}":"x"`),
  'deep lists': nested('[', ']'),
  'deep objects': nested('{"a":', '}'),
};

/** Values of the same size in every body. */
const THOUSAND: Readonly<Record<string, Make>> = {
  'a thousand wrong texts': first(() => '"@"', '[', ']'),
  'a thousand addresses': first((index) => `"Name <a${index}@example.test>"`, '[', ']'),
  'a thousand equal objects': first(
    () => '{"filename":"a","content":"","content_id":"same","name":"a","value":"b"}',
    '[',
    ']',
  ),
  'a thousand unknown objects': first((index) => `{"${'k'.repeat(100)}${index}":1}`, '[', ']'),
  'a thousand keys': first((index) => `"X-${index}":"\\u0000"`, '{', '}'),
  'a thousand lists': () => `[${lists}]`,
};

const WORST = { ...FILLING, ...THOUSAND };

/** The example as JSON with a value at one path. The value is JSON text already. */
const put = (example: unknown, path: Path, value: string): string => {
  const marker = 'put-here-what-is-worst';
  const copy = structuredClone(example) as Record<string | number, unknown>;
  let holder = copy;
  for (const [index, step] of path.slice(0, -1).entries()) {
    if (typeof holder[step] !== 'object' || holder[step] === null)
      holder[step] = typeof path[index + 1] === 'number' ? [] : {};
    holder = holder[step] as Record<string | number, unknown>;
  }
  holder[path.at(-1) ?? ''] = marker;
  // A replacer function is needed because the value may contain `$`.
  return JSON.stringify(copy).replace(`"${marker}"`, () => value);
};

/** Most routes accept 64 kB. */
const SMALL_BYTES = 60_000;
/** Routes that accept more, filled almost to the limit. For sends this is the limit without attachments. */
const LARGER: Readonly<Record<string, number>> = {
  '/v1/messages/send': 7_800_000,
  '/v1/messages/batch': 7_800_000,
  '/v1/suppressions': 490_000,
  '/v1/suppressions/import': 990_000,
};
const ID = 'msg_aaaaaaaaaaaaaaaaaaaaaaaaaa';

/** @param fieldsFor selects the fields that get a value. */
const bodiesOf = (
  example: unknown,
  { kinds, bytes }: { readonly kinds: typeof WORST; readonly bytes: number },
  fieldsFor: (value: string) => readonly Path[],
) =>
  Object.entries(kinds).flatMap(([kind, make]) => {
    const value = make(bytes);
    const named = `${kind}, ${bytes} bytes`;
    return [
      ...fieldsFor(value).map((field) => ({
        what: `${field.join('.')}: ${named}`,
        make: () => put(example, field, value),
      })),
      { what: `the body: ${named}`, make: () => value },
    ];
  });

/**
 * Whether a field gets a value that fills a large body: one of its type, or any if it allows no text, list or object.
 * Values of another type are refused before they are read, which the small bodies and these last fields show.
 */
const takes = (document: OpenApi, schema: Schema | undefined, value: string): boolean => {
  const filled = typesOf(document, schema ?? {}).filter((type) => ['string', 'array', 'object'].includes(type));
  return filled.length === 0 || filled.includes(typeOf(value));
};

/** @param seen schemas that were tested with another operation. New ones are added. */
export const worstBodies = (
  document: OpenApi,
  { method, path, operation }: LocatedSchema,
  seen: Set<string>,
): readonly WorstBody[] => {
  const content = operation.requestBody?.content['application/json'];
  if (content === undefined) return [];
  const example = Object.values(content.examples)[0]?.value ?? {};
  const schema = content.schema as Schema;
  const found = [...fieldsOf(document, schema, seen), ['unknown']];
  const fields = [...new Map(found.map((field) => [field.join('.'), field])).values()];
  const larger = LARGER[path];
  const { properties } = resolved(document, schema);
  const small = bodiesOf(example, { kinds: WORST, bytes: SMALL_BYTES }, () => fields);
  const large =
    larger === undefined
      ? []
      : bodiesOf(example, { kinds: FILLING, bytes: larger }, (value) =>
          fields.filter(([name = '', ...inner]) => inner.length === 0 && takes(document, properties?.[name], value)),
        );
  return [...small, ...large].map((body) => ({ method, path: path.replace(/\{[^}]*\}/g, ID), ...body }));
};
