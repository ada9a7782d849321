import { z } from 'zod';
import type { CapturedContent, CapturedMail } from '../../domain/ports/inbox.ts';
import { timeSchema } from './envelope.ts';

const outlineFields = {
  id: z.string(),
  object: z.literal('captured_mail'),
  received_at: timeSchema(),
  envelope: z.strictObject({ from: z.string(), to: z.array(z.string()) }),
  subject: z.string().nullable(),
  size_bytes: z.number().int(),
  confidential: z
    .boolean()
    .describe('It contains a sign-in link: only an owner who has recently authenticated can read it.'),
  attachments: z.array(
    z.strictObject({
      filename: z.string().nullable(),
      content_type: z.string(),
      size_bytes: z.number().int(),
    }),
  ),
};

export const listedCapturedMailSchema = z.strictObject(outlineFields).meta({ id: 'ListedCapturedMail' });
export type SerializedListedCapturedMail = z.infer<typeof listedCapturedMailSchema>;

export const capturedMailSchema = z
  .strictObject({
    ...outlineFields,
    headers: z.array(z.strictObject({ name: z.string(), value: z.string() })),
    text: z.string().nullable(),
    html: z.string().nullable(),
    truncated: z.boolean().describe('Headers, text or html had more than 1 MB and were cut. The source has all of it.'),
  })
  .meta({ id: 'CapturedMail' });
export type SerializedCapturedMail = z.infer<typeof capturedMailSchema>;

export const serializeListedCapturedMail = (mail: CapturedMail): SerializedListedCapturedMail => ({
  id: mail.id,
  object: 'captured_mail',
  received_at: mail.receivedAt.toISOString(),
  envelope: { from: mail.envelope.from, to: [...mail.envelope.to] },
  subject: mail.subject,
  size_bytes: mail.sizeBytes,
  confidential: mail.isConfidential,
  attachments: mail.attachments.map(({ filename, contentType, sizeBytes }) => ({
    filename,
    content_type: contentType,
    size_bytes: sizeBytes,
  })),
});

export const serializeCapturedMail = (mail: CapturedMail, content: CapturedContent): SerializedCapturedMail => ({
  ...serializeListedCapturedMail(mail),
  headers: content.headers.map(({ name, value }) => ({ name, value })),
  text: content.text,
  html: content.html,
  truncated: content.truncated,
});
