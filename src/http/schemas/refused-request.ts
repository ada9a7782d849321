import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '../../domain/error-catalogue.ts';
import { timeSchema } from './envelope.ts';

const codes = Object.keys(ERROR_CATALOGUE) as readonly ErrorCode[]; // the keys of that very object

const place = (what: string) => z.number().int().nullable().describe(what);

const problemSchema = z.strictObject({
  field: z.string().describe('As in `details` of the error.'),
  sentence: z.string(),
  pointer: z
    .string()
    .nullable()
    .describe('Where the field is in the body (RFC 6901), or what it is missing in; null: it is not there.'),
  line: place('Of the body as it was sent, from 1; null: it is not there, or too far behind to be looked for.'),
  column: place('In that line, from 1, in UTF-16 code units.'),
  start: place('Offset in `body.text` at which it is shown; null: it is not shown.'),
  end: place('Offset after it.'),
});

const principal = {
  key_id: z.string().nullable().describe('The API key that asked; null: it was no key.'),
  member_id: z.string().nullable().describe('The member that asked; null: it was no member.'),
  auditor_id: z.string().nullable().describe('The auditor that asked; null: it was no auditor.'),
};

export const refusedRequestSchema = z
  .strictObject({
    id: z.string().describe('The `X-Request-Id` of the answer.'),
    object: z.literal('refused_request'),
    at: timeSchema(),
    ...principal,
    method: z.string(),
    route: z.string().nullable().describe('As documented, `/v1/messages/:id`; null: there is no such path.'),
    path: z.string().describe('As asked for, without the query. What may be more than an id or a word is `***`.'),
    status: z.number().int(),
    code: z.enum(codes),
    message: z.string(),
    problems: z.array(problemSchema).describe('The first 20 of the error’s `details`, and where JSON ends being JSON.'),
    client_address: z
      .string()
      .nullable()
      .describe('Where the request came from; shown to the key that sent it and to live keys with `admin`.'),
    user_agent: z.string().nullable(),
    duration_ms: z.number().int(),
    count: z
      .number()
      .int()
      .describe(
        'Requests that this one stands for: above 1 for those over a rate limit or too many at once, which are counted by ' +
          'the minute.',
      ),
  })
  .meta({ id: 'RequestRefusal' });

export const shownRefusedRequestSchema = refusedRequestSchema
  .extend({
    meaning: z.string().describe('What the code means, whatever the request.'),
    remedy: z.string().describe('What to do about it.'),
    body: z
      .strictObject({
        text: z
          .string()
          .describe(
            'At most 4 kB. Names, numbers and words of the API; every other text is `***` with its length, and addresses ' +
              'are `***` with their domain.',
          ),
        formatted: z.boolean().describe('It was sent in one line, and is shown in many.'),
        cut: z.boolean().describe('There was more.'),
      })
      .nullable()
      .describe('null: there was none, it was not kept, or it is not shown to the role of the member who asks.'),
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
