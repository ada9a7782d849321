import { z } from 'zod';
import { timeSchema } from './envelope.ts';

export const capturedMailSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('captured_mail'),
    received_at: timeSchema(),
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
  })
  .meta({ id: 'CapturedMail' });
export type SerializedCapturedMail = z.infer<typeof capturedMailSchema>;
