import { z } from 'zod';

export const submissionSchema = z
  .strictObject({
    object: z.literal('submission'),
    user: z.string().describe('Any other name works too.'),
    servers: z
      .array(
        z.strictObject({
          host: z.string(),
          port: z.int(),
          tls: z
            .enum(['none', 'starttls', 'implicit'])
            .describe(
              '`starttls` (RFC 3207): asked for before the password. `implicit` (RFC 8314): from the first byte. ' +
                '`none`: programs on the machine of the service alone are taken.',
            ),
        }),
      )
      .describe('Empty: this service does not accept mail by SMTP.'),
  })
  .meta({ id: 'Submission' });
export type SerializedSubmission = z.infer<typeof submissionSchema>;
