import { z } from 'zod';
import type { CapturedMail } from '../../domain/ports/inbox.ts';
import { timeShape } from './time.ts';

export const capturedMailShape = z.strictObject({
  id: z.string(),
  object: z.literal('captured_mail'),
  received_at: timeShape(),
  envelope: z.strictObject({ from: z.string(), to: z.array(z.string()) }),
  headers: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  subject: z.string().nullable(),
  text: z.string().nullable(),
  html: z.string().nullable(),
  attachments: z.array(
    z.strictObject({
      filename: z.string().nullable(),
      content_type: z.string(),
      disposition: z.string().nullable(),
      content_id: z.string().nullable(),
      size_bytes: z.number().int(),
      content: z.string(),
    }),
  ),
  raw: z.string(),
});
export type CapturedMailShape = z.infer<typeof capturedMailShape>;

export const showCapturedMail = (mail: CapturedMail): CapturedMailShape => ({
  id: mail.id,
  object: 'captured_mail',
  received_at: mail.receivedAt.toISOString(),
  envelope: { from: mail.envelope.from, to: [...mail.envelope.to] },
  headers: mail.headers.map(({ name, value }) => ({ name, value })),
  subject: mail.subject,
  text: mail.text,
  html: mail.html,
  attachments: mail.attachments.map(({ contentType, contentId, sizeBytes, ...rest }) => ({
    ...rest,
    content_type: contentType,
    content_id: contentId,
    size_bytes: sizeBytes,
  })),
  raw: mail.raw,
});
