import { findLinkedRecipient, type LinkedRecipient } from '../../../commands/message/unsubscribe-recipient.ts';
import { escapeHtml } from '../../../domain/escape-html.ts';
import { viewUrl, withViewUrl } from '../../../domain/message/recipient-link.ts';
import type { MessageBody, StoredAttachment } from '../../../domain/ports/contents.ts';
import { NO_TRACKING, trackedHtml } from '../../../domain/tracking/tracking.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { publicRoute } from '../../pages/define-page.ts';
import { secretHeaders } from '../../pages/page.ts';
import { requireContent } from '../../schemas/message-content.ts';

/**
 * `View in browser`: the body of a mail as its recipient got it, and nothing of its headers, so that no other recipient is
 * named. It is a stranger's html: it runs and posts nothing, and has an origin of its own. Looking at it counts as nothing;
 * its links are those of the recipient's copy, with the same tokens.
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

/** Images of a mail that are shown. More: a page that phones cannot load. The others leave their alternative text. */
const IMAGE_CHARACTERS_MAX = 5_000_000;
const IMAGE_TYPE = /^image\/[a-z0-9.+-]+$/i;
/** In an attribute or a style. */
const INLINE_IMAGE = /(["'(=])cid:([^"'()<>\s]{1,200})/gi;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** The html with what it shows of the mail's own attachments (RFC 2392) in it. */
const withImages = (html: string, attachments: readonly StoredAttachment[]): string => {
  const images = new Map<string, StoredAttachment>();
  for (const each of attachments) {
    if (each.contentId !== undefined && IMAGE_TYPE.test(each.contentType)) images.set(each.contentId, each);
  }
  let left = IMAGE_CHARACTERS_MAX;
  return html.replace(INLINE_IMAGE, (reference: string, before: string, id: string) => {
    const image = images.get(decoded(id));
    if (image === undefined || image.content.length > left) return reference;
    left -= image.content.length;
    return `${before}data:${image.contentType};base64,${image.content.replace(/\s/g, '')}`;
  });
};

/** A mail without html. */
const pageOfText = (subject: string, text: string): string => `<!doctype html>
<html>
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(subject)}</title>
<style>:root { color-scheme: light dark } pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; max-width: 45rem; margin: 2rem auto; padding: 0 1rem }</style></head>
<body><pre>${escapeHtml(text)}</pre></body>
</html>
`;

/** Relative to the page, wherever the mail's own links lead: `/view/{token}` beside `/c/{token}`. */
const BASE = '..';

const htmlOf = async (
  { htmlTracker, trackingKeys, publicUrl }: Pick<HttpDependencies, 'htmlTracker' | 'trackingKeys' | 'publicUrl'>,
  { message: { state }, recipientId }: LinkedRecipient,
  body: MessageBody & { readonly html: string },
): Promise<string> => {
  const { messageId, tracking = NO_TRACKING } = state.accepted;
  const untracked = { publicUrl, unsubscribe: body.unsubscribe };
  const copy = { messageId, recipientId };
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
      'is kept. Looking at it is not counted; its links are.',
  },
  async ({ token }, reply, { deps }) => {
    const recipient = await findLinkedRecipient(deps.context, 'view', token);
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
