import { z } from 'zod';
import { releaseDestination } from '../../commands/destination.ts';
import { partsOfDestination, type Suspension } from '../../domain/destination/suspension.ts';
import type { DeferredMail } from '../../projections/deliveries/queries.ts';
import type { FeedEvent } from '../../projections/events/queries.ts';
import { endpoint } from '../endpoint.ts';
import { timeSchema } from '../fields.ts';
import { listEndpoint, readYourWrites } from '../reading.ts';

const suspensionSchema = z.strictObject({
  object: z.literal('suspended_destination'),
  /**
   * A mailbox provider, whose recipient domains wait together if they share the servers that were tried; or one
   * recipient domain alone, `@example.com`. With the id of a sending domain in front, `dom_…@google.com`, it is suspended
   * for this sender alone.
   */
  destination: z.string(),
  reason: z.enum(['busy', 'unreachable', 'refused', 'recipient_domain']),
  message: z.string(),
  since: timeSchema(),
  until: timeSchema(),
  /** Consecutive suspensions. Each lasts longer, up to half an hour. */
  times: z.number().int(),
  smtp: z.strictObject({ code: z.number().int(), enhanced: z.string().nullable(), mx: z.string().nullable() }),
});
export type SerializedSuspension = z.infer<typeof suspensionSchema>;

const backlogSchema = z
  .strictObject({
    object: z.literal('destination_backlog'),
    complete: z.boolean().describe('false: only the newest deferrals were examined, so more mail may be waiting.'),
    data: z.array(
      z.strictObject({
        recipient_domain: z.string().describe('Recipient domain in ASCII (A-labels).'),
        recipients: z.number().int().describe('Number of recipients that wait for another attempt.'),
        since: timeSchema().describe('Time of the oldest of these deferrals.'),
        next_attempt_at: timeSchema().describe('Time of the earliest next attempt.'),
        attempts: z.number().int().describe('Highest number of attempts made for one of these recipients.'),
        last_reply: z
          .strictObject({
            at: timeSchema(),
            message_id: z.string(),
            code: z.number().int().describe('0: there was no reply.'),
            enhanced: z.string().nullable(),
            mx: z.string().nullable(),
          })
          .describe('Reply that caused the newest deferral. `GET /v1/messages/{id}/explain` shows its text.'),
      }),
    ),
  })
  .meta({ id: 'DestinationBacklog' });
export type SerializedBacklog = z.infer<typeof backlogSchema>;

/** Name of a mailbox provider in A-labels, or `@` and a recipient domain; for one sending domain, its id is in front. */
const DESTINATION = /^(?:dom_[a-z2-7]{26}@)?@?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/;

const SENTENCES = {
  busy: 'It asked for less mail, although it was sent one message at a time.',
  unreachable: 'None of its mail servers could be reached.',
  refused: 'Its mail servers refuse connections from this service.',
  recipient_domain:
    'The DNS records, MTA-STS policy or TLSA records of this domain prevent delivery. Other domains of its mailbox provider are not affected.',
} as const;

const messageOf = ({ operator, reason }: Suspension): string =>
  partsOfDestination(operator).domainId === null ? SENTENCES[reason] : ONE_SENDER;

const ONE_SENDER = 'It asked for less mail from this sending domain. It accepts mail from other senders.';

const serializeSuspension = (suspension: Suspension): SerializedSuspension => {
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
    summary: 'List suspended destinations',
    description:
      'Lists the destinations to which no mail is sent at the moment. A destination that does not answer or asks for less ' +
      'mail is suspended for one minute, then longer each time, up to half an hour. Its messages wait, and expire when ' +
      'their time to live ends. Other destinations are not affected. A destination that asked only your sending domain ' +
      'for less mail is suspended for this domain only, and listed as `dom_…@google.com`. Recipient domains with broken ' +
      'DNS records or policies are not listed: see `GET /v1/messages/{id}/explain`.',
    of: 'destinations',
    item: suspensionSchema,
    ids: DESTINATION,
  },
  async (by, { organizationId }, { deps, auth }) => {
    const domainIds = auth.keyCache.domainIdsOf(organizationId);
    const now = deps.context.system.now().toISOString();
    const page = await deps.readModels.destinations.suspended({ organizationId, now, domainIds, ...by });
    return { ...page, items: page.items.map(serializeSuspension) };
  },
);

