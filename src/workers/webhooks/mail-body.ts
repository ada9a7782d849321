import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import { createSemaphore } from '../../lib/async/async.ts';
import type { LargeBody } from './post-once.ts';

/** Bodies of posts that have a whole mail: made when the post starts, and only as many as the memory allows. */

/**
 * Bytes of mail that are posted at the same time. Each is in memory about eight times. More takes memory from everything else,
 * less lets one slow receiver delay more of the others.
 */
const BYTES_MAX = 25_000_000;
/** Bytes of mail of one organization, so that its slow receivers do not stop those of others. */
const SHARE_BYTES_MAX = 10_000_000;

interface MailBody {
  readonly serializeMail: (event: CustomerEvent, hasContents: boolean) => Promise<object>;
}

export const createMailBody = ({
  serializeMail,
}: MailBody): ((event: CustomerEvent, hasContents: boolean) => LargeBody) => {
  const memory = createSemaphore({ capacity: BYTES_MAX, share: SHARE_BYTES_MAX });
  return (event, hasContents) => (isLate, use) =>
    memory.run(
      async () => {
        if (isLate()) return null;
        const body = JSON.stringify(await serializeMail(event, hasContents));
        return isLate() ? null : use(body);
      },
      event.facts.inbound?.bytes,
      event.organizationId,
    );
};
