import { z } from 'zod';

const header = z.looseObject({ required: z.boolean().optional(), schema: z.looseObject({}) });
const headerOrReference = z.union([z.strictObject({ $ref: z.string() }), header]);
const response = z.looseObject({
  headers: z.record(z.string(), headerOrReference),
  content: z.record(z.string(), z.looseObject({ schema: z.looseObject({}) })).optional(),
  'x-error-codes': z.array(z.string()).optional(),
});
const described = z.union([z.strictObject({ $ref: z.string() }), response]);
const parameter = z.looseObject({ name: z.string(), in: z.string(), schema: z.looseObject({}) });
const operation = z.looseObject({
  operationId: z.string(),
  tags: z.array(z.string()),
  parameters: z.array(parameter).default([]),
  requestBody: z
    .looseObject({
      content: z.record(
        z.string(),
        z.looseObject({
          schema: z.looseObject({}),
          examples: z.record(z.string(), z.looseObject({ summary: z.string(), value: z.unknown() })).default({}),
        }),
      ),
    })
    .optional(),
  responses: z.record(z.string(), described),
});

const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  'x-elsewhere': z.record(z.string(), response),
  components: z.looseObject({
    schemas: z.record(z.string(), z.looseObject({})),
    responses: z.record(z.string(), response),
    headers: z.record(z.string(), header),
  }),
});

export type OpenApi = z.output<typeof documentSchema>;
export type OpenApiOperation = z.output<typeof operation>;
export type OpenApiResponse = z.output<typeof response>;

/** What tests read of an OpenAPI document. @throws when it is none. */
export const readOpenApi = (source: unknown): OpenApi => documentSchema.parse(source);

/** What a reference leads to, by its last part. */
export const nameIn = (reference: string): string => reference.split('/').at(-1) ?? '';

/** An operation and where it is. */
export interface Located {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

export const operationsOf = ({ paths }: OpenApi): readonly Located[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, one]) => ({ method: method.toUpperCase(), path, operation: one })),
  );