const body = z.strictObject({
  destination: z
    .string()
    .transform((text) => text.toLowerCase())
    .refine((text) => DESTINATION.test(text), 'must be the name of a destination, as GET /v1/destinations lists it')
    .describe('Name of the destination, as `GET /v1/destinations` lists it.'),
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
    summary: 'Release a suspended destination',
    description:
      'Ends the suspension early. Mail that is due is sent within seconds; deferred mail keeps the time of its next ' +
      'attempt. If the problem persists, the destination is suspended again.',
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

/** The newest deferrals that are looked at. More take longer (each costs a probe of an index), fewer show less of a large backlog. */
const DEFERRALS_MAX = 2_000;

type DomainBacklog = SerializedBacklog['data'][number];

/** Deferred mail by recipient id. */
const placesOf = (mails: readonly DeferredMail[]): ReadonlyMap<string, DeferredMail> =>
  new Map(mails.flatMap((mail) => mail.recipientIds.map((id) => [id, mail] as const)));

const earlier = (one: string, other: string): string => (one < other ? one : other);

/** A recipient more. @param deferral its newest, oldest first. */
const added = (
  before: DomainBacklog | undefined,
  deferral: FeedEvent,
  mail: DeferredMail,
  since: string,
): DomainBacklog => {
  const { smtp, attempt = 1 } = deferral.facts;
  return {
    recipient_domain: mail.recipientDomain,
    recipients: (before?.recipients ?? 0) + 1,
    since: earlier(before?.since ?? since, since),
    next_attempt_at: earlier(before?.next_attempt_at ?? mail.nextAttemptAt, mail.nextAttemptAt),
    attempts: Math.max(before?.attempts ?? 0, attempt),
    last_reply: {
      at: deferral.timestamp,
      message_id: deferral.subjectId,
      code: smtp?.code ?? 0,
      enhanced: smtp?.enhanced ?? null,
      mx: smtp?.mx ?? null,
    },
  };
};

/** @param deferrals oldest first. @returns by recipient domain, most recipients first. */
const backlogOf = (deferrals: readonly FeedEvent[], mails: readonly DeferredMail[]): readonly DomainBacklog[] => {
  const places = placesOf(mails);
  const since = new Map<string, string>();
  const newest = new Map<string, FeedEvent>();
  for (const deferral of deferrals) {
    const id = deferral.recipientId ?? '';
    if (!since.has(id)) since.set(id, deferral.timestamp);
    newest.delete(id);
    newest.set(id, deferral);
  }
  const backlog = new Map<string, DomainBacklog>();
  for (const [id, deferral] of newest) {
    const mail = places.get(id);
    if (mail === undefined) continue;
    const before = backlog.get(mail.recipientDomain);
    backlog.set(mail.recipientDomain, added(before, deferral, mail, since.get(id) ?? deferral.timestamp));
  }
  return [...backlog.values()].sort((one, other) => other.recipients - one.recipients);
};

export const getBacklogRoute = endpoint(
  'GET /v1/destinations/backlog',
  {
    summary: 'Count deferred mail by recipient domain',
    description:
      'Counts the recipients whose mail was deferred and waits for its next attempt, with the newest reply of each ' +
      `recipient domain. Examines the newest ${DEFERRALS_MAX} deferrals. Mail that is due, scheduled or held is not counted.`,
    answer: backlogSchema,
    etag: false,
  },
  async ({ caller: { organizationId, environment } }, { deps }) => {
    await readYourWrites(deps, ['events', 'deliveries']);
    const page = await deps.readModels.events.page({
      organizationId,
      environment,
      domainId: null,
      types: ['message.deferred'],
      after: null,
      limit: DEFERRALS_MAX,
    });
    const ids = [...new Set(page.items.map(({ subjectId }) => subjectId))];
    const mails = await deps.readModels.deliveries.deferred({ organizationId, messageIds: ids });
    return {
      object: 'destination_backlog',
      complete: page.items.length < DEFERRALS_MAX,
      data: backlogOf(page.items, mails),
    };
  },
);
