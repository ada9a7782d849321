import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../../domain/api-key/caller.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { CapturedContent, CapturedMail, Inbox, InboxFilter } from '../../domain/ports/mail.ts';
import { requireOwnerPresence } from '../auth/permissions.ts';
import { type Call, endpoint, type Registration, type RouteContext } from '../endpoint.ts';
import { listOf, listSchema, pageParameters, timeSchema } from '../fields.ts';
import { decodePlace, encodePlace } from '../reading.ts';
import { recordReading } from '../readings.ts';

const outlineFields = {
  id: z.string(),
  object: z.literal('captured_mail'),
  received_at: timeSchema(),
  envelope: z.strictObject({ from: z.string(), to: z.array(z.string()) }),
  subject: z.string().nullable(),
  size_bytes: z.number().int(),
  confidential: z
    .boolean()
    .describe(
      'true: the mail contains a sign-in link. Only an owner who has recently confirmed their presence can read it.',
    ),
  attachments: z.array(
    z.strictObject({
      filename: z.string().nullable(),
      content_type: z.string(),
      size_bytes: z.number().int(),
    }),
  ),
};

const listedCapturedMailSchema = z.strictObject(outlineFields).meta({ id: 'ListedCapturedMail' });
export type SerializedListedCapturedMail = z.infer<typeof listedCapturedMailSchema>;

const capturedMailSchema = z
  .strictObject({
    ...outlineFields,
    headers: z.array(z.strictObject({ name: z.string(), value: z.string() })),
    text: z.string().nullable(),
    html: z.string().nullable(),
    truncated: z
      .boolean()
      .describe('true: headers, text or html were longer than 1 MB and are cut here. The source is complete.'),
  })
  .meta({ id: 'CapturedMail' });
export type SerializedCapturedMail = z.infer<typeof capturedMailSchema>;

const serializeListedCapturedMail = (mail: CapturedMail): SerializedListedCapturedMail => ({
  id: mail.id,
  object: 'captured_mail',
  received_at: mail.receivedAt.toISOString(),
  envelope: { from: mail.envelope.from, to: [...mail.envelope.to] },
  subject: mail.subject,
  size_bytes: mail.sizeBytes,
  confidential: mail.isConfidential,
  attachments: mail.attachments.map(({ filename, contentType, sizeBytes }) => ({
    filename,
    content_type: contentType,
    size_bytes: sizeBytes,
  })),
});

const serializeCapturedMail = (mail: CapturedMail, content: CapturedContent): SerializedCapturedMail => ({
  ...serializeListedCapturedMail(mail),
  headers: content.headers.map(({ name, value }) => ({ name, value })),
  text: content.text,
  html: content.html,
  truncated: content.truncated,
});

const TEXT_CHARACTERS_MAX = 998;

/** Filters of captured mail, combined by and. */
const filterFields = {
  to: z.string().max(TEXT_CHARACTERS_MAX).optional().describe('Only mail to this recipient.'),
  subject: z
    .string()
    .max(TEXT_CHARACTERS_MAX)
    .optional()
    .describe('Only mail whose subject contains this text, in any letter case.'),
};

/** An organization sees mail from its own domains; a test key sees simulated mail. */
const inboxFilterOf = (
  { auth }: RouteContext,
  { organizationId, environment }: Caller,
  asked: Pick<InboxFilter, 'id' | 'to' | 'subject'>,
): InboxFilter => ({ ...asked, environment, fromDomains: auth.keyCache.domainNamesOf(organizationId) });

const LIST = 'inbox';
const listQuery = z.strictObject({ ...pageParameters, ...filterFields });

/** There is an inbox only while mail is captured; its routes are not registered otherwise. */
const whileCapturing =
  (routeOf: (inbox: Inbox) => Registration): Registration =>
  (route) => {
    if (route.deps.inbox !== null) routeOf(route.deps.inbox)(route);
  };

const listInboxRoute = whileCapturing((inbox) =>
  endpoint(
    'GET /v1/inbox',
    {
      summary: 'List captured mail',
      description: 'Lists the mail that this service captured instead of sending it, without contents.',
      query: listQuery,
      answer: listSchema(listedCapturedMailSchema),
    },
    async ({ caller, query: { limit, after, ...asked } }, route) => {
      const filter = inboxFilterOf(route, caller, asked);
      const place = decodePlace(LIST, after);
      const { mails, next } = await route.deps.readModels.inShareOf(caller.organizationId, () =>
        inbox.list({ limit, ...place, ...filter }),
      );
      return listOf(mails.map(serializeListedCapturedMail), next !== null, encodePlace(LIST, next));
    },
  ),
);

/** Another organization's mail is answered as mail that does not exist. */
const missing = (): DomainError => new DomainError('not_found', 'captured mail not found');

/**
 * A mail whose contents the caller may read; the reading is put on record.
 * @throws {DomainError} `not_found`, `permission_missing`, `presence_required`.
 */
