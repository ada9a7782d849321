/** A recipient whom the other side has given up. */
export interface ReportedFailure {
  /** As `canonicalAddress` writes them; none: the report names nobody. */
  readonly addresses: readonly string[];
  /** Another try would come to the same; false: it was given up after tries, or nobody says why. */
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
export type Uneventful = 'automatic reply' | 'not given up' | 'not a report';

/** What a mail that came back says. */
export type Report =
  | { readonly kind: 'failures'; readonly failures: readonly ReportedFailure[] }
  /** Somebody called it spam (RFC 5965). `addresses`: as it names them; none where it was redacted. */
  | { readonly kind: 'complaint'; readonly addresses: readonly string[] }
  | { readonly kind: 'nothing'; readonly why: Uneventful };

export interface InboundReport {
  readonly report: Report;
  /** What servers were told the envelope by (RFC 3464 §2.2.1), as it stands, unproved; null: the report names none. */
  readonly envelopeId: string | null;
  /** Local parts of return addresses, and tokens of links, in the message it returns: as they stand, unproved. */
  readonly quoted: { readonly localParts: readonly string[]; readonly linkTokens: readonly string[] };
}
