import { escapeHtml } from '../../lib/html/html.ts';
import type { StoredAttachment } from '../../lib/mime/mime.ts';

/** A mail as a page. It is a stranger's html: who sends it sends a policy with it under which nothing runs. */

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
export const withImages = (html: string, attachments: readonly StoredAttachment[]): string => {
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
export const pageOfText = (subject: string, text: string): string => `<!doctype html>
<html>
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(subject)}</title>
<style>:root { color-scheme: light dark } pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; max-width: 45rem; margin: 2rem auto; padding: 0 1rem }</style></head>
<body><pre>${escapeHtml(text)}</pre></body>
</html>
`;
