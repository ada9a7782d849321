import { z } from 'zod';
import { loadInbound } from '../../commands/inbound/receive-mail.ts';
import { organizationSecret } from '../../commands/organization.ts';
import { addressDigest } from '../../commands/suppression.ts';
import type { Caller } from '../../domain/api-key/caller.ts';
import { FORWARD_DEFERRALS, FORWARD_FAILURES } from '../../domain/inbound/events.ts';
import type { Forward } from '../../domain/inbound/forward.ts';
import type { ExistingInbound } from '../../domain/inbound/inbound.ts';
import { environmentSchema } from '../../domain/kernel/environment.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { subjectWordDigests, subjectWords } from '../../domain/message/search-words.ts';
import type { InboundBody, InboundHead, LoadedContents } from '../../domain/ports/contents.ts';
import { type ParsedPart, parseMailbox } from '../../lib/mime/mime.ts';
import type { ListPage } from '../../lib/projections/projections.ts';
import type { ListInbound } from '../../projections/inbound.ts';
import { visibleDomainId } from '../auth/permissions.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { idParameter, pageSchema, timeParameter, timeSchema } from '../fields.ts';
import { imagesField, pageOfText, sealedMail, withImages } from '../pages/mail-page.ts';
import { listEndpoint } from '../reading.ts';
import { recordReading } from '../readings.ts';
import { inboundBodyFields, inboundFactFields, inboundHeadFields, smtpSchema } from './events/event.ts';
import {
  type LinkTo,
  serializeInboundBody,
  serializeInboundFacts,
  serializeInboundHead,
  serializeSmtp,
} from './events/serialize-events.ts';
import {
  attachmentFile,
  attachmentLinks,
  downloadInboundAttachmentRoute,
  partsOf,
  requireKind,
} from './inbound-attachments.ts';
import { ATTACHMENT_TYPE, attachmentPlace, fileOf, SOURCE_TYPE } from './inbox.ts';

/** Replies to forwarded mail are stored without their texts, which quote addresses. */
const NO_TEXTS: LoadedContents = new Map();

const forwardSchema = z.strictObject({
  status: z
    .enum(['pending', 'sending', 'deferred', 'forwarded', 'failed'])
    .describe('`deferred`: another attempt follows. `failed`: the message is stored, and is not forwarded any more.'),
  attempts: z.int(),
  reason: z
    .enum([...FORWARD_FAILURES, ...FORWARD_DEFERRALS])
    .nullable()
    .describe('Why it was deferred or failed. `unknown`: a server may have accepted it, but the reply was lost.'),
  next_attempt_at: timeSchema().nullable(),
  smtp: smtpSchema.nullable().describe('Last reply. null: no server has replied.'),
});

export const inboundSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('inbound_message'),
    domain_id: z.string(),
    environment: environmentSchema,
    received_at: timeSchema(),
    ...inboundHeadFields,
    ...inboundFactFields,
    ...inboundBodyFields,
    forward: forwardSchema.nullable().describe('null: no route forwards it.'),
  })
  .meta({ id: 'InboundMessage' });

export type SerializedInbound = z.infer<typeof inboundSchema>;

const listedInboundSchema = inboundSchema
  .pick({ id: true, object: true, domain_id: true, environment: true, received_at: true, forward: true })
  .extend({ ...inboundHeadFields, ...inboundFactFields })
  .meta({ id: 'ListedInboundMessage' });

export type SerializedListedInbound = z.infer<typeof listedInboundSchema>;

const serializeForward = ({ status, attempt, reason, dueAt, smtp }: Forward): z.infer<typeof forwardSchema> => ({
  status,
  attempts: attempt,
  reason,
  next_attempt_at: status === 'pending' || status === 'deferred' ? dueAt : null,
  smtp: smtp === null ? null : serializeSmtp(smtp, NO_TEXTS),
});

/** @param head null: it was removed. */
const serializeListedInbound = (
  found: ExistingInbound,
  head: InboundHead | null,
  linkTo?: LinkTo,
): SerializedListedInbound => ({
  id: found.inboundId,
  object: 'inbound_message',
  domain_id: found.domainId,
  environment: found.environment ?? 'live',
  received_at: found.createdAt,
  ...serializeInboundHead(head, linkTo),
  ...serializeInboundFacts(found),
  forward: found.forward === undefined ? null : serializeForward(found.forward),
});

