import { type Check, discovery } from '../discovery.ts';

const KIB = 1024;
/** Gmail shows no more of the html, counted in UTF-8. */
const CLIPPED_KIB = 102;
/** Many mailboxes and gateways take no more, and every recipient stores it. */
const MESSAGE_BYTES_MAX = 10_000_000;
const MEGABYTE = 1_000_000;

/** How much of the mail arrives and is shown. */
export const size: Check = function* ({ html, sizeBytes }) {
  const htmlBytes = Buffer.byteLength(html?.source ?? '');
  if (htmlBytes > CLIPPED_KIB * KIB) {
    const said = `the html is ${Math.ceil(htmlBytes / KIB)} kB: Gmail cuts it after ${CLIPPED_KIB} kB`;
    yield discovery('html-clipped', 'html', said);
  }
  if (sizeBytes > MESSAGE_BYTES_MAX) {
    const said = `the message is about ${(sizeBytes / MEGABYTE).toFixed(1)} MB`;
    yield discovery('message-large', 'attachments', said);
  }
};
