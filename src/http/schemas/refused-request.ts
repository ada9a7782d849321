import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '../../domain/kernel/errors.ts';
import { timeSchema } from './envelope.ts';

const codes = Object.keys(ERROR_CATALOGUE) as readonly ErrorCode[]; // the keys of that very object

const place = (what: string) => z.number().int().nullable().describe(what);

const problemSchema = z.strictObject({
  field: z.string().describe('Field name, as in `details` of the error.'),
  sentence: z.string(),
  pointer: z
    .string()
    .nullable()
    .describe('JSON Pointer (RFC 6901) to the field, or to the object that lacks it; null: not in the body.'),
  line: place('Line in the body as sent, from 1; null: not in the body, or too far into it to be located.'),
  column: place('Column in that line, from 1, in UTF-16 code units.'),
  start: place('Offset in `body.text` where it starts; null: it is not shown.'),
  end: place('Offset in `body.text` where it ends.'),
});

const principal = {
  key_id: z.string().nullable().describe('API key that sent the request; null: not an API key.'),
  member_id: z.string().nullable().describe('Member who sent the request; null: not a member.'),
  auditor_id: z.string().nullable().describe('Auditor who sent the request; null: not an auditor.'),
};

export const refusedRequestSchema = z
  .strictObject({
    id: z.string().describe('The `X-Request-Id` of the answer.'),
    object: z.literal('refused_request'),
    at: timeSchema(),
    ...principal,
    method: z.string(),
    route: z.string().nullable().describe('Documented route, such as `/v1/messages/:id`; null: unknown path.'),
    path: z
      .string()
      .describe('Requested path, without the query. Segments that may be more than an id or a word are `***`.'),
    status: z.number().int(),
    code: z.enum(codes),
    message: z.string(),
    problems: z
      .array(problemSchema)
      .describe('The first 20 of the error’s `details`, or the place where the JSON becomes invalid.'),
    client_address: z
      .string()
      .nullable()
      .describe('IP address of the request; shown to the key that sent it and to live keys with `admin`.'),
    user_agent: z.string().nullable(),
    duration_ms: z.number().int(),
    count: z
      .number()
      .int()
      .describe(
        'Number of requests that this entry represents. Above 1 for requests over a rate or concurrency limit, which are ' +
          'counted per minute.',
      ),
  })
  .meta({ id: 'RequestRefusal' });

export const shownRefusedRequestSchema = refusedRequestSchema
  .extend({
    meaning: z.string().describe('General meaning of the code.'),
    remedy: z.string().describe('How to fix it.'),
    body: z
      .strictObject({
        text: z
          .string()
          .describe(
            'At most 4 kB. It shows names, numbers and words of the API. All other text is replaced by `***` and its length, ' +
              'and addresses by `***` and their domain.',
          ),
        formatted: z.boolean().describe('True if the body was sent on one line and is shown on several.'),
        cut: z.boolean().describe('True if the body was longer.'),
      })
      .nullable()
      .describe('null: the request had no body, it was not stored, or the requesting member’s role may not see it.'),
  })
  .meta({ id: 'ShownRequestRefusal' });

export type SerializedRefusedRequest = z.infer<typeof refusedRequestSchema>;
export type ShownRefusedRequest = z.infer<typeof shownRefusedRequestSchema>;

export const refusedRequestCountsSchema = z
  .strictObject({
    object: z.literal('refused_request_counts'),
    total: z.number().int(),
    codes: z.array(z.strictObject({ code: z.enum(codes), status: z.number().int(), count: z.number().int() })),
    principals: z.array(z.strictObject({ ...principal, count: z.number().int() })),
  })
  .meta({ id: 'RequestRefusalCounts' });
export type SerializedRefusedRequestCounts = z.infer<typeof refusedRequestCountsSchema>;
