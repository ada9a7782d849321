import { z } from 'zod';

/** The objects of OpenAPI 3.1.0 §4.8 that we use. Fields that the specification does not define are rejected. */
const named = <T extends z.ZodType>(value: T) => z.record(z.string().regex(/^[\w.-]+$/), value);
const text = z.string().min(1);
const schema = z.looseObject({});

const reference = z.strictObject({ $ref: z.string().startsWith('#/components/') });

const header = z.strictObject({ description: text, required: z.boolean().optional(), schema });

const example = z.strictObject({ summary: text, value: z.unknown() });

const plainText = z.strictObject({ type: z.literal('string') });

const mediaType = z.strictObject({
  schema: z.union([reference, plainText]),
  examples: named(example).optional(),
  example: z.unknown().optional(),
});

const content = z.record(z.string().regex(/^\w+\/[\w.+-]+$/), mediaType);

const response = z.strictObject({
  description: text,
  headers: z.record(z.string(), z.union([reference, header])),
  content: content.optional(),
  'x-error-codes': z.array(text).min(1).optional(),
});

const parameter = z.discriminatedUnion('in', [
  z.strictObject({
    name: text,
    in: z.literal('path'),
    required: z.literal(true),
    description: text,
    schema,
    example: z.unknown().optional(),
  }),
  z.strictObject({
    name: text,
    in: z.enum(['query', 'header']),
    required: z.boolean().optional(),
    description: text.optional(),
    schema,
    example: z.unknown().optional(),
  }),
]);

const securityRequirement = z.strictObject({ apiKey: z.array(text) });

const operation = z.strictObject({
  operationId: text,
  summary: text,
  description: text,
  tags: z.array(text).length(1),
  security: z.array(securityRequirement),
  parameters: z.array(parameter).min(1).optional(),
  requestBody: z.strictObject({ required: z.boolean(), content }).optional(),
  responses: z.record(z.string().regex(/^[1-5]\d\d$/), z.union([reference, response])),
  'x-permission': text.optional(),
  'x-environments': z.array(text).optional(),
  'x-rate-limit': text.optional(),
});

export const strictOpenApi = z.strictObject({
  openapi: z.literal('3.1.0'),
  info: z.strictObject({
    title: text,
    version: text,
    summary: text,
    description: text,
    contact: z.strictObject({ name: text, url: z.url() }),
    license: z.strictObject({ name: text, url: z.url() }),
  }),
  servers: z.array(z.strictObject({ url: z.url(), description: text })).length(1),
  tags: z.array(z.strictObject({ name: text, description: text })),
  'x-tagGroups': z.array(z.strictObject({ name: text, tags: z.array(text).min(1) })),
  security: z.array(securityRequirement),
  paths: z.record(
    z.string().startsWith('/'),
    z.strictObject({
      get: operation.optional(),
      put: operation.optional(),
      post: operation.optional(),
      patch: operation.optional(),
      delete: operation.optional(),
    }),
  ),
  'x-elsewhere': z.record(z.string().regex(/^4\d\d$/), response),
  webhooks: named(z.strictObject({ post: operation })),
  components: z.strictObject({
    schemas: named(schema),
    headers: named(header),
    responses: named(response),
    securitySchemes: named(
      z.strictObject({ type: z.literal('http'), scheme: text, bearerFormat: text, description: text }),
    ),
  }),
});
