import { z } from 'zod';
import { releaseDestination } from '../../commands/destination.ts';
import type { Suspension } from '../../domain/destination/suspension.ts';
import { endpoint } from '../endpoint.ts';
import { listEndpoint } from '../lists.ts';
import { type SerializedSuspension, suspensionSchema } from '../schemas/destination.ts';

/** Name of a mailbox provider in A-labels, or `@` and a recipient domain. */
export const DESTINATION = /^@?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/;

const SENTENCES = {
  busy: 'It asked for less mail for now, even one message at a time.',
  unreachable: 'None of its servers could be reached.',
  refused: 'Its servers take no sessions with this service.',
  recipient_domain:
    'What the domain itself says is in the way: its DNS, its MTA-STS policy or its TLSA records. Its mailbox provider is not meant.',
} as const;

export const serializeSuspension = (suspension: Suspension): SerializedSuspension => {
  const { operator, reason, since, until, times, code, enhanced, mx } = suspension;
  return {
    object: 'suspended_destination',
    destination: operator,
    reason,
    message: SENTENCES[reason],
    since,
    until,
    times,
    smtp: { code, enhanced, mx },
  };
};

export const listDestinationsRoute = listEndpoint(
  'GET /v1/destinations',
  {
    summary: 'List suspended destinations, newest first',
    description:
      'A destination that does not answer or asks for less mail is suspended for a minute, then longer each ' +
      'time, up to half an hour. Its messages wait and expire at the end of their time to live; other ' +
      'destinations are not affected. Domains that wait because of their own DNS or policy are not listed: ' +
      'see `GET /v1/messages/{id}/explain`.',
    of: 'destinations',
    item: suspensionSchema,
    ids: DESTINATION,
  },
  async (by, _caller, { deps }) => {
    const page = await deps.readModels.destinations.suspended({ now: deps.context.system.now().toISOString(), ...by });
    return { ...page, items: page.items.map(serializeSuspension) };
  },
);

const body = z.strictObject({
  destination: z
    .string()
    .transform((text) => text.toLowerCase())
    .refine(
      (text) => DESTINATION.test(text),
      'is not the name of a destination: GET /v1/destinations lists those suspended',
    )
    .describe('The name in `GET /v1/destinations`.'),
});

const releasedSchema = z.strictObject({
  object: z.literal('released_destination'),
  destination: z.string(),
  /** false: it was not suspended. */
  released: z.boolean(),
});

export const releaseDestinationRoute = endpoint(
  'POST /v1/destinations/release',
  {
    summary: 'End the suspension of a destination',
    description:
      'Due mail is sent within seconds; deferred mail keeps the time of its next attempt. If the problem ' +
      'persists, the destination is suspended again.',
    body,
    examples: { 'A destination': { destination: 'example.net' } },
    answer: releasedSchema,
  },
  async ({ origin, body: { destination } }, { deps }) => ({
    object: 'released_destination',
    destination,
    released: await releaseDestination(deps.context, origin, destination),
  }),
);
