import { z } from 'zod';
import { releaseDestination } from '../../commands/destination.ts';
import { partsOfDestination, type Suspension } from '../../domain/destination/suspension.ts';
import { endpoint } from '../endpoint.ts';
import { listEndpoint } from '../lists.ts';
import { type SerializedSuspension, suspensionSchema } from '../schemas/destination.ts';

/** Name of a mailbox provider in A-labels, or `@` and a recipient domain; for one sending domain, its id is in front. */
export const DESTINATION = /^(?:dom_[a-z2-7]{26}@)?@?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/;

const SENTENCES = {
  busy: 'It asked for less mail for now, even one message at a time.',
  unreachable: 'None of its servers could be reached.',
  refused: 'Its servers take no sessions with this service.',
  recipient_domain:
    'What the domain itself says is in the way: its DNS, its MTA-STS policy or its TLSA records. Its mailbox provider is not meant.',
} as const;

const messageOf = ({ operator, reason }: Suspension): string =>
  partsOfDestination(operator).domainId === null ? SENTENCES[reason] : ONE_SENDER;

const ONE_SENDER = 'It asked for less mail from this sending domain. It takes mail from other senders.';

export const serializeSuspension = (suspension: Suspension): SerializedSuspension => {
  const { operator, reason, since, until, times, code, enhanced, mx } = suspension;
  return {
    object: 'suspended_destination',
    destination: operator,
    reason,
    message: messageOf(suspension),
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
      'see `GET /v1/messages/{id}/explain`. If a destination has asked only senders of one organization for less mail, ' +
      'it is suspended for each of these sending domains separately and listed for their organization as ' +
      '`dom_…@google.com`.',
    of: 'destinations',
    item: suspensionSchema,
    ids: DESTINATION,
  },
  async (by, { organizationId }, { deps, auth }) => {
    const domainIds = auth.keyCache.domainIdsOf(organizationId);
    const now = deps.context.system.now().toISOString();
    const page = await deps.readModels.destinations.suspended({ now, domainIds, ...by });
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
  async ({ caller: { organizationId }, origin, body: { destination } }, { deps, auth }) => {
    const { domainId } = partsOfDestination(destination);
    const isOthers = domainId !== null && !auth.keyCache.domainIdsOf(organizationId).includes(domainId);
    const released = !isOthers && (await releaseDestination(deps.context, origin, destination));
    return { object: 'released_destination' as const, destination, released };
  },
);
