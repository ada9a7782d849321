import { z } from 'zod';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { messageStream } from '../../../domain/kernel/streams.ts';
import { type ExistingMessage, message } from '../../../domain/message/message.ts';
import { messageStatus } from '../../../domain/message/recipient.ts';
import type { ListedMessage } from '../../../projections/messages/queries.ts';
import type { ListPage } from '../../../projections/page-of.ts';
import { atParameter, routeAsOf, statesOf } from '../../as-of.ts';
import { readYourWrites } from '../../consistency.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { cursorFrom, decodeCursor, encodeCursor } from '../../lists.ts';
import { asOfFields, listOf, listSchema } from '../../schemas/envelope.ts';
import { listedMessageSchema, listedRecipient, serializeListedMessage } from '../../schemas/message.ts';
import { pageParameters } from '../../validation/fields.ts';
import { findMessages, messageFilters } from './find-messages.ts';

const LIST = 'messages';

const query = z.strictObject({ ...pageParameters, ...messageFilters(), at: atParameter() });

type ListQuery = z.output<typeof query>;

const serializePage = async (
  { context: { contents } }: HttpDependencies,
  { items, hasMore, next }: ListPage<ListedMessage>,
) => {
  const heads = await contents.heads(items.map(({ contentId }) => contentId));
  const serialized = items.map((item) => serializeListedMessage(item, heads.get(item.contentId)));
  return listOf(serialized, hasMore, encodeCursor(LIST, next));
};

/** Statuses are those of now. @throws {DomainError} `invalid_request`. */
const refuseStatus = ({ status }: ListQuery): void => {
  if (status === undefined) return;
  const problem = 'status cannot be combined with at: messages are looked for by what they are now';
  throw new DomainError('invalid_request', problem, { details: { status: [problem] } });
};

/** A message of the list with its state at a moment. */
const listedThen = (item: ListedMessage, { recipients, expiresAt, schedule }: ExistingMessage): ListedMessage => ({
  ...item,
  ...messageStatus(recipients),
  expiresAt,
  scheduledAt: schedule?.current ?? null,
  recipients: recipients.map(listedRecipient),
});

/** Those that had been accepted by then, as they were. @param deps with the log up to then. */
const messagesThen = async (
  { context }: Pick<HttpDependencies, 'context'>,
  items: readonly ListedMessage[],
): Promise<readonly ListedMessage[]> => {
  const streams = items.map(({ messageId }) => messageStream(messageId));
  const states = new Map((await statesOf(context, message, streams)).map((state) => [state.accepted.messageId, state]));
  return items.flatMap((item) => {
    const state = states.get(item.messageId);
    return state === undefined ? [] : [listedThen(item, state)];
  });
};

const DESCRIPTION = `With \`at\`, messages accepted by that moment in their state at that moment. A page may then have fewer messages than
its limit, and the filter \`status\` is not available.`;

export const listMessagesRoute = endpoint(
  'GET /v1/messages',
  {
    summary: 'List messages, newest first',
    description: DESCRIPTION,
    query,
    answer: listSchema(listedMessageSchema).extend(asOfFields()),
  },
  async ({ caller, query: asked }, route) => {
    const { deps } = route;
    const by = { ...asked, after: decodeCursor(LIST, asked.after) };
    if (asked.at !== undefined) refuseStatus(asked);
    await readYourWrites(deps, ['messages']);
    const past = await routeAsOf(route, caller, asked.at);
    if (past === null) return listOf([], false, null);
    if (past === undefined) return serializePage(deps, await findMessages(deps, caller, by));
    const page = await findMessages(deps, caller, { ...by, after: cursorFrom(by.after, past.latest) });
    const list = await serializePage(deps, { ...page, items: await messagesThen(past.route.deps, page.items) });
    return { ...list, as_of: past.asOf };
  },
);
