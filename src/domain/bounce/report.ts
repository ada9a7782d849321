import { canonicalAddress } from '../../lib/mime/mime.ts';

/** A recipient whom the other side has given up. */
export interface ReportedFailure {
  /** As `canonicalAddress` writes them; none: the report names no recipient. */
  readonly addresses: readonly string[];
  /**
   * The address that failed in the end, in each way that it can be meant. Behind an alias or a list it is another one than
   * the one that was written to. None: the report does not say, so it is the one that was written to.
   */
  readonly failed: readonly string[];
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
  /** Another address failed: one that the recipient's is an alias for, or a list of. */
  readonly isBehind: boolean;
}

const isAbout = (addresses: readonly string[], { address }: ReturnedRecipient): boolean =>
  address !== null && addresses.includes(canonicalAddress(address));

/** Those whom a report is about. @param candidates whom it can be about; one alone need not be named. */
export const recipientsNamed = (
  candidates: readonly ReturnedRecipient[],
  addresses: readonly string[],
): readonly ReturnedRecipient[] =>
  candidates.length === 1 ? candidates : candidates.filter((each) => isAbout(addresses, each));

/** 0: the recipient's own address failed; 1: the report does not say which; 2: another one did. */
const distanceOf = ({ failed }: ReportedFailure, { address }: ReturnedRecipient): 0 | 1 | 2 => {
  if (failed.length === 0) return 1;
  return address !== null && failed.includes(canonicalAddress(address)) ? 0 : 2;
};

/**
 * Recipients that the failures of a report are about. With one recipient in question it is that one, by whatever address it is named;
 * otherwise those that are named. A failure without an address is about no recipient. Of several failures of one recipient
 * that of its own address counts: a dead member of a list says nothing about the list.
 */
export const attributeFailures = (
  candidates: readonly ReturnedRecipient[],
  failures: readonly ReportedFailure[],
): readonly AttributedFailure[] =>
  candidates.flatMap((recipient) => {
    const named = failures.filter(({ addresses }) => isAbout(addresses, recipient));
    const own = named.length === 0 && candidates.length === 1 ? failures : named;
    const [failure] = own.toSorted((one, other) => distanceOf(one, recipient) - distanceOf(other, recipient));
    if (failure === undefined) return [];
    return [{ recipientId: recipient.id, failure, isBehind: distanceOf(failure, recipient) === 2 }];
  });
