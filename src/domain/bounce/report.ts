import { canonicalAddress } from '../../lib/mime/mime.ts';

/** A recipient that the receiving system has given up on. */
export interface ReportedFailure {
  /** Normalized by `canonicalAddress`. Empty if the report names no recipient. */
  readonly addresses: readonly string[];
  /**
   * The address that finally failed, in every form in which it can be read. Behind an alias or a mailing list, it
   * differs from the address that the message was sent to. Empty if the report does not say, so that it is assumed to
   * be that address.
   */
  readonly failed: readonly string[];
  /**
   * True if a retry would fail in the same way. False if delivery was given up after retries, or if the reason is
   * unknown.
   */
  readonly isPermanent: boolean;
  /** Reply code (RFC 5321 §4.2); 0 if the report has none. */
  readonly code: number;
  /** RFC 3463. */
  readonly enhanced: string | null;
  /** Host that rejected the message. */
  readonly mx: string | null;
  /** The reply's text without control characters. It may quote the address. */
  readonly text: string;
}

/** Reason why a returned mail has no effect. */
export type NoEffectReason = 'automatic reply' | 'not given up' | 'not a report';

/** Content of a returned mail. */
export type Report =
  | { readonly kind: 'failures'; readonly failures: readonly ReportedFailure[] }
  /** A spam complaint (RFC 5965). `addresses`: as the report names them; empty if they were redacted. */
  | { readonly kind: 'complaint'; readonly addresses: readonly string[] }
  | { readonly kind: 'nothing'; readonly why: NoEffectReason };

export interface InboundReport {
  readonly report: Report;
  /**
   * Envelope id that the service passed to servers (RFC 3464 §2.2.1), as quoted and unverified; null if the report has
   * none.
   */
  readonly envelopeId: string | null;
  /** Local parts of return addresses, and link tokens, quoted from the returned message and unverified. */
  readonly quoted: { readonly localParts: readonly string[]; readonly linkTokens: readonly string[] };
}

/** A recipient of the returned message. */
export interface ReturnedRecipient {
  readonly id: string;
  /** Null if the report does not name it. */
  readonly address: string | null;
}

export interface AttributedFailure {
  readonly recipientId: string;
  readonly failure: ReportedFailure;
  /** True if another address failed, to which the recipient's alias or mailing list expands. */
  readonly isBehind: boolean;
}

const isAbout = (addresses: readonly string[], { address }: ReturnedRecipient): boolean =>
  address !== null && addresses.includes(canonicalAddress(address));

/**
 * Recipients that a report names.
 * @param candidates recipients that it can be about; a single one need not be named.
 */
export const recipientsNamed = (
  candidates: readonly ReturnedRecipient[],
  addresses: readonly string[],
): readonly ReturnedRecipient[] =>
  candidates.length === 1 ? candidates : candidates.filter((each) => isAbout(addresses, each));

/** 0: the recipient's own address failed. 1: the report does not say which address. 2: another address failed. */
const distanceOf = ({ failed }: ReportedFailure, { address }: ReturnedRecipient): 0 | 1 | 2 => {
  if (failed.length === 0) return 1;
  return address !== null && failed.includes(canonicalAddress(address)) ? 0 : 2;
};

/**
 * Assigns the failures of a report to recipients. A single candidate gets the failure, by whatever address it is named.
 * Otherwise only named recipients do, and a failure without an address is assigned to none. Of several failures of one
 * recipient, that of its own address wins: a dead member of a mailing list says nothing about the list.
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
