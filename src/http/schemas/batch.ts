import { z } from 'zod';
import type { SentMessage } from '../../commands/message/send-message.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type ErrorAnswer, refusalAnswer } from '../errors/error-answer.ts';
import { errorShape } from './error.ts';
import { sentMessageShape, showSent } from './message.ts';

const ACCEPTED = 202;
const REFUSED_MIN = 400;
const REFUSED_MAX = 499;

/** Place of the message in the request. */
const index = z.int().min(0);

/** As a send is answered, and with which status of HTTP it would have been alone. */
const sentItemShape = sentMessageShape.extend({ index, http_status: z.literal(ACCEPTED) });
const refusedItemShape = errorShape.extend({
  index,
  http_status: z.int().min(REFUSED_MIN).max(REFUSED_MAX),
  status: z.literal('refused'),
});

export const batchShape = z.strictObject({
  object: z.literal('batch'),
  /** Of the messages, how many. */
  accepted: z.int().min(0),
  refused: z.int().min(0),
  data: z.array(z.union([sentItemShape, refusedItemShape])),
});

type Item =
  | z.infer<typeof sentItemShape>
  | (Pick<z.infer<typeof refusedItemShape>, 'index' | 'http_status' | 'status'> & ErrorAnswer['body']);

export interface BatchShape extends Omit<z.infer<typeof batchShape>, 'data'> {
  readonly data: readonly Item[];
}

const showItem = (one: SentMessage | DomainError, place: number): Item => {
  if (one instanceof DomainError) {
    const { status, body } = refusalAnswer(one);
    return { index: place, http_status: status, status: 'refused', ...body };
  }
  return { index: place, http_status: ACCEPTED, ...showSent(one.message, one.body) };
};

export const showBatch = (items: readonly (SentMessage | DomainError)[]): BatchShape => {
  const refused = items.filter((one) => one instanceof DomainError).length;
  return { object: 'batch', accepted: items.length - refused, refused, data: items.map(showItem) };
};