/** Serializes an inbound message with links to its attachments. */
export const serializeInbound = async (
  { context, publicUrl }: Pick<HttpDependencies, 'context' | 'publicUrl'>,
  found: ExistingInbound,
  body: InboundBody,
): Promise<SerializedInbound> => ({
  ...serializeListedInbound(found, body, await attachmentLinks({ ...context, publicUrl }, found)),
  ...serializeInboundBody(body),
});

const missing = (): DomainError => new DomainError('not_found', 'inbound message not found');

/** Loads an inbound message that the caller may see. @throws {DomainError} `not_found`, `other_organization`. */
export const loadVisibleInbound = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<ExistingInbound> => {
  const found = await loadInbound(context, caller.organizationId, id);
  const domainId = visibleDomainId(caller);
  if (found.environment !== caller.environment) throw missing();
  if (domainId !== null && found.domainId !== domainId) throw missing();
  return found;
};

type Asked = Pick<Call<unknown, unknown>, 'caller' | 'id' | 'origin' | 'request'>;

/** Reads a content of an inbound message, which is put on record. */
const readContent = async <Kind extends 'inbound' | 'inbound_raw'>(
  { caller, id, origin, request }: Asked,
  { deps }: RouteContext,
  kind: Kind,
) => {
  const found = await loadVisibleInbound(deps, caller, id);
  const contentId = kind === 'inbound' ? found.contentId : found.rawId;
  const body = requireKind((await deps.context.contents.get([contentId])).get(contentId), kind);
  await recordReading(deps, { origin, request }, { what: 'inbound_content', subjectId: id });
  return { found, body };
};

const getInboundRoute = endpoint(
  'GET /v1/inbound/:id',
  {
    summary: 'Get an inbound message',
    description:
      'Returns a received message with its headers and bodies. They are stored for the retention time of the organization ' +
      '(`content_retention_days`); afterwards the response is 410. Each reading is recorded in the audit log. The id of ' +
      'an inbound message does not begin with a time: the same mail, received twice, has the same id.',
    answer: inboundSchema,
    large: true,
    etag: false,
  },
  async (call, route) => {
    const { found, body } = await readContent(call, route, 'inbound');
    return serializeInbound(route.deps, found, body);
  },
);

const SUBJECT_CHARACTERS_MAX = 1000;
/** RFC 5321 §4.5.3.1: a local part of 64, the @ and a domain of 255. */
const ADDRESS_CHARACTERS_MAX = 320;

export const address = () =>
  z
    .string()
    .max(ADDRESS_CHARACTERS_MAX)
    .refine((text) => typeof parseMailbox(text) !== 'string', 'is not an email address');

export const INBOUND_FILTERS = {
  from: address().optional().describe('Only messages from this address: the return path, or a sender in the header.'),
  to: address().optional().describe('Only messages that this address received.'),
  domain_id: idParameter('domain').describe('Only messages to this domain, by id.'),
  subject: z
    .string()
    .max(SUBJECT_CHARACTERS_MAX)
    .refine((text) => subjectWords(text).length > 0, 'must contain a word of two characters or more')
    .optional()
    .describe('Words of the subject. All must occur, for as long as the contents are stored.'),
  in_reply_to_message_id: idParameter('message').describe(
    'Only messages that answer this message of yours, by its id.',
  ),
  since: timeParameter().optional().describe('Only messages received at or after this time (ISO 8601).'),
  until: timeParameter().optional().describe('Only messages received before this time (ISO 8601).'),
};

const inboundFilter = z.strictObject(INBOUND_FILTERS);
type FindInbound = z.output<typeof inboundFilter> & Pick<ListInbound, 'limit' | 'after'>;

