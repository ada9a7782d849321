import type { DeferredMail } from '../../projections/deliveries/deferred.ts';
import type { FeedEvent } from '../../projections/events/queries.ts';
import { readYourWrites } from '../consistency.ts';
import { endpoint } from '../endpoint.ts';
import { backlogSchema, type SerializedBacklog } from '../schemas/destination.ts';

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
    summary: 'Count what waits after a deferral, by recipient domain',
    description:
      "The organization's mail that was deferred and waits for its next attempt, with the newest reply of each " +
      `recipient domain: among the newest ${DEFERRALS_MAX} deferrals. Mail that is due, scheduled or held is not counted.`,
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
    const mails = await deps.readModels.deliveries.deferred(ids);
    return {
      object: 'destination_backlog',
      complete: page.items.length < DEFERRALS_MAX,
      data: backlogOf(page.items, mails),
    };
  },
);
