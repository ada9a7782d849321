import { canonicalAddress } from '../email-address.ts';
import type { ReportedFailure } from './report.ts';

/** A recipient of the message that was returned. */
export interface ReturnedRecipient {
  readonly id: string;
  /** null: it is erased. */
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
 * Whom the failures of a report are about. With one recipient in question it is him, under whatever address he is
 * known where it failed (forwarding, an alias); otherwise those who are named. What names nobody is about nobody.
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
