import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import { SUPPRESSION_REASONS, type SuppressionReason } from '../../domain/suppression/events.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { integerParameter } from '../fields.ts';
import type { SerializedListedMessage } from '../resources/messages/message.ts';
import {
  entryIn,
  findSuppressed,
  listSuppressed,
  pageByNumber,
  suppress,
  totalOf,
  unsuppress,
} from './suppressions.ts';
import {
  type List,
  type PathNames,
  perform,
  refuseField,
  requireList,
  requireObject,
  sentenceOf,
  throughDay,
} from './translate.ts';

/** Lists of messages, opens, clicks and suppressions of the npm package `postmark`, by our own operations. */

const COUNT_DEFAULT = 100;
const COUNT_MAX = 500;
export const OFFSET_MAX = 10_000;
const TEXT_MAX = 1_000;

export const text = z.string().max(TEXT_MAX).optional();
const page = {
  count: integerParameter(1, COUNT_MAX).default(COUNT_DEFAULT),
  offset: integerParameter(0, OFFSET_MAX).default(0),
};

const STREAMS: Readonly<Record<string, 'transactional' | 'bulk'>> = { outbound: 'transactional', broadcast: 'bulk' };
export const STREAM_NAMES = { transactional: 'outbound', bulk: 'broadcast' } as const;

/** @throws {DomainError} `invalid_request`. */
const streamNamed = (name: string, field: string): 'transactional' | 'bulk' => {
  const stream = Object.hasOwn(STREAMS, name) ? STREAMS[name] : undefined;
  if (stream === undefined) throw refuseField(field, 'must be outbound or broadcast');
  return stream;
};

/** Filters by tag and stream, which all lists and counts have. @throws {DomainError} `invalid_request`. */
export const filtersOf = ({
  tag,
  messageStream,
}: {
  readonly tag: string | undefined;
  readonly messageStream: string | undefined;
}) => ({
  tag: tag === undefined ? undefined : `tag:${tag}`,
  stream: messageStream === undefined ? undefined : streamNamed(messageStream, 'messageStream'),
});

