import { z } from 'zod';
import type { SentMessage } from '../../../commands/message/send-message.ts';
import { type Analysis, FINDINGS_MAX } from '../../../domain/analysis/analysis.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { ExistingMessage } from '../../../domain/message/message.ts';
import type { MessageBody, ToldAnalysis } from '../../../domain/ports/contents.ts';
import { type ErrorAnswer, refusalAnswer } from '../../errors.ts';
import { errorSchema, timeSchema } from '../../fields.ts';
import { findingSchema, messageHeadSchemas, recipientKindSchema } from './message.ts';

const SCORE_MAX = 100;

export const analysisSchema = z
  .strictObject({
    object: z.literal('analysis'),
    score: z.int().min(0).max(SCORE_MAX),
    verdict: z.enum(['pass', 'warn', 'fail']),
    findings: z.array(findingSchema).max(FINDINGS_MAX),
    size_bytes: z.int().min(0),
  })
  .meta({ id: 'Analysis' });

/** Analysis of a rendered template. Findings also point to the place in the template. */
export const templateAnalysisSchema = analysisSchema
  .extend({
    findings: z
      .array(
        findingSchema
          .extend({
            source: z
              .strictObject({ field: z.string(), line: z.int().min(1), column: z.int().min(1) })
              .nullable()
              .describe('Field of the template, such as `html` or `locales.de.html`. null: unknown.'),
          })
          .meta({ id: 'TemplateFinding' }),
      )
      .max(FINDINGS_MAX),
  })
  .meta({ id: 'TemplateAnalysis' });
type SerializedAnalysis = z.infer<typeof analysisSchema>;

/** The analysis in the response to a send that requested one. */
const analysisSummarySchema = analysisSchema.pick({ score: true, verdict: true, findings: true });

const serializeAnalysisSummary = ({
  score,
  verdict,
  findings,
}: ToldAnalysis): z.infer<typeof analysisSummarySchema> => ({
  score,
  verdict,
  findings: findings.map((finding) => ({ ...finding })),
});

export const serializeAnalysis = ({ score, verdict, findings, sizeBytes }: Analysis): SerializedAnalysis => ({
  object: 'analysis',
  score,
  verdict,
  size_bytes: sizeBytes,
  findings: findings.map((finding) => ({ ...finding })),
});

/** Status of a message and its recipients on acceptance. */
const acceptedStatus = z.enum(['accepted', 'scheduled']);

export const sentMessageSchema = z
  .strictObject({
    ...messageHeadSchemas,
    status: acceptedStatus,
    /** Time to send a scheduled message. */
    scheduled_at: timeSchema().optional(),
    recipients: z.array(
      z.strictObject({ id: z.string(), address: z.string(), kind: recipientKindSchema, status: acceptedStatus }),
    ),
    /** If requested. */
    analysis: analysisSummarySchema.optional(),
  })
  .meta({ id: 'SentMessage' });
export type SerializedSentMessage = z.infer<typeof sentMessageSchema>;

/** Response to a send and to each replay of it: the message as it was accepted. */
export const serializeSentMessage = (
  { accepted, environment, acceptedAt, schedule }: ExistingMessage,
  { recipients, analysis }: MessageBody,
): SerializedSentMessage => {
  const status = schedule === null ? 'accepted' : 'scheduled';
  return {
    id: accepted.messageId,
    object: 'message',
    message_id: accepted.internetMessageId,
    status,
    environment,
    created_at: acceptedAt,
    ...(schedule === null ? {} : { scheduled_at: schedule.first }),
    recipients: recipients.map(({ id, address, kind }) => ({ id, address, kind, status })),
    ...(analysis === undefined ? {} : { analysis: serializeAnalysisSummary(analysis) }),
  };
};

const ACCEPTED = 202;
const REFUSED_MIN = 400;
const REFUSED_MAX = 499;

/** Index of the message in the request. */
const index = z.int().min(0);

/** The response to a single send, with its HTTP status. */
const sentItemSchema = sentMessageSchema.extend({ index, http_status: z.literal(ACCEPTED) });
const refusedItemSchema = errorSchema.extend({
  index,
  http_status: z.int().min(REFUSED_MIN).max(REFUSED_MAX),
  status: z.literal('refused'),
});

export const batchSchema = z
  .strictObject({
    object: z.literal('batch'),
    /** Number of messages. */
    accepted: z.int().min(0),
    refused: z.int().min(0),
    data: z.array(z.union([sentItemSchema, refusedItemSchema])),
  })
  .meta({ id: 'Batch' });

type Item =
  | z.infer<typeof sentItemSchema>
  | (Pick<z.infer<typeof refusedItemSchema>, 'index' | 'http_status' | 'status'> & ErrorAnswer['body']);

interface SerializedBatch extends Omit<z.infer<typeof batchSchema>, 'data'> {
  readonly data: readonly Item[];
}

const serializeItem = (one: SentMessage | DomainError, place: number): Item => {
  if (one instanceof DomainError) {
    const { status, body } = refusalAnswer(one);
    return { index: place, http_status: status, status: 'refused', ...body };
  }
  return { index: place, http_status: ACCEPTED, ...serializeSentMessage(one.message, one.body) };
};

export const serializeBatch = (items: readonly (SentMessage | DomainError)[]): SerializedBatch => {
  const refused = items.filter((one) => one instanceof DomainError).length;
  return { object: 'batch', accepted: items.length - refused, refused, data: items.map(serializeItem) };
};
