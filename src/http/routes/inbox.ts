import { z } from 'zod';
import { noteReading } from '../../commands/audit.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { CapturedMail, Inbox, InboxFilter } from '../../domain/ports/inbox.ts';
import { endpoint, type Registration, type RouteContext } from '../endpoint.ts';
import { decodePlace, encodePlace } from '../lists.ts';
import { capturedMailSchema, type SerializedCapturedMail } from '../schemas/captured-mail.ts';
import { listOf, listSchema } from '../schemas/envelope.ts';
import { pageParameters } from '../validation/fields.ts';

export const serializeCapturedMail = (mail: CapturedMail): SerializedCapturedMail => ({
  id: mail.id,
  object: 'captured_mail',
  received_at: mail.receivedAt.toISOString(),
  envelope: { from: mail.envelope.from, to: [...mail.envelope.to] },
  headers: mail.headers.map(({ name, value }) => ({ name, value })),
  subject: mail.subject,
  text: mail.text,
  html: mail.html,
  attachments: mail.attachments.map(({ contentType, contentId, sizeBytes, ...rest }) => ({
    ...rest,
    content_type: contentType,
    content_id: contentId,
    size_bytes: sizeBytes,
  })),
  raw: mail.raw,
});

const TEXT_CHARACTERS_MAX = 998;

/** Filters of captured mail, combined by and. */
const filterFields = {
  to: z.string().max(TEXT_CHARACTERS_MAX).optional().describe('Only mail to this envelope recipient.'),
  subject: z
    .string()
    .max(TEXT_CHARACTERS_MAX)
    .optional()
    .describe('Only mail whose subject contains this, ignoring case.'),
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

export const listInboxRoute = whileCapturing((inbox) =>
  endpoint(
    'GET /v1/inbox',
    { summary: 'List captured mail, newest first', query: listQuery, answer: listSchema(capturedMailSchema) },
    async ({ caller, query: { limit, after, ...asked } }, route) => {
      const filter = inboxFilterOf(route, caller, asked);
      const { mails, next } = await inbox.list({ limit, ...decodePlace(LIST, after), ...filter });
      return listOf(mails.map(serializeCapturedMail), next !== null, encodePlace(LIST, next));
    },
  ),
);

/** Another organization's is not told from what does not exist. */
const missing = (): DomainError => new DomainError('not_found', 'captured mail not found');

export const getCapturedMailRoute = whileCapturing((inbox) =>
  endpoint(
    'GET /v1/inbox/:id',
    { summary: 'Read a captured mail', answer: capturedMailSchema, etag: false },
    async ({ caller, id, origin }, route) => {
      const { mails } = await inbox.list({ limit: 1, ...inboxFilterOf(route, caller, { id }) });
      const [mail] = mails;
      if (mail === undefined) throw missing();
      await noteReading(route.deps.context, origin, { what: 'captured_mail', subjectId: id });
      return serializeCapturedMail(mail);
    },
  ),
);

const deleteQuery = z.strictObject(filterFields);

export const deleteInboxRoute = whileCapturing((inbox) =>
  endpoint(
    'DELETE /v1/inbox',
    {
      summary: 'Delete captured mail',
      description: 'All of it, or the mail that the query selects.',
      query: deleteQuery,
    },
    async ({ caller, query: asked }, route) => {
      await inbox.remove(inboxFilterOf(route, caller, asked));
    },
  ),
);

export const deleteCapturedMailRoute = whileCapturing((inbox) =>
  endpoint('DELETE /v1/inbox/:id', { summary: 'Delete a captured mail' }, async ({ caller, id }, route) => {
    if ((await inbox.remove(inboxFilterOf(route, caller, { id }))) === 0) throw missing();
  }),
);