const openMail = async (
  inbox: Inbox,
  {
    caller,
    callerNow,
    id,
    origin,
    request,
  }: Pick<Call<unknown, unknown>, 'caller' | 'callerNow' | 'id' | 'origin' | 'request'>,
  route: RouteContext,
): Promise<CapturedMail> => {
  const { mails } = await route.deps.readModels.inShareOf(caller.organizationId, () =>
    inbox.list({ limit: 1, ...inboxFilterOf(route, caller, { id }) }),
  );
  const [mail] = mails;
  if (mail === undefined) throw missing();
  if (mail.isConfidential)
    await requireOwnerPresence(route.auth, { caller, callerNow: () => callerNow('up to the log') });
  await recordReading(route.deps, { origin, request }, { what: 'captured_mail', subjectId: id });
  return mail;
};

const getCapturedMailRoute = whileCapturing((inbox) =>
  endpoint(
    'GET /v1/inbox/:id',
    {
      summary: 'Get a captured mail',
      description:
        'Returns headers, text and html, each cut at 1 MB. A mail with a sign-in link (`confidential`) is shown only to an ' +
        'owner who has confirmed their presence.',
      answer: capturedMailSchema,
      large: true,
      etag: false,
    },
    async (call, route) => {
      const mail = await openMail(inbox, call, route);
      const content = await inbox.content(mail, call.caller.organizationId);
      if (content === null) throw missing();
      return serializeCapturedMail(mail, content);
    },
  ),
);

/** No browser runs or shows what a mail contains. */
const asFile = (reply: FastifyReply, type: string, name: string): void => {
  reply
    .type(type)
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('content-security-policy', "sandbox; default-src 'none'")
    .header('x-content-type-options', 'nosniff');
};

export const SOURCE_TYPE = 'message/rfc822';

const getRawCapturedMailRoute = whileCapturing((inbox) =>
  endpoint(
    'GET /v1/inbox/:id/raw',
    { summary: 'Get the source of a captured mail', answer: z.string(), mediaType: SOURCE_TYPE, etag: false },
    async (call, route) => {
      const mail = await openMail(inbox, call, route);
      asFile(call.reply, SOURCE_TYPE, `${mail.id}.eml`);
      return Readable.from(inbox.source(mail), { objectMode: false });
    },
  ),
);

const PLACE = /^(?:0|[1-9]\d{0,5})$/;
export const ATTACHMENT_TYPE = 'application/octet-stream';
/** Bytes written at a time. */
const PIECE_BYTES = 65_536;

function* piecesOf(bytes: Uint8Array): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield Buffer.from(bytes.subarray(at, at + PIECE_BYTES));
}

/** A download of these bytes. */
export const fileOf = (
  reply: FastifyReply,
  { type, name, bytes }: { readonly type: string; readonly name: string; readonly bytes: Uint8Array },
): Readable => {
  asFile(reply, type, name);
  return Readable.from(piecesOf(bytes), { objectMode: false });
};

/** Place of an attachment in the path; null: there can be none. */
export const attachmentPlace = ({ params }: FastifyRequest): number | null => {
  const { place } = params as { readonly place: string }; // of the path
  return PLACE.test(place) ? Number(place) : null;
};

const getCapturedAttachmentRoute = whileCapturing((inbox) =>
  endpoint(
    'GET /v1/inbox/:id/attachments/:place',
    {
      summary: 'Get an attachment of a captured mail',
      description: 'Returns the attachment at this place in `attachments`, counted from 0.',
      answer: z.string(),
      mediaType: ATTACHMENT_TYPE,
      large: true,
      etag: false,
    },
    async (call, route) => {
      const place = attachmentPlace(call.request);
      const mail = await openMail(inbox, call, route);
      const bytes = place === null ? null : await inbox.attachment(mail, place, call.caller.organizationId);
      if (bytes === null) throw new DomainError('not_found', 'the captured mail has no attachment at this place');
      return fileOf(call.reply, { type: ATTACHMENT_TYPE, name: `${mail.id}-${place}`, bytes });
    },
  ),
);

const deleteQuery = z.strictObject(filterFields);

const deleteInboxRoute = whileCapturing((inbox) =>
  endpoint(
    'DELETE /v1/inbox',
    {
      summary: 'Delete captured mail',
      description: 'Deletes the mail that the query selects, or all of it without a query.',
      query: deleteQuery,
    },
    async ({ caller, query: asked }, route) => {
      await route.deps.readModels.inShareOf(caller.organizationId, () =>
        inbox.remove(inboxFilterOf(route, caller, asked)),
      );
    },
  ),
);

const deleteCapturedMailRoute = whileCapturing((inbox) =>
  endpoint('DELETE /v1/inbox/:id', { summary: 'Delete a captured mail' }, async ({ caller, id }, route) => {
    const filter = inboxFilterOf(route, caller, { id });
    if ((await route.deps.readModels.inShareOf(caller.organizationId, () => inbox.remove(filter))) === 0)
      throw missing();
  }),
);

export const INBOX_ROUTES = {
  listInboxRoute,
  getCapturedMailRoute,
  getRawCapturedMailRoute,
  getCapturedAttachmentRoute,
  deleteInboxRoute,
  deleteCapturedMailRoute,
};
