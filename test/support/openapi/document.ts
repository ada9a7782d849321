import { z } from 'zod';

const header = z.looseObject({ required: z.boolean().optional(), schema: z.looseObject({}) });
const headerOrReference = z.union([z.strictObject({ $ref: z.string() }), header]);
const response = z.looseObject({
  headers: z.record(z.string(), headerOrReference),
  content: z
    .record(z.string(), z.looseObject({ schema: z.looseObject({}), example: z.unknown().optional() }))
    .optional(),
  'x-error-codes': z.array(z.string()).optional(),
});
const described = z.union([z.strictObject({ $ref: z.string() }), response]);
const parameter = z.looseObject({
  name: z.string(),
  in: z.string(),
  schema: z.looseObject({}),
  example: z.unknown().optional(),
});
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

/** Parses the parts of an OpenAPI document that tests read. @throws if it is not an OpenAPI document. */
export const readOpenApi = (source: unknown): OpenApi => documentSchema.parse(source);

/** The last part of a reference, which names its target. */
export const nameIn = (reference: string): string => reference.split('/').at(-1) ?? '';

/** An operation with its path and method. */
export interface LocatedSchema {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

export const operationsOf = ({ paths }: OpenApi): readonly LocatedSchema[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, one]) => ({ method: method.toUpperCase(), path, operation: one })),
  );
