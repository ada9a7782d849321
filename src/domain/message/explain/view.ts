import type { RecordedEvent } from '../../event-store.ts';
import type { MessageEvent } from '../../events.ts';
import { type LoadedContents, type ShownSmtp, showSmtp } from '../../shown-event.ts';
import type { SmtpFacts } from '../events.ts';
import type { ExistingMessage } from '../message.ts';
import type { ExplainedRecipient } from './explanation.ts';

export type Happening = RecordedEvent<MessageEvent>;

/** A message as its explanation sees it. */
export interface View {
  readonly message: ExistingMessage;
  readonly happenings: readonly Happening[];
  recipientOf(id: string): ExplainedRecipient;
  /** Some recipients in words: addresses while they are kept, ids after that. */
  nameOf(ids: readonly string[]): string;
  /** Of these recipients, each once. */
  domainsOf(ids: readonly string[]): readonly string[];
  smtpOf(facts: SmtpFacts): ShownSmtp;
  /** Whether it had been delivered to him before its event of this number. */
  wasDelivered(recipientId: string, sequence: number): boolean;
}

/** All fifty would hide what the sentence says. */
const NAMED_MAX = 3;

/** `a`, `a and b`, `a, b and c`. */
export const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

const inWords = (names: readonly string[]): string =>
  names.length <= NAMED_MAX
    ? listed(names)
    : listed([...names.slice(0, NAMED_MAX - 1), `${names.length - NAMED_MAX + 1} others`]);

/** @param contents heads of the message and of the replies that are quoted; what is missing is gone. */
export const createView = (
  message: ExistingMessage,
  happenings: readonly Happening[],
  contents: LoadedContents,
): View => {
  const head = contents.get(message.accepted.contentId);
  const addresses = new Map(
    head?.kind === 'message' ? head.recipients.map(({ id, address }) => [id, address] as const) : [],
  );
  const domains = new Map(message.recipients.map(({ id, domain }) => [id, domain]));
  const delivered = new Map<string, number>();
  for (const { type, data } of happenings) {
    if (type === 'RecipientDelivered') delivered.set(data.recipientId, data.sequence);
  }
  return {
    message,
    happenings,
    recipientOf: (id) => ({ id, address: addresses.get(id) ?? null }),
    nameOf: (ids) => inWords(ids.map((id) => addresses.get(id) ?? `recipient ${id}`)),
    domainsOf: (ids) => [...new Set(ids.map((id) => domains.get(id) ?? ''))].filter((domain) => domain !== ''),
    smtpOf: (facts) => showSmtp(facts, contents),
    wasDelivered: (recipientId, sequence) => (delivered.get(recipientId) ?? Number.POSITIVE_INFINITY) < sequence,
  };
};
