import { z } from 'zod';
import { SECRET_ENDS } from '../../domain/api-key/secret-history.ts';
import { timeSchema } from './envelope.ts';
import { actorSchema, addressSchema } from './key-history.ts';

/** A value that a key has or had. */
export const keySecretSchema = z
  .strictObject({
    object: z.literal('api_key_secret'),
    number: z.number().int().describe('1 for the key’s first value, one more with each rotation.'),
    last4: z.string(),
    status: z.enum(['current', 'grace', 'ended']).describe('`grace`: replaced, and works until `ends_at`.'),
    created_at: timeSchema(),
    created_by: actorSchema,
    address: addressSchema(),
    request_id: z.string().nullable(),
    ends_at: timeSchema().nullable().describe('Time when it ended or will end; null: no end is set.'),
    end_reason: z.enum(SECRET_ENDS).nullable(),
    sends: z.number().int().describe('Messages that were accepted with it.'),
    recipients: z.number().int().describe('Recipients of those messages.'),
    first_send_at: timeSchema().nullable(),
    last_send_at: timeSchema().nullable(),
  })
  .meta({ id: 'ApiKeySecret' });
export type SerializedKeySecret = z.infer<typeof keySecretSchema>;
