import { canonicalAddress } from '../email-address.ts';

/** A recipient whom the other side has given up. */
export interface ReportedFailure {
  /** As `canonicalAddress` writes them; none: the report names no recipient. */
  readonly addresses: readonly string[];
  /** Another try would come to the same; false: it was given up after tries, or the reason is not known. */
  readonly isPermanent: boolean;
  /** Reply code (RFC 5321 §4.2), 0 where none is told. */
  readonly code: number;
  /** RFC 3463. */
  readonly enhanced: string | null;
  /** Host that refused it. */
  readonly mx: string | null;
  /** What was said, without control characters; may quote the address. */
  readonly text: string;
}

/** Why a mail that came back changes nothing. */
export type NoEffectReason = 'automatic reply' | 'not given up' | 'not a report';

/** What a mail that came back says. */
export type Report =
  | { readonly kind: 'failures'; readonly failures: readonly ReportedFailure[] }
  /** Somebody called it spam (RFC 5965). `addresses`: as it names them; none where it was redacted. */
  | { readonly kind: 'complaint'; readonly addresses: readonly string[] }
  | { readonly kind: 'nothing'; readonly why: NoEffectReason };

export interface InboundReport {
  readonly report: Report;
  /** What servers were told the envelope by (RFC 3464 §2.2.1), as it stands, unproved; null: the report names none. */
  readonly envelopeId: string | null;
  /** Local parts of return addresses, and tokens of links, in the message it returns: as they stand, unproved. */
  readonly quoted: { readonly localParts: readonly string[]; readonly linkTokens: readonly string[] };
}

/** A recipient of the message that was returned. */
export interface ReturnedRecipient {
  readonly id: string;
  /** null: the report does not name it. */
  readonly address: string | null;
}

export interface AttributedFailure {
  readonly recipientId: string;
  readonly failure: ReportedFailure;
}

const isAbout = (addresses: readonly string[], { address }: ReturnedRecipient): boolean =>
  address !== null && addresses.includes(canonicalAddress(address));

/** Those whom a report is about. @param candidates whom it can be about; one alone need not be named. */
export const recipientsNamed = (
  candidates: readonly ReturnedRecipient[],
  addresses: readonly string[],
): readonly ReturnedRecipient[] =>
  candidates.length === 1 ? candidates : candidates.filter((each) => isAbout(addresses, each));

/**
 * Whom the failures of a report are about. With one recipient in question it is that one, under whatever address it is
 * known where it failed (forwarding, an alias); otherwise those that are named. A failure without an address is about no recipient.
 */
export const attributeFailures = (
  candidates: readonly ReturnedRecipient[],
  failures: readonly ReportedFailure[],
): readonly AttributedFailure[] => {
  const failureOf = (recipient: ReturnedRecipient): ReportedFailure | undefined =>
    failures.find(({ addresses }) => isAbout(addresses, recipient));
  return candidates.flatMap((recipient) => {
    const failure = failureOf(recipient) ?? (candidates.length === 1 ? failures[0] : undefined);
    return failure === undefined ? [] : [{ recipientId: recipient.id, failure }];
  });
};
