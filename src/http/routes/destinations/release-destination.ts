import { z } from 'zod';
import { releaseDestination } from '../../../commands/destination/release-destination.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { DESTINATION } from '../../schemas/destination.ts';

const body = z.strictObject({
  destination: z
    .string()
    .transform((text) => text.toLowerCase())
    .refine(
      (text) => DESTINATION.test(text),
      'is not the name of a destination: GET /v1/destinations lists those suspended',
    )
    .describe('As `GET /v1/destinations` names it.'),
});

const releasedShape = z.strictObject({
  object: z.literal('released_destination'),
  destination: z.string(),
  /** false: it was not suspended, and nothing has changed. */
  released: z.boolean(),
});

export const releaseDestinationRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'POST /v1/destinations/release',
    {
      summary: 'Let a suspended destination have mail again at once',
      description:
        'Mail for it whose time has come is tried within seconds; what an attempt has deferred keeps the time of its next ' +
        'one. If nothing has changed there, it is suspended again.',
      body,
      examples: { 'A destination': { destination: 'example.net' } },
      answer: releasedShape,
    },
    async ({ origin, body: { destination } }) => ({
      object: 'released_destination',
      destination,
      released: await releaseDestination(deps.context, origin, destination),
    }),
  );
};
