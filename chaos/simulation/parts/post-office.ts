import type { EnvelopeRecipient, OutgoingMail } from '../../../src/domain/ports/mail-transport.ts';
import type { Ground } from '../ground.ts';
import type { Process } from '../process.ts';
import type { Mood, Operators } from './operators.ts';

/** A copy of a message that the other side has taken. */
export interface Copy {
  /** As the header says it. */
  readonly internetMessageId: string;
  readonly recipientId: string;
  readonly attempt: number;
  /** The process that sent it. */
  readonly sender: string;
  /** When the final dot left there, and when it was read here. */
  readonly leftMs: number;
  readonly atMs: number;
  /** The link in its `List-Unsubscribe`. */
  readonly unsubscribeUrl: string | undefined;
}

/** What the local part of an address makes the other side say to RCPT, again and again. */
export type Verdict = 'taken' | 'refused' | 'later';

/** The servers of all recipients. */
export interface PostOffice {
  /** Sessions in progress, whether or not a caller still waits for the outcome. */
  readonly sessions: Map<object, Process>;
  /** How the servers of a recipient answer connections. */
  mood(recipient: EnvelopeRecipient): Mood;
  verdict(recipient: EnvelopeRecipient): Verdict;
  /** What follows the final dot. */
  take(mail: OutgoingMail, to: readonly EnvelopeRecipient[], sent: Pick<Copy, 'sender' | 'leftMs'>): void;
  copies(): readonly Copy[];
  onCopy(listener: (copy: Copy) => void): void;
}

/** `grey2-…@…`: taken after so many refusals for now. */
const GREY = /^grey(\d)/;

export const createPostOffice = ({ scheduler, trace }: Ground, { moodOf }: Operators): PostOffice => {
  const copies: Copy[] = [];
  const listeners: ((copy: Copy) => void)[] = [];
  const asked = new Map<string, number>();

  return {
    sessions: new Map(),
    mood: ({ address }) => moodOf(address.split('@')[1] ?? ''),
    verdict: ({ address, recipientId }) => {
      if (address.startsWith('bounce')) return 'refused';
      if (address.startsWith('never')) return 'later';
      const patience = Number(GREY.exec(address)?.[1] ?? 0);
      const times = (asked.get(recipientId) ?? 0) + 1;
      asked.set(recipientId, times);
      return times > patience ? 'taken' : 'later';
    },
    take: (mail, to, sent) => {
      for (const { recipientId } of to) {
        const copy: Copy = {
          internetMessageId: mail.messageId,
          recipientId,
          attempt: mail.attempt,
          ...sent,
          atMs: scheduler.nowMs(),
          unsubscribeUrl: mail.unsubscribe?.url,
        };
        trace.note(copy.atMs, `mail ${copy.recipientId} attempt ${copy.attempt} from ${copy.sender}`);
        copies.push(copy);
        for (const listener of listeners) listener(copy);
      }
    },
    copies: () => copies,
    onCopy: (listener) => listeners.push(listener),
  };
};
