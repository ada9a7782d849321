import { z } from 'zod';
import { parseMailbox } from '../../../domain/email-address.ts';
import { unsubscribeUrlProblem } from '../../../domain/message/draft.ts';
import type { UnsubscribeWays } from '../../../domain/ports/contents.ts';

const url = z.string().superRefine((text, context) => {
  const problem = unsubscribeUrlProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

const mailto = z.string().transform((text, context) => {
  const parsed = parseMailbox(text);
  if (typeof parsed !== 'string' && parsed.name === undefined) return parsed.address;
  const reason = typeof parsed === 'string' ? parsed : 'it has a display name';
  context.issues.push({ code: 'custom', message: `is not an email address: ${reason}`, input: text });
  return '';
});

const SENTENCE = 'must be "managed", or an object with url, mailto or both';

/** How recipients unsubscribe: by what the sender offers, or by links of ours, one for each recipient. */
export const unsubscribe = z.union(
  [
    z.literal('managed'),
    z
      .strictObject({ url: url.optional(), mailto: mailto.optional() })
      .refine((ways) => ways.url !== undefined || ways.mailto !== undefined, SENTENCE)
      .transform(
        ({ url: link, mailto: address }): UnsubscribeWays => ({
          ...(link === undefined ? {} : { url: link }),
          ...(address === undefined ? {} : { mailto: address }),
        }),
      ),
  ],
  SENTENCE,
);
