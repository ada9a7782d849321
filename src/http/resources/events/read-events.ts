import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { pause } from '../../../lib/async/async.ts';
import type { FeedCursor } from '../../../projections/events/queries.ts';
import { type Call, defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { integerParameter, listOf, listSchema, pageParameters } from '../../fields.ts';
import { eventSchema } from './event.ts';
import {
  decodeFeedCursor,
  type EventPage,
  encodeFeedCursor,
  filterParameters,
  readEventPage,
  START,
} from './event-pages.ts';
import {
  createEventReaders,
  EVENT_STREAM,
  isEventStreamRequest,
  onHalfClose,
  openEventStream,
} from './event-stream.ts';

/** Many proxies cut connections that are idle for longer. */
const WAIT_SECONDS_MAX = 30;
const SECOND_MS = 1000;
const DEADLINE_MS = 45_000;
const FIRST_DAY = '1970-01-01';

const billedDay = (description: string) =>
  z.iso
    .date('must be a date such as 2026-01-31')
    .refine((date) => date >= FIRST_DAY, `must not be before ${FIRST_DAY}`)
    .optional()
    .describe(`${description} A message is billed for the day on which it was accepted.`);

const query = z.strictObject({
  ...pageParameters,
  after: pageParameters.after.describe(
    `\`next_cursor\` of the previous page, or \`${START}\` to begin with the first event. Omitted: the newest page.`,
  ),
  until: z
    .string()
    .optional()
    .describe('Cursor of the last event to return, such as `counted_to.cursor` of an invoice.'),
  ...filterParameters,
  billed_from: billedDay('Only events of billed messages, from this day (UTC) on.'),
  billed_to: billedDay('Only events of billed messages, before this day (UTC).'),
  wait: integerParameter(0, WAIT_SECONDS_MAX).default(0).describe('Seconds to wait for the first new event.'),
});
type Query = z.output<typeof query>;
type EventsCall = Call<unknown, Query>;

const DESCRIPTION = `Returns a page of events, oldest first. To read all events, begin with \`after=${START}\`, and pass the \`next_cursor\` of
each page as \`after\` of the next request. Without \`after\`, the page contains the newest events. \`next_cursor\` is always
present. If \`has_more\` is false, set \`wait\` to wait for new events. Events are kept forever.

The feed has no gaps: events are in the order of the log, and a cursor never expires. The \`id\` of an event never
changes, so you recognize an event that you read a second time.

The filters \`message_id\`, \`tag\`, \`recipient_domain\` and \`billed_from\` search at most 1,000 events per page, so a page
can be empty although \`has_more\` is true: continue with \`next_cursor\`. \`tag\` and \`recipient_domain\` do not match
messages whose content has expired.

With \`Accept: text/event-stream\` the same events are sent as server-sent events, each with its cursor as \`id\`. The stream
starts after \`Last-Event-ID\` or \`after\`; without both, it starts with new events. The first frame contains the starting
cursor. A comment is sent every 15 s. A client that reads nothing for 60 s is disconnected. If the service ends a stream,
the last event is \`end\` with the \`reason\` and the \`next_cursor\` from which to continue.`;

const billedDays = ({ billed_from: from, billed_to: to }: Pick<Query, 'billed_from' | 'billed_to'>) =>
  from === undefined && to === undefined ? undefined : { from: from ?? null, to: to ?? null };

/** Aborts when waiting is over: the client disconnected, or the server begins to close. */
const endOfWaiting = (request: FastifyRequest, reply: FastifyReply, closing: AbortSignal): AbortSignal => {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  reply.raw.once('close', leave);
  onHalfClose(request, reply, leave);
  return AbortSignal.any([gone.signal, closing]);
};

/** @throws {DomainError} `invalid_request`: a stream has no end, and is not of the past. */
const endless = (asked: Query): Query => {
  const ofPages = (['until', 'billed_from', 'billed_to'] as const).filter((name) => asked[name] !== undefined);
  if (ofPages.length === 0) return asked;
  const details = Object.fromEntries(
    ofPages.map((name) => [name, [`${name} is not available in a stream: remove it, or read pages`]]),
  );
  throw new DomainError('invalid_request', 'the request is invalid: see details', { details });
};

export const readEventsRoute = (route: RouteContext): void => {
  const { deps, auth } = route;
  const { system } = deps.context;
  const readers = createEventReaders(deps.liveFeed, auth.keyCache);

  type Read = (after: FeedCursor | null) => Promise<EventPage>;

  /** Reads again whenever the organization has something new. */
  const waitForEvents = async (call: EventsCall, first: () => Promise<EventPage>, read: Read): Promise<EventPage> => {
    const { caller, request, reply, query: asked } = call;
    const deadlineMs = system.monotonicMs() + asked.wait * SECOND_MS;
    const over = endOfWaiting(request, reply, route.closing);
    let woken = Promise.withResolvers<void>();
    const watch = await readers.watch(caller, () => woken.resolve());
    const ended = new AbortController();
    const timeUp = pause(system, asked.wait * SECOND_MS, AbortSignal.any([over, ended.signal]));
    const isLast = ({ items, hasMore }: EventPage): boolean =>
      items.length > 0 || hasMore || over.aborted || system.monotonicMs() >= deadlineMs;
    try {
      let page = await first();
      while (!isLast(page)) {
        await Promise.race([woken.promise, timeUp]);
        woken = Promise.withResolvers<void>();
        const { next } = page;
        page = await readers.query(caller.organizationId, () => read(next));
      }
      return page;
    } finally {
      ended.abort();
      watch.close();
    }
  };

  const readOrWait = async (call: EventsCall): Promise<EventPage> => {
    const { callerNow } = call;
    const { limit, after, until: end, wait, billed_from, billed_to, ...filters } = call.query;
    const until = decodeFeedCursor(end, 'until') ?? undefined;
    const billed = billedDays({ billed_from, billed_to });
    const read: Read = async (from) =>
      readEventPage(deps, { caller: await callerNow(), filters, billed, after: from, until, limit });
    const first = (): Promise<EventPage> => read(decodeFeedCursor(after));
    if (wait === 0) return await first();
    const page = await waitForEvents(call, first, read);
    // A key revoked during the wait must not see events appended after that.
    await callerNow('up to the log');
    return page;
  };

  defineEndpoint(
    route,
    'GET /v1/events',
    {
      summary: 'Read events',
      description: DESCRIPTION,
      query,
      answer: listSchema(eventSchema),
      otherMediaTypes: [EVENT_STREAM],
      deadlineMs: DEADLINE_MS,
    },
    async (call) => {
      if (isEventStreamRequest(call.request))
        return openEventStream({ ...route, readers }, { ...call, query: endless(call.query) });
      const { items, hasMore, next } = await readOrWait(call);
      return listOf(
        items.map(({ event }) => event),
        hasMore,
        encodeFeedCursor(next),
      );
    },
  );
};
