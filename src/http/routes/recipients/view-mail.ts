import { findLinkedRecipient, type LinkedRecipient } from '../../../commands/message/unsubscribe-recipient.ts';
import { viewUrl, withViewUrl } from '../../../domain/message/recipient-link.ts';
import type { MessageBody } from '../../../domain/ports/contents.ts';
import { NO_TRACKING, trackedHtml } from '../../../domain/tracking/tracking.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { publicRoute } from '../../pages/define-page.ts';
import { pageOfText, withImages } from '../../pages/mail-page.ts';
import { secretHeaders } from '../../pages/page.ts';
import { requireContent } from '../../schemas/message-content.ts';
import { linkSuspended } from '../tracking.ts';

/**
 * `View in browser`: the body of a mail as its recipient got it, and nothing of its headers, so that no other recipient is
 * named. The html is untrusted: it is sandboxed without scripts and forms, in an origin of its own. Viewing it is not
 * counted as an opening. Its links are those of the recipient's copy, with the same tokens.
 */

const POLICY = [
  'sandbox allow-popups allow-popups-to-escape-sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline' https:",
  'img-src data: https: http:',
  'font-src data: https:',
  'media-src https:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Relative to the page, wherever the mail's own links lead: `/view/{token}` beside `/c/{token}`. */
const BASE = '..';

const htmlOf = async (
  { htmlTracker, trackingKeys, publicUrl }: Pick<HttpDependencies, 'htmlTracker' | 'trackingKeys' | 'publicUrl'>,
  { message: { state }, recipientId }: LinkedRecipient,
  body: MessageBody & { readonly html: string },
): Promise<string> => {
  const { messageId, tracking = NO_TRACKING } = state.accepted;
  const untracked = { publicUrl, unsubscribe: body.unsubscribe };
  const copy = { messageId, recipientId, organizationId: state.organizationId };
  const links = trackedHtml(trackingKeys, {
    copy,
    tracking: { ...tracking, opens: false },
    baseUrl: BASE,
    ...untracked,
  });
  return (await htmlTracker.htmlOf({ body, tracking: links })) ?? body.html;
};

export const viewMailRoute = publicRoute(
  'GET /view/:token',
  {
    summary: 'Show a mail in the browser',
    description:
      'What `{{ view_url }}` in a mail leads to: its html, or its text, as the recipient got it, for as long as the content ' +
      'is kept. Looking at it is not counted; its links are. 410: the content is gone, or the sender is suspended.',
  },
  async ({ token }, reply, { deps, auth: { keyCache } }) => {
    const recipient = await findLinkedRecipient(deps.context, 'view', token);
    if (keyCache.isSuspended(recipient.message.state.organizationId)) throw linkSuspended();
    const body = await requireContent(deps.context.contents, recipient.message.state);
    const { html, text = '', subject, attachments } = body;
    const page =
      html === undefined
        ? pageOfText(subject, text)
        : withImages(await htmlOf(deps, recipient, { ...body, html }), attachments);
    return () =>
      secretHeaders(reply)
        .header('content-security-policy', POLICY)
        .send(withViewUrl(page, viewUrl(deps.publicUrl, token)));
  },
);
