import type { MessageDraft } from '../../../src/domain/message/draft.ts';
import type { Random } from '../random.ts';

const FATES = ['ok', 'ok', 'ok', 'ok', 'bounce', 'grey1', 'grey2', 'never'];
const RECIPIENTS_MAX = 3;
const TTLS_SECONDS = [30, 300, 3600];
const LATER_MS_MAX = 40_000;

export interface DraftOptions {
  /** Stored in the metadata, so that the vault tells which request a message came from. */
  readonly name: string;
  readonly now: number;
  /** Domains of the recipients. */
  readonly domains: readonly string[];
}

/** A random message. The recipients' addresses select the outcome. */
export const draft = (random: Random, { name, now, domains }: DraftOptions): MessageDraft => {
  const recipients = Array.from({ length: random.between(1, RECIPIENTS_MAX) }, (_, index) => ({
    address: `${random.pick(FATES)}-${index}@${random.pick(domains)}`,
    kind: 'to' as const,
  }));
  const scheduledAt = new Date(now + random.between(2000, LATER_MS_MAX)).toISOString();
  return {
    from: { address: 'shop@example.test' },
    recipients,
    replyTo: [],
    subject: 'Hello',
    text: 'Hello there',
    headers: {},
    attachments: [],
    tags: [],
    metadata: { name },
    stream: 'transactional',
    ttlSeconds: random.pick(TTLS_SECONDS),
    ...(random.chance(0.25) ? { scheduledAt } : {}),
    ...(random.chance(0.25) ? { unsubscribe: 'managed' } : {}),
  };
};
