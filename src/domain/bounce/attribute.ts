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

/** The one recipient that it can be about; a message to one has no other. */
export const soleRecipient = (
  recipients: readonly ReturnedRecipient[],
  index: number | null,
): ReturnedRecipient | undefined => (recipients.length === 1 ? recipients[0] : recipients[index ?? -1]);

/** Those whom a report is about. @param index of the only one it can be about; null: it may be about any. */
export const recipientsNamed = (
  recipients: readonly ReturnedRecipient[],
  index: number | null,
  addresses: readonly string[],
): readonly ReturnedRecipient[] => {
  const sole = soleRecipient(recipients, index);
  return sole === undefined ? recipients.filter((each) => isAbout(addresses, each)) : [sole];
};

/**
 * Whom the failures of a report are about. With one recipient in question it is him, under whatever address he is
 * known where it failed (forwarding, an alias); otherwise those who are named. What names nobody is about nobody.
 */
export const attributeFailures = (
  recipients: readonly ReturnedRecipient[],
  index: number | null,
  failures: readonly ReportedFailure[],
): readonly AttributedFailure[] => {
  const failureOf = (recipient: ReturnedRecipient): ReportedFailure | undefined =>
    failures.find(({ addresses }) => isAbout(addresses, recipient));
  const sole = soleRecipient(recipients, index);
  const candidates = sole === undefined ? recipients : [sole];
  return candidates.flatMap((recipient) => {
    const failure = failureOf(recipient) ?? (sole === undefined ? undefined : failures[0]);
    return failure === undefined ? [] : [{ recipientId: recipient.id, failure }];
  });
};
