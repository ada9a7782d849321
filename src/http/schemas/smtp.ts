import { z } from 'zod';
import { REPLY_STAGES, TLS_POLICIES } from '../../domain/ports/mail-transport.ts';

/** What the other side said; `domain/shown-event.ts` makes it. */
export const smtpShape = z.strictObject({
  /** 0: nothing was. */
  code: z.number().int(),
  enhanced: z.string().nullable(),
  text: z.string().nullable(),
  mx: z.string().nullable(),
  tls: z.string().nullable(),
  cipher: z.string().nullable(),
  policy: z.enum(TLS_POLICIES).nullable(),
  address: z.string().nullable(),
  stage: z.enum(REPLY_STAGES).nullable(),
});
