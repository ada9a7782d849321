import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import type { WebhookFormat } from '../../domain/webhook/events.ts';
import { type EventOfMessage, serializeWithHeads } from '../resources/events/serialize-events.ts';
import { resendEvent } from './resend-events.ts';
import { sendgridEvents } from './sendgrid-events.ts';

/** Bodies of posts in the format of a webhook: our own, or one that a receiver for another service understands. */

const FORMATS: Readonly<Record<WebhookFormat, (one: EventOfMessage) => object>> = {
  sendgrid: ({ event }) => sendgridEvents(event),
  resend: resendEvent,
  // Received mail is posted by `inbound-posts.ts`. These are shown, and posted for a ping.
  postmark_inbound: ({ event }) => event,
  sendgrid_inbound: ({ event }) => event,
};

/** Body of a post. @param format undefined: our own. */
export const postOf = (one: EventOfMessage, format: WebhookFormat | undefined): object =>
  format === undefined ? one.event : FORMATS[format](one);

/** Bodies of posts, each with one event. @param contents null: without contents of mail. */
export const serializePosts = async (
  contents: Pick<Contents, 'heads'> | null,
  events: readonly CustomerEvent[],
  format?: WebhookFormat,
): Promise<readonly object[]> => (await serializeWithHeads(contents, events)).map((one) => postOf(one, format));
