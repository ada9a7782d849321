import { Readable } from 'node:stream';
import { z } from 'zod';
import { noteReading } from '../../../commands/audit.ts';
import type { ExistingMessage } from '../../../domain/message/message.ts';
import type { MessageBody } from '../../../domain/ports/contents.ts';
import type { OutgoingMail } from '../../../domain/ports/mail-transport.ts';
import { type Call, endpoint, type RouteContext } from '../../endpoint.ts';
import { pageOfText, withImages } from '../../pages/mail-page.ts';
import { imagesField, sealedMail } from '../../pages/sealed-mail.ts';
import { pageSchema } from '../../schemas/envelope.ts';
import { requireContent } from '../../schemas/message-content.ts';
import { loadMessage } from './messages.ts';

/** A message as it looks, and as it is written. Reading either is put on record, like reading its content. */

export const readContent = async (
  { caller, id, origin }: Pick<Call<unknown, unknown>, 'caller' | 'id' | 'origin'>,
  { deps }: RouteContext,
): Promise<{ readonly message: ExistingMessage; readonly body: MessageBody }> => {
  const { message } = await loadMessage(deps, caller, id);
  const body = await requireContent(deps.context.contents, message);
  await noteReading(deps.context, origin, { what: 'message_content', subjectId: id });
  return { message, body };
};

export const previewMessageRoute = endpoint(
  'GET /v1/messages/:id/preview',
  {
    summary: 'Preview a message as a page',
    description:
      'The html or the text in a sandboxed document, which cannot run scripts, submit forms or load remote content. ' +
      'Images from its own attachments are included, and links open a new window. Viewing is not counted as an ' +
      'opening, but it is recorded in the audit log.',
    query: z.strictObject({ images: imagesField }),
    answer: pageSchema,
    mediaType: 'text/html',
  },
  async (call, route) => {
    const { body } = await readContent(call, route);
    const { html, text = '', subject, attachments } = body;
    const page = html === undefined ? pageOfText(subject, text) : withImages(html, attachments);
    return sealedMail(call.reply, page, call.query.images);
  },
);

/** Without the parts that differ between copies. */
const mailOf = ({ accepted, acceptedAt }: ExistingMessage, body: MessageBody): OutgoingMail => ({
  envelope: {
    from: body.from.address,
    to: body.recipients.map(({ id, address }) => ({ recipientId: id, address })),
  },
  messageId: accepted.internetMessageId,
  body,
  ...(typeof body.unsubscribe === 'object' ? { unsubscribe: body.unsubscribe } : {}),
  date: new Date(acceptedAt),
  attempt: 1,
});

/** The source of a message, some 64 kB at a time. */
export const sourceOf = (
  { deps: { messageSources } }: RouteContext,
  { message, body }: { readonly message: ExistingMessage; readonly body: MessageBody },
): Promise<Iterable<Uint8Array>> => messageSources.of(mailOf(message, body));

const MEDIA_TYPE = 'message/rfc822';

export const getRawMessageRoute = endpoint(
  'GET /v1/messages/:id/raw',
  {
    summary: 'Read the source of a message',
    description:
      'RFC 5322 with MIME, as a file. Parts that differ between copies are missing: DKIM signatures, tracking, managed ' +
      'unsubscribe links and `Feedback-ID`. No copy contains `Bcc` recipients. Reading it is recorded in the audit log.',
    answer: z.string(),
    mediaType: MEDIA_TYPE,
    large: true,
  },
  async (call, route) => {
    const source = await sourceOf(route, await readContent(call, route));
    call.reply
      .type(MEDIA_TYPE)
      .header('content-disposition', `attachment; filename="${call.id}.eml"`)
      .header('content-security-policy', "sandbox; default-src 'none'");
    return Readable.from(source, { objectMode: false });
  },
);
