import { z } from 'zod';
import { idPattern } from '../../domain/kernel/ids.ts';
import type { Json, Operation } from '../endpoint.ts';
import { errorSchema, pageSchema } from '../fields.ts';
import type { eventSchema } from '../resources/events/event.ts';

/** JSON Schemas of bodies and parameters; each named schema and each body appears once. */
export interface Schemas {
  /** `#/components/schemas`. */
  readonly components: Json;
  readonly body: (operation: Operation) => Json;
  readonly query: (operation: Operation) => Json;
  readonly answer: (operation: Operation) => Json;
  readonly error: Json;
  /** Schema of HTML error pages. */
  readonly page: Json;
}

/** Use of a schema. Parameters and responses keep the keyword `default`. */
type Purpose = 'body' | 'parameters' | 'answer';

const DEFINITION = '#/$defs/';
const COMPONENT = '#/components/schemas/';
/** Root of error bodies. */
const ERROR = 'error';
/** Root of pages. */
const PAGE = 'page';

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

interface Converting {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** Times in responses are in UTC with milliseconds; `format` defines the rest. */
const TIME = '\\.\\d{3}Z$';

/** Position in a union that is read as its first variant: a list can say all that one text says. */
const PLACES: Readonly<Record<string, number>> = { array: 0, string: 1, null: 2 };
const placeOf = ({ type }: Json): number => PLACES[String(type)] ?? 0;

/** True if the first variant says all that the union says, except that it is null. */
const isFirst = (variants: readonly Json[]): boolean =>
  variants.every(({ type }) => type === 'array' || type === 'string' || type === 'null') ||
  variants.filter(({ type }) => type !== 'null').length === 1;

/**
 * Variants of a union exclude each other, so `anyOf` and `oneOf` mean the same. They differ for NSwag: it takes the first
 * variant of `oneOf` for the whole union, and makes an object of `anyOf`. A union has no discriminator either: for NSwag its
 * variants would have to be subtypes. Each has a `type` of its own, by which TypeScript tells them apart.
 */
const unite = ({ jsonSchema }: Converting): void => {
  const { anyOf = [], oneOf = anyOf } = jsonSchema as {
    readonly anyOf?: readonly Json[];
    readonly oneOf?: readonly Json[];
  };
  if (oneOf.length === 0) return;
  delete jsonSchema.anyOf;
  delete jsonSchema.oneOf;
  const sorted = oneOf.toSorted((one, other) => placeOf(one) - placeOf(other));
  Object.assign(jsonSchema, isFirst(sorted) ? { oneOf: sorted } : { anyOf: oneOf });
};

/** Removes noise: bounds of the number type, calendars as regular expressions. */
const plain = (converting: Converting): void => {
  unite(converting);
  const { jsonSchema } = converting;
  if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};

/** True if an object without the field is invalid. */
const isRequired = (name: string, field: z.core.$ZodType): boolean =>
  !z.object({ [name]: field }).safeParse({}).success;

/**
 * Takes `required` from what the schema enforces. Zod takes it from the declaration, where a field that passes through
 * `preprocess` and then `transform` looks optional.
 */
const enforced = (converting: Converting): void => {
  plain(converting);
  const { zodSchema, jsonSchema } = converting;
  if (!(zodSchema instanceof z.ZodObject)) return;
  const required = Object.entries(zodSchema.shape).filter(([name, field]) => isRequired(name, field));
  if (required.length === 0) delete jsonSchema.required;
  else jsonSchema.required = required.map(([name]) => name);
};

/**
 * A field with a default is optional, but client generators (openapi-typescript) treat the keyword `default` as
 * required. So the default goes into the description.
 */
const asked = (converting: Converting): void => {
  enforced(converting);
  const { jsonSchema } = converting;
  if (jsonSchema.default === undefined) return;
  const words = `Default: \`${JSON.stringify(jsonSchema.default)}\`.`;
  jsonSchema.description = jsonSchema.description === undefined ? words : `${jsonSchema.description} ${words}`;
  delete jsonSchema.default;
};

/** Responses gain fields within a version: a client must accept unknown ones. */
const open = (converting: Converting): void => {
  plain(converting);
  if (converting.jsonSchema.format === 'date-time') converting.jsonSchema.pattern = TIME;
  if (converting.jsonSchema.additionalProperties === false) delete converting.jsonSchema.additionalProperties;
};

const OVERRIDES = { body: asked, parameters: enforced, answer: open } as const;

interface ConvertedSchemas {
  readonly roots: Readonly<Record<string, Json>>;
  readonly named: Readonly<Record<string, Json>>;
}

const convert = (schemas: Readonly<Record<string, z.ZodType>>, purpose: Purpose): ConvertedSchemas => {
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

/** Rewrites references to the names that `nameOf` gives. */
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

/** Named schemas, and roots that are not a mere reference. */
const componentsOf = ({ roots, named }: ConvertedSchemas, nameOf: (name: string) => string): Json =>
  Object.fromEntries([
    ...Object.entries(named).map(([name, schema]) => [nameOf(name), relinked(schema, nameOf)]),
    ...Object.entries(roots)
      .filter(([, schema]) => !isReference(schema))
      .map(([name, schema]) => [name, relinked(schema, nameOf)]),
  ]);

/** Reference to a root, or to its target. */
const linkTo = ({ roots }: ConvertedSchemas, name: string, nameOf: (name: string) => string): Json => {
  const root = roots[name] ?? {};
  return isReference(root) ? (relinked(root, nameOf) as Json) : { $ref: COMPONENT + name };
};

/** Converts the schemas of all operations together, so that each name appears once. */
export const schemasOf = (operations: readonly Operation[]): Schemas => {
  const bodies = convert(
    byId(operations, 'Request', ({ body }) => body),
    'body',
  );
  const queries = convert(
    byId(operations, 'Query', ({ query }) => query),
    'parameters',
  );
  const answers = convert(
    { ...byId(operations, 'Answer', ({ answer }) => answer), [ERROR]: errorSchema, [PAGE]: pageSchema },
    'answer',
  );
  const same = (name: string): string => name;
  // A schema that differs between requests and responses becomes two.
  const differs = (name: string): boolean =>
    name in answers.named && JSON.stringify(answers.named[name]) !== JSON.stringify(bodies.named[name]);
  const askedName = (name: string): string => (differs(name) ? `${name}Input` : name);
  return {
    components: { ...componentsOf(bodies, askedName), ...componentsOf(answers, same) },
    body: ({ operationId }) => linkTo(bodies, `${capitalized(operationId)}Request`, askedName),
    query: ({ operationId }) => relinked(queries.roots[`${capitalized(operationId)}Query`] ?? {}, same) as Json,
    answer: ({ operationId }) => linkTo(answers, `${capitalized(operationId)}Answer`, same),
    error: linkTo(answers, ERROR, same),
    page: linkTo(answers, PAGE, same),
  };
};

const DESCRIPTION = `Your endpoint receives one event in each post (Standard Webhooks 1.0.0). Answer with any 2xx within 15 seconds.
Redirects are not followed. After any other answer, or none, the event is posted again after 5 seconds, 1, 5 and 30
minutes, 2, 5, 10, 14, 20 and 24 hours (each ±10 %, or later if \`Retry-After\` asks for it), with the same \`webhook-id\`.
Then the delivery has failed. A webhook that answers 410, or has failed for 5 days, is disabled.

Events are posted at least once, in any order. Process each \`id\` only once. To order the events of a message, use
\`sequence\`, which rises by one.

Verify the signature before you trust a post. \`webhook-signature\` contains one or more values \`v1,<Base64>\`, separated by
spaces. One of them must be the HMAC-SHA256 of \`<webhook-id>.<webhook-timestamp>.<body as received>\`. The key is the
secret without \`whsec_\`, decoded from Base64. Reject timestamps that are more than 5 minutes off.`;

export const EVENT_EXAMPLE: z.input<typeof eventSchema> = {
  id: 'evt_mzuq4z5cw2kv2x6ftf2q5l6k7e',
  object: 'event',
  type: 'message.delivered',
  timestamp: '2026-01-31T12:00:00.000Z',
  environment: 'live',
  sequence: 3,
  data: {
    message_id: 'msg_ta3kqv6yq5c2n4xw7jd5rzu2fe',
    recipient: { id: 'rcp_b5x4w2q6mzn3kd7cfeu2ya5h4i', address: 'you@example.net', kind: 'to' },
    tags: [{ name: 'order', value: '1234' }],
    metadata: { customer: '42' },
    smtp: {
      code: 250,
      enhanced: '2.0.0',
      text: 'Ok: queued as 4F2Kx',
      mx: 'mx.example.net',
      tls: 'TLSv1.3',
      cipher: 'TLS_AES_256_GCM_SHA384',
      policy: 'opportunistic',
      address: '192.0.2.25',
      stage: 'content',
    },
    attempt: 1,
  },
};

const header = (name: string, description: string, pattern: string, required = true): Json => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string', pattern },
});

const answer = (description: string): Json => ({ description, headers: {} });

/** Requests to customers' servers (OpenAPI 3.1.0 §4.8.1). */
export const WEBHOOKS: Json = {
  event: {
    post: {
      operationId: 'postEvent',
      summary: 'Receive an event',
      description: DESCRIPTION,
      tags: ['webhooks'],
      security: [],
      parameters: [
        header('webhook-id', 'Id of the event, the same for every attempt.', idPattern('evt')),
        header('webhook-timestamp', 'Time of this attempt, in seconds since 1970.', '^\\d+$'),
        header('webhook-signature', 'One or more signatures, separated by spaces.', '^v1,\\S+( v1,\\S+)*$'),
        header('webhook-replay', 'Id of the replay. Present only in a replay.', idPattern('rpl'), false),
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Event' },
            examples: { delivered: { summary: 'A message was delivered to one recipient', value: EVENT_EXAMPLE } },
          },
        },
      },
      responses: {
        200: answer('Accepted. Any other 2xx works too.'),
        410: answer('Gone: disables the webhook.'),
        503: answer('Try again later, after `Retry-After` if present. The same applies to any other answer, or none.'),
      },
    },
  },
};