/** Inbound messages that the caller may see, newest first. */
export const findInbound = async (
  deps: Pick<HttpDependencies, 'context' | 'readModels'>,
  caller: Caller,
  { from, to, subject, domain_id: asked, in_reply_to_message_id: answered, since, until, limit, after }: FindInbound,
): Promise<ListPage<ExistingInbound>> => {
  const { organizationId, environment } = caller;
  const own = visibleDomainId(caller);
  if (own !== null && asked !== undefined && asked !== own) return { items: [], hasMore: false, next: null };
  const secret = await organizationSecret(deps.context.secrets, organizationId);
  const digestOf = (text: string | undefined) => (text === undefined ? null : addressDigest(secret, text));
  return deps.readModels.inbound.list({
    organizationId,
    environment,
    limit,
    after,
    domainId: own ?? asked ?? null,
    fromDigest: digestOf(from),
    toDigest: digestOf(to),
    words: subjectWordDigests(secret, subject ?? ''),
    inReplyToMessageId: answered ?? null,
    since: since ?? null,
    until: until ?? null,
  });
};

const listInboundRoute = listEndpoint(
  'GET /v1/inbound',
  {
    summary: 'List inbound messages',
    description: 'Lists received messages without their bodies, newest first. Filters are combined by and.',
    of: 'inbound',
    item: listedInboundSchema,
    filters: INBOUND_FILTERS,
  },
  async (filter, caller, { deps }) => {
    const page = await findInbound(deps, caller, filter);
    const heads = await deps.context.contents.heads(page.items.map(({ contentId }) => contentId));
    const items = page.items.map((found) => {
      const head = heads.get(found.contentId);
      return serializeListedInbound(found, head?.kind === 'inbound' ? head : null);
    });
    return { ...page, items };
  },
);

/** Parts of the mail that its html may show. The original is read only if the html names one. */
const imagesOf = async (
  route: RouteContext,
  caller: Caller,
  { html, rawId }: { readonly html: string; readonly rawId: string },
): Promise<readonly ParsedPart[]> => {
  if (!html.includes('cid:')) return [];
  const raw = (await route.deps.context.contents.get([rawId])).get(rawId);
  return raw?.kind === 'inbound_raw' ? partsOf(route.deps, caller.organizationId, raw) : [];
};

const previewInboundRoute = endpoint(
  'GET /v1/inbound/:id/preview',
  {
    summary: 'Preview an inbound message',
    description:
      'Returns the sanitized html, or the text, in a sandboxed document that cannot run scripts, submit forms or load remote ' +
      'content. Images from its attachments are included, and links open in a new window. Viewing is recorded in the audit log.',
    query: z.strictObject({ images: imagesField }),
    answer: pageSchema,
    mediaType: 'text/html',
  },
  async (call, route) => {
    const { found, body } = await readContent(call, route, 'inbound');
    const { subject, sanitizedHtml: html, text } = body;
    const page =
      html === null
        ? pageOfText(subject, text ?? '')
        : withImages(html, await imagesOf(route, call.caller, { html, rawId: found.rawId }));
    return sealedMail(call.reply, page, call.query.images);
  },
);

const getRawInboundRoute = endpoint(
  'GET /v1/inbound/:id/raw',
  {
    summary: 'Get the source of an inbound message',
    description: 'Returns the message as it was received (RFC 5322 with MIME).',
    answer: z.string(),
    mediaType: SOURCE_TYPE,
    large: true,
    etag: false,
  },
  async (call, route) => {
    const { body } = await readContent(call, route, 'inbound_raw');
    return fileOf(call.reply, {
      type: SOURCE_TYPE,
      name: `${call.id}.eml`,
      bytes: Buffer.from(body.content, 'base64'),
    });
  },
);

const getInboundAttachmentRoute = endpoint(
  'GET /v1/inbound/:id/attachments/:place',
  {
    summary: 'Get an attachment of an inbound message',
    description:
      'Returns the attachment at this place in `attachments`, counted from 0. Always `application/octet-stream`, so that no ' +
      'browser runs it.',
    answer: z.string(),
    mediaType: ATTACHMENT_TYPE,
    large: true,
    etag: false,
  },
  async (call, route) => {
    const { body } = await readContent(call, route, 'inbound_raw');
    const place = attachmentPlace(call.request);
    const name = `${call.id}-${place}`;
    return attachmentFile(route.deps, call.reply, {
      organizationId: call.caller.organizationId,
      raw: body,
      place,
      name,
    });
  },
);

export const INBOUND_ROUTES = {
  listInboundRoute,
  getInboundRoute,
  previewInboundRoute,
  getRawInboundRoute,
  getInboundAttachmentRoute,
  downloadInboundAttachmentRoute,
};
