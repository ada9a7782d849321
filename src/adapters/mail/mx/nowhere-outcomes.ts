import type { OutgoingMail, RecipientOutcome } from '../../../domain/ports/mail-transport.ts';

export interface Nowhere {
  readonly outcome: 'bounced' | 'deferred';
  /** RFC 3463. */
  readonly enhanced: string | null;
  readonly text: string;
}

/** No server was asked, and none can be. @param destination what that tells something of; null: nothing. */
export const nowhereOutcomes = (
  { envelope }: OutgoingMail,
  { outcome, enhanced, text }: Nowhere,
  destination: string | null,
): readonly RecipientOutcome[] =>
  envelope.to.map(({ recipientId }) => ({
    ...{ recipientId, outcome, code: 0, enhanced, text },
    ...{ mx: null, address: null, tls: null, cipher: null, policy: null, stage: 'connect', destination },
  }));
