import { z } from 'zod';
import { rotateKey } from '../../../commands/api-key/rotate-key.ts';
import { GRACE_PERIOD_MINUTES_DEFAULT, GRACE_PERIOD_MINUTES_MAX } from '../../../domain/api-key/rotate-key.ts';
import { setRevision } from '../../consistency.ts';
import { endpoint } from '../../endpoint.ts';
import { rotatedKeySchema } from '../../schemas/api-key.ts';
import { changeOwnKey, serializeKey } from './own-key.ts';

const body = z.strictObject({
  grace_period_minutes: z
    .int()
    .min(0)
    .max(GRACE_PERIOD_MINUTES_MAX)
    .default(GRACE_PERIOD_MINUTES_DEFAULT)
    .describe('Minutes for which the old value still works.'),
  revoke_previous: z.boolean().default(false).describe('Revoke all earlier values now.'),
});

export const rotateKeyRoute = endpoint(
  'POST /v1/api-keys/:id/rotate',
  {
    summary: 'Rotate an API key; the old value works until its grace period ends',
    description:
      'Refused for a key with more networks or a later expiry than the requesting key (`allowed_cidrs`, ' +
      '`expires_at`).',
    body,
    examples: {
      'An hour for whoever uses the old value': { grace_period_minutes: 60 },
      'At once': { grace_period_minutes: 0, revoke_previous: true },
    },
    answer: rotatedKeySchema,
  },
  async (call, route) => {
    const { context } = route.deps;
    const { grace_period_minutes: gracePeriodMinutes, revoke_previous: revokePrevious } = call.body;
    const { key, value, revision, previousKeyExpiresAt } = await changeOwnKey(route, call, 'rotate', (change) =>
      rotateKey(context, call.origin, { ...change, gracePeriodMinutes, revokePrevious }),
    );
    setRevision(call.reply, revision);
    return { ...(await serializeKey(route, key)), key: value, previous_key_expires_at: previousKeyExpiresAt };
  },
);