export const present = (fields: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

export const MESSAGE_FILTERS: PathNames = { to: 'recipient', from: 'fromEmail', since: 'fromDate', until: 'toDate' };

export const tagOf = (tags: readonly { readonly name: string; readonly value: string }[]): string =>
  tags.find(({ name }) => name === 'tag')?.value ?? '';

const recipientsOf = ({ recipients }: SerializedListedMessage, kind: 'to' | 'cc' | 'bcc') =>
  recipients.flatMap((one) => (one.kind === kind ? [{ Email: one.address ?? '', Name: null }] : []));

const OPEN: ReadonlySet<string> = new Set(['accepted', 'scheduled', 'deferred']);

const serializeMessage = (message: SerializedListedMessage) => ({
  MessageID: message.id,
  Tag: tagOf(message.tags),
  To: recipientsOf(message, 'to'),
  Cc: recipientsOf(message, 'cc'),
  Bcc: recipientsOf(message, 'bcc'),
  Recipients: message.recipients.map(({ address }) => address ?? ''),
  ReceivedAt: message.created_at,
  From: message.from ?? '',
  Subject: message.subject ?? '',
  Status: OPEN.has(message.status) ? 'Queued' : 'Sent',
  Metadata: message.metadata,
  MessageStream: STREAM_NAMES[message.stream],
  Sandboxed: message.environment === 'test',
});

const listPostmarkMessagesRoute = endpoint(
  'GET /compat/postmark/messages/outbound',
  {
    summary: 'getOutboundMessages',
    query: z.strictObject({
      ...page,
      recipient: text,
      fromEmail: text,
      tag: text,
      fromDate: text,
      toDate: text,
      subject: text,
      messageStream: text,
    }),
  },
  async (call, route) => {
    const { count, offset, recipient, fromEmail, tag, fromDate, toDate, subject, messageStream } = call.query;
    const filters = present({
      to: recipient,
      from: fromEmail,
      ...filtersOf({ tag, messageStream }),
      since: fromDate,
      until: throughDay(toDate),
      subject,
    });
    const found = await pageByNumber(
      (query) =>
        perform<List<SerializedListedMessage>>(route, call, 'GET /v1/messages', {
          query: { ...query, ...filters },
          names: MESSAGE_FILTERS,
        }),
      { offset, limit: count, instead: 'GET /v1/messages' },
      (message) => [serializeMessage(message)],
    );
    return { TotalCount: totalOf(offset, found), Messages: found.items };
  },
);

/** Our events `message.opened` and `message.clicked`. */
interface EngagementEvent {
  readonly timestamp: string;
  readonly data: {
    readonly message_id: string;
    readonly recipient: { readonly address: string | null };
    readonly tags: readonly { readonly name: string; readonly value: string }[];
    readonly first?: true;
    readonly client: string;
    readonly url?: string | null;
  };
}

const UNKNOWN = { Name: '', Company: '', Family: '' };

const serializeEngagement = ({ timestamp, data }: EngagementEvent) => ({
  Client: { Name: data.client, Company: '', Family: data.client },
  OS: UNKNOWN,
  Platform: '',
  UserAgent: '',
  Geo: {},
  MessageID: data.message_id,
  ReceivedAt: timestamp,
  Tag: tagOf(data.tags),
  Recipient: data.recipient.address ?? '',
});

const serializeOpen = (event: EngagementEvent) => ({
  ...serializeEngagement(event),
  RecordType: 'Open',
  FirstOpen: event.data.first === true,
  ReadSeconds: 0,
});

/** Links in a text are not tracked. */
const serializeClick = (event: EngagementEvent) => ({
  ...serializeEngagement(event),
  RecordType: 'Click',
  ClickLocation: 'HTML',
  OriginalLink: event.data.url ?? '',
});

/** The newest page of our feed is read, which pages by cursor. */
const EVENTS_MAX = 100;
const eventsPage = z.strictObject({
  count: integerParameter(1, COUNT_MAX).default(EVENTS_MAX),
  offset: integerParameter(0, OFFSET_MAX).default(0),
  tag: text,
});

const listEngagements = async (
  route: RouteContext,
  call: Call<unknown, z.output<typeof eventsPage>>,
  filters: { readonly types: 'message.opened' | 'message.clicked'; readonly message_id?: string },
): Promise<readonly EngagementEvent[]> => {
  const { count, offset, tag } = call.query;
  const what = filters.types === 'message.opened' ? 'opens' : 'clicks';
  if (count > EVENTS_MAX) throw refuseField('count', `must be at most ${EVENTS_MAX}: read more with GET /v1/events`);
  if (offset > 0) throw refuseField('offset', `must be 0: read earlier ${what} with GET /v1/events`);
  const query = { limit: String(count), ...filters };
  const { data } = await perform<List<EngagementEvent>>(route, call, 'GET /v1/events', {
    query: tag === undefined ? query : { ...query, tag: `tag:${tag}` },
  });
  return data.toReversed();
};

const listOpens = async (
  route: RouteContext,
  call: Call<unknown, z.output<typeof eventsPage>>,
  message: { readonly message_id?: string },
) => {
  const found = await listEngagements(route, call, { types: 'message.opened', ...message });
  return { TotalCount: found.length, Opens: found.map(serializeOpen) };
};

const listClicks = async (
  route: RouteContext,
  call: Call<unknown, z.output<typeof eventsPage>>,
  message: { readonly message_id?: string },
) => {
  const found = await listEngagements(route, call, { types: 'message.clicked', ...message });
  return { TotalCount: found.length, Clicks: found.map(serializeClick) };
};

const listPostmarkOpensRoute = endpoint(
  'GET /compat/postmark/messages/outbound/opens',
  { summary: 'getMessageOpens', query: eventsPage },
  (call, route) => listOpens(route, call, {}),
);

const listPostmarkMessageOpensRoute = endpoint(
  'GET /compat/postmark/messages/outbound/opens/:id',
  { summary: 'getMessageOpensForSingleMessage', query: eventsPage },
  (call, route) => listOpens(route, call, { message_id: call.id }),
);

const listPostmarkClicksRoute = endpoint(
  'GET /compat/postmark/messages/outbound/clicks',
  { summary: 'getMessageClicks', query: eventsPage },
  (call, route) => listClicks(route, call, {}),
);

const listPostmarkMessageClicksRoute = endpoint(
  'GET /compat/postmark/messages/outbound/clicks/:id',
  { summary: 'getMessageClicksForSingleMessage', query: eventsPage },
  (call, route) => listClicks(route, call, { message_id: call.id }),
);

/** Reason and origin in their words. */
const REASONS: Readonly<Record<SuppressionReason, readonly [reason: string, origin: string]>> = {
  bounce: ['HardBounce', 'Recipient'],
  complaint: ['SpamComplaint', 'Recipient'],
  unsubscribe: ['ManualSuppression', 'Recipient'],
  manual: ['ManualSuppression', 'Customer'],
  import: ['ManualSuppression', 'Customer'],
};

const streamOf = ({ request }: Call<unknown, unknown>): 'transactional' | 'bulk' =>
  streamNamed((request.params as { readonly stream: string }).stream, 'messageStream');

/** Reasons of ours that are in a list of theirs. */
const reasonsOf = (reason: string | undefined, origin: string | undefined): readonly SuppressionReason[] =>
  SUPPRESSION_REASONS.filter((one) => {
    const [theirs, by] = REASONS[one];
    return (reason ?? theirs) === theirs && (origin ?? by) === by;
  });

const suppressedAddress = async (
  route: RouteContext,
  call: Call<unknown, unknown>,
  address: string,
  by: Parameters<typeof entryIn>[1],
) => {
  const found = await findSuppressed(route, call, address, { address: 'emailAddress' });
  const entry = found === null ? undefined : entryIn(found, by);
  return entry === undefined ? [] : [{ address: found?.address ?? address, entry }];
};

const listPostmarkSuppressionsRoute = endpoint(
  'GET /compat/postmark/message-streams/:stream/suppressions/dump',
  {
    summary: 'getSuppressions',
    query: z.strictObject({ ...page, emailAddress: text, suppressionReason: text, origin: text }),
  },
  async (call, route) => {
    const { count, offset, emailAddress, suppressionReason, origin } = call.query;
    const by = { stream: streamOf(call), reasons: reasonsOf(suppressionReason, origin) };
    const items =
      emailAddress === undefined
        ? (await listSuppressed(route, call, { offset, limit: count, ...by })).items
        : await suppressedAddress(route, call, emailAddress, by);
    const Suppressions = items.map(({ address, entry: { reason, added_at } }) => ({
      EmailAddress: address,
      SuppressionReason: REASONS[reason][0],
      Origin: REASONS[reason][1],
      CreatedAt: added_at,
    }));
    return { Suppressions };
  },
);

/** Their own maximum. */
const SUPPRESSIONS_MAX = 50;

const addressesIn = (body: unknown): readonly string[] => {
  const { Suppressions } = requireObject(body);
  return requireList(Suppressions, 'Suppressions', SUPPRESSIONS_MAX).map((one, index) => {
    const { EmailAddress } = requireObject(one);
    if (typeof EmailAddress === 'string') return EmailAddress;
    throw refuseField(`Suppressions[${index}].EmailAddress`, 'is required, as text');
  });
};

const ADDRESSES: PathNames = { 'addresses[]': 'Suppressions[].EmailAddress', address: 'EmailAddress' };

const createPostmarkSuppressionsRoute = endpoint(
  'POST /compat/postmark/message-streams/:stream/suppressions',
  { summary: 'createSuppressions', body: z.unknown() },
  async (call, route) => {
    const addresses = addressesIn(call.body);
    const kept = await suppress(route, call, { addresses, scope: streamOf(call) }, ADDRESSES);
    const shown = kept.map(({ address }) => ({ EmailAddress: address, Status: 'Suppressed', Message: null }));
    return { Suppressions: shown };
  },
);

/** The sender cannot remove a complaint, as with Postmark. */
const REMOVABLE = ['bounce', 'unsubscribe', 'manual', 'import'] as const;

const deletePostmarkSuppressionsRoute = endpoint(
  'POST /compat/postmark/message-streams/:stream/suppressions/delete',
  { summary: 'deleteSuppressions', body: z.unknown() },
  async (call, route) => {
    const [stream, addresses] = [streamOf(call), addressesIn(call.body)];
    const remove = async (address: string) => {
      try {
        await unsuppress(route, call, { address, stream, reasons: REMOVABLE, names: ADDRESSES });
        return { EmailAddress: address, Status: 'Deleted', Message: null };
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        return { EmailAddress: address, Status: 'Failed', Message: sentenceOf(error) };
      }
    };
    const Suppressions = [];
    for (const address of addresses) Suppressions.push(await remove(address));
    return { Suppressions };
  },
);

/** All routes of this file, by the name of the operation. */
export const POSTMARK_READ_ROUTES = {
  listPostmarkMessagesRoute,
  listPostmarkOpensRoute,
  listPostmarkMessageOpensRoute,
  listPostmarkClicksRoute,
  listPostmarkMessageClicksRoute,
  listPostmarkSuppressionsRoute,
  createPostmarkSuppressionsRoute,
  deletePostmarkSuppressionsRoute,
};
