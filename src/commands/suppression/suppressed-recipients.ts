import { SANDBOX_DOMAIN } from '../../domain/email-address.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import { suppressionStream } from '../../domain/streams.ts';
import type { SuppressionReason } from '../../domain/suppression/events.ts';
import {
  hasOptedIn,
  type Suppression,
  strongestEntry,
  suppression,
  suppressionId,
} from '../../domain/suppression/suppression.ts';
import type { CommandContext } from '../context.ts';
import { load } from '../execute.ts';

const SENTENCES: Readonly<Record<SuppressionReason, string>> = {
  bounce: 'the address is suppressed: an earlier message to it bounced',
  complaint: 'the address is suppressed: its owner complained about an earlier message',
  unsubscribe: 'the address is suppressed: its owner unsubscribed',
  manual: 'the address is suppressed: it was put on the list',
  import: 'the address is suppressed: it was imported into the list',
};

/** What keeps the message from an address, in a sentence; null: nothing does. */
const reasonOf = (state: Suppression, { accepted: { stream, topic } }: ExistingMessage, now: string): string | null => {
  const entry = strongestEntry(state, { stream, topicId: topic?.id ?? null }, now);
  if (entry !== null)
    return entry.scope === 'topic' ? `${SENTENCES[entry.reason]} (${entry.topicId})` : SENTENCES[entry.reason];
  if (topic?.default !== 'out' || hasOptedIn(state, topic.id)) return null;
  return `its owner has not opted in to topic ${topic.id}, which is sent only to those who have`;
};

/** The fate of a sandbox address is in its name, at every message again. */
const isForced = ({ environment }: ExistingMessage, domain: string): boolean =>
  environment === 'test' && domain === SANDBOX_DOMAIN;

/**
 * Which of these recipients are to be sent nothing, by what the log says at this moment, with the reason in a sentence.
 * Reads of one moment share a query.
 */
export const suppressedRecipients = async (
  { store, system }: Pick<CommandContext, 'store' | 'system'>,
  message: ExistingMessage,
  recipientIds: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const { environment, accepted } = message;
  const wanted = accepted.recipients.filter(
    ({ id, domain }) => recipientIds.includes(id) && !isForced(message, domain),
  );
  const found = await Promise.all(
    wanted.map(async ({ id, digest }): Promise<readonly (readonly [string, string])[]> => {
      const { state } = await load(store, suppression, suppressionStream(suppressionId(environment, digest)));
      const reason = reasonOf(state, message, system.now().toISOString());
      return reason === null ? [] : [[id, reason]];
    }),
  );
  return new Map(found.flat());
};
