import type { EnvelopeRecipient, OutgoingMail } from '../../../src/domain/ports/mail.ts';
import type { Ground } from '../ground.ts';
import type { Process } from '../process.ts';
import type { Mood, Operators } from './operators.ts';

/** A copy of a message that the receiving server has accepted. */
export interface Copy {
  /** Value of the Message-ID header. */
  readonly internetMessageId: string;
  readonly recipientId: string;
  readonly attempt: number;
  /** The process that sent it. */
  readonly sender: string;
  /** When the final dot was sent and when it was received. */
  readonly leftMs: number;
  readonly atMs: number;
  /** Link in the `List-Unsubscribe` header. */
  readonly unsubscribeUrl: string | undefined;
}

/** Consistent reply of the receiving server to RCPT, chosen by the local part of the address. */
export type Verdict = 'taken' | 'refused' | 'later';

/** The mail servers of all recipients. */
export interface PostOffice {
  /** Sessions in progress, even if the caller no longer waits for the outcome. */
  readonly sessions: Map<object, Process>;
  /** How a recipient's servers respond to connections. */
  mood(recipient: EnvelopeRecipient): Mood;
  verdict(recipient: EnvelopeRecipient): Verdict;
  /** Handles the message after the final dot. */
  take(mail: OutgoingMail, to: readonly EnvelopeRecipient[], sent: Pick<Copy, 'sender' | 'leftMs'>): void;
  copies(): readonly Copy[];
  onCopy(listener: (copy: Copy) => void): void;
}

/** `grey2-…@…`: accepted after that many temporary rejections. */
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
