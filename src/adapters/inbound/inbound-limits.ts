import { clientNetworkOf } from '../../domain/kernel/addresses.ts';
import { sha256Hex } from '../../domain/kernel/digest.ts';
import type { RateLimiter } from '../../domain/kernel/rate-limits.ts';
import type { InboundMailOptions } from './receive-inbound.ts';

/** Bounds how much mail arrives by SMTP, so that neither a sender nor an organization keeps others waiting. */

interface InboundLimits {
  /** Copies a minute of one organization, in all processes. */
  readonly perOrganization: number;
  /** Mails a minute from one return path to one organization. */
  readonly perSender: number;
}

/**
 * A return path is easily forged: it is counted by the network of the client, so that a forger cannot stop the mail of the real
 * sender. Its address is not stored.
 */
export const createInboundLimits =
  (
    rateLimiter: Pick<RateLimiter, 'take'>,
    { perOrganization, perSender }: InboundLimits,
  ): InboundMailOptions['overLimit'] =>
  async ({ organizationId, from, client, copies }) => {
    const sender = sha256Hex(from.toLowerCase());
    const bySender = `inbound:${organizationId}:${clientNetworkOf(client)}:${sender}`;
    if (!(await rateLimiter.take(bySender, 1, perSender)).allowed) return 'too many messages from this sender';
    // A mail with more recipients than the limit must pass at some time.
    const cost = Math.min(copies, perOrganization);
    const { allowed } = await rateLimiter.take(`inbound:${organizationId}`, cost, perOrganization);
    return allowed ? null : 'too many messages for this organization';
  };
