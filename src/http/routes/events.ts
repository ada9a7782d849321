import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import { CUSTOMER_EVENT_TYPES, type CustomerEventType } from '../../domain/customer-event-types.ts';
import { LOG_START, type Position } from '../../domain/ports/event-store.ts';
import { FEED_START, type FeedCursor, type FeedPage } from '../../projections/events/queries.ts';
import { serializeEvents } from '../../projections/events/serialize-events.ts';
import { visibleDomainId } from '../auth/authenticate.ts';
import { readYourWrites } from '../consistency.ts';
import { type Call, defineEndpoint, type RouteContext } from '../endpoint.ts';
import { listOf, listSchema } from '../schemas/envelope.ts';
import { eventSchema } from '../schemas/event.ts';
import { decodeParts, encodeParts, invalidCursor } from '../validation/cursor.ts';
import { integerParameter, pageParameters } from '../validation/fields.ts';

const LIST = 'events';
/** In place of a cursor: before the first event. Not a valid cursor itself. */
const START = 'start';
const POSITION = /^[0-9A-Za-z:._-]{0,64}$/;
const INDEX = /^(?:0|[1-9]\d{0,3})$/;
/** Many proxies cut connections that are idle for longer. */
const WAIT_SECONDS_MAX = 30;
/** How soon a waiting reader sees new events. */
const LOOK_EVERY_MS = 100;
const SECOND_MS = 1000;
const DEADLINE_MS = 45_000;

const isType = (text: string): text is CustomerEventType => (CUSTOMER_EVENT_TYPES as readonly string[]).includes(text);

const query = z.strictObject({
  ...pageParameters,
  after: pageParameters.after.describe(
    `\`next_cursor\` of the page before, or \`${START}\` for the first events there are; absent: the newest page.`,
  ),
  types: z
    .string()
    .refine(
      (text) => text.split(',').every(isType),
      `must be a list, with commas, of ${CUSTOMER_EVENT_TYPES.join(', ')}`,
    )
    .transform((text) => text.split(',').filter(isType))
    .optional()
    .describe('Which types, with commas between them; all when absent.'),
  wait: integerParameter(0, WAIT_SECONDS_MAX).default(0).describe('Seconds to wait for an event where there is none.'),
});

const DESCRIPTION = `Every page is oldest first. \`after=${START}\` begins with the first event there is; without \`after\` the page
holds the newest events. Either way \`next_cursor\` leads to what comes after the page, always, and \`has_more\` says whether
there is something already: pass it as \`after\`, with \`wait\` where there is nothing yet. Events are kept for ever.`;

const decode = (after: string | undefined): FeedCursor | null => {
  if (after === undefined) return null;
  if (after === START) return FEED_START;
  const [list, position = '', index = ''] = decodeParts(after, 3);
  if (list !== LIST || !POSITION.test(position) || !INDEX.test(index)) throw invalidCursor();
  return { position, index: Number(index) };
};

/** Whether a cursor may have been issued: positions have one width and are not beyond the log's head. */
const isGiven = ({ position, index }: FeedCursor, head: Position): boolean =>
  position === LOG_START ? index === 0 : position.length === head.length && position <= head;

const encode = ({ position, index }: FeedCursor): string => encodeParts([LIST, position, String(index)]);

/** Watches for the end of waiting: the client disconnected, or the server begins to close. */
const watch = (reply: FastifyReply, closing: AbortSignal): (() => boolean) => {
  let gone = false;
  reply.raw.once('close', () => {
    gone = true;
  });
  return () => gone || closing.aborted;
};

export const readEventsRoute = (route: RouteContext): void => {
  const { deps, auth, closing } = route;
  const { system, contents } = deps.context;

  const readPage = async (
    caller: Caller,
    after: FeedCursor | null,
    asked: z.output<typeof query>,
  ): Promise<FeedPage> => {
    const head = await readYourWrites(deps, ['events']);
    if (after !== null && !isGiven(after, head)) throw invalidCursor();
    return deps.readModels.events.page({
      organizationId: caller.organizationId,
      environment: caller.environment,
      domainId: visibleDomainId(caller),
      types: asked.types ?? null,
      after,
      limit: asked.limit,
    });
  };

  /** Resolves when the log has grown beyond `seen`, at the deadline, or when waiting is over. */
  const growth = async (seen: string, deadlineMs: number, isOver: () => boolean): Promise<void> => {
    while (auth.keyCache.position() === seen && system.monotonicMs() < deadlineMs && !isOver()) {
      await system.sleep(LOOK_EVERY_MS);
    }
  };

  const readOrWait = async ({
    callerNow,
    query: asked,
    reply,
  }: Call<unknown, z.output<typeof query>>): Promise<FeedPage> => {
    const deadlineMs = system.monotonicMs() + asked.wait * SECOND_MS;
    const isOver = watch(reply, closing);
    const isLast = ({ items }: FeedPage): boolean => items.length > 0 || isOver() || system.monotonicMs() >= deadlineMs;
    let seen = auth.keyCache.position();
    let page = await readPage(await callerNow(), decode(asked.after), asked);
    while (!isLast(page)) {
      await growth(seen, deadlineMs, isOver);
      seen = auth.keyCache.position();
      page = await readPage(await callerNow(), page.next, asked);
    }
    // A key revoked during the wait must not see events appended after that.
    if (asked.wait > 0) await callerNow('up to the log');
    return page;
  };

  defineEndpoint(
    route,
    'GET /v1/events',
    {
      summary: 'Events, oldest first from a cursor, or the newest page without one; waits for new ones if asked',
      description: DESCRIPTION,
      query,
      answer: listSchema(eventSchema),
      deadlineMs: DEADLINE_MS,
    },
    async (call) => {
      const { items, hasMore, next } = await readOrWait(call);
      return listOf(await serializeEvents(contents, items), hasMore, encode(next));
    },
  );
};
