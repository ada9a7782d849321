import { z } from 'zod';
import { rotateKey } from '../../../commands/api-key/rotate-key.ts';
import { GRACE_PERIOD_MINUTES_DEFAULT, GRACE_PERIOD_MINUTES_MAX } from '../../../domain/api-key/rotate-key.ts';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { ifMatch, setRevision } from '../../revisions.ts';
import { rotatedKeyShape, showApiKey } from '../../shapes/api-key-shape.ts';
import { loadApiKey } from './load-api-key.ts';

const body = z.strictObject({
  grace_period_minutes: z.int().min(0).max(GRACE_PERIOD_MINUTES_MAX).default(GRACE_PERIOD_MINUTES_DEFAULT),
  revoke_previous: z.boolean().default(false),
});

export const rotateKeyRoute = (house: House): void => {
  const { deps, door } = house;
  defineEndpoint(
    house,
    'POST /v1/api-keys/:id/rotate',
    {
      summary: 'Give an API key a new value; the old one works until its grace period ends',
      body,
      answer: rotatedKeyShape,
    },
    async ({ caller, origin, id, body: asked, request, reply }) => {
      await loadApiKey(deps, caller, id);
      const { key, value, revision, previousKeyExpiresAt } = await rotateKey(deps.context, origin, {
        by: caller,
        keyId: id,
        gracePeriodMinutes: asked.grace_period_minutes,
        revokePrevious: asked.revoke_previous,
        ...ifMatch(request),
      });
      const [marks] = await Promise.all([deps.usageMarks.of([id]), door.directory.catchUp()]);
      setRevision(reply, revision);
      return {
        ...showApiKey(key, marks, deps.context.system.now().toISOString()),
        key: value,
        previous_key_expires_at: previousKeyExpiresAt,
      };
    },
  );
};
