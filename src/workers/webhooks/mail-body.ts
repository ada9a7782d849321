import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import type { WebhookFormat } from '../../domain/webhook/events.ts';
import { createSemaphore } from '../../lib/async/async.ts';
import type { LargeBody, PostBody } from './post-once.ts';

/** Bodies of posts that have a whole mail: made when the post starts, and only as many as the memory allows. */

/**
 * Bytes of mail that are posted at the same time. Each is in memory about eight times. More takes memory from everything else,
 * less lets one slow receiver delay more of the others.
 */
const BYTES_MAX = 25_000_000;
/** Bytes of mail of one organization, so that its slow receivers do not stop those of others. */
const SHARE_BYTES_MAX = 10_000_000;
/** Bytes of a mail without its attachments, which our own format has by their links. */
const BODIES_BYTES_MAX = 2_000_000;

interface MailPost {
  /** False: as if its contents were hidden. */
  readonly hasContents: boolean;
  /** Undefined: our own. */
  readonly format: WebhookFormat | undefined;
}

export type SerializeMail = (event: CustomerEvent, post: MailPost) => Promise<PostBody>;

const bytesOf = ({ facts: { inbound } }: CustomerEvent, { format }: MailPost): number | undefined =>
  format === undefined ? Math.min(inbound?.bytes ?? 0, BODIES_BYTES_MAX) : inbound?.bytes;

export const createMailBody = ({
  serializeMail,
}: {
  readonly serializeMail: SerializeMail;
}): ((event: CustomerEvent, post: MailPost) => LargeBody) => {
  const memory = createSemaphore({ capacity: BYTES_MAX, share: SHARE_BYTES_MAX });
  return (event, post) => (isLate, use) =>
    memory.run(
      async () => {
        if (isLate()) return null;
        const body = await serializeMail(event, post);
        return isLate() ? null : use(body);
      },
      bytesOf(event, post),
      event.organizationId,
    );
};
