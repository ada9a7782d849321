import type { ReportedFailure } from '../../domain/bounce/report.ts';
import { type Fields, firstField, readFields } from './mail-parts.ts';
import { hostName, mailAddress, quotedReply, readable, reportedAddress } from './quoted-reply.ts';
import { saidByAddress } from './text-report.ts';

/** A message goes to 50; more are told of where it was multiplied on its way, or by somebody who tries how much we read. */
const RECIPIENTS_MAX = 1000;

const STATUS = /^\s*([245])\.(\d{1,3})\.(\d{1,3})/;
/** RFC 3464 §2.3.6: `smtp; 550 5.1.1 …`, `X-Postfix; …`. */
const DIAGNOSTIC_TYPE = /^[\w.-]{1,40}\s*;\s*/;

const withoutType = (text: string): string => text.replace(DIAGNOSTIC_TYPE, '');

const addressesOf = (fields: Fields): readonly string[] => {
  const named = ['original-recipient', 'final-recipient', 'x-actual-recipient'];
  return [...new Set(named.flatMap((name) => reportedAddress(firstField(fields, name) ?? '')))];
};

const localPart = (address: string): string => address.slice(0, address.lastIndexOf('@'));

/**
 * The address that failed. Sendmail keeps the one that it was given as `Final-Recipient` and names what an alias led to
 * beside it; the same local part there is the same mailbox, with the name of its host.
 */
const failedOf = (fields: Fields): readonly string[] => {
  const final = mailAddress(firstField(fields, 'final-recipient') ?? '');
  const actual = mailAddress(firstField(fields, 'x-actual-recipient') ?? '');
  const isSame = actual.some((one) => final.some((other) => localPart(one) === localPart(other)));
  return actual.length === 0 || isSame ? final : actual;
};

/** What a report says to people of one recipient; '': nothing. */
type Said = (addresses: readonly string[]) => string;

const readSaid = (text: string): Said => {
  const byAddress = saidByAddress(text);
  return (addresses) => addresses.map((address) => byAddress.get(address)).find((said) => said !== undefined) ?? '';
};

/** RFC 3463 §3.5, X.4.7: the delivery time expired. */
const EXPIRED = /^[45]\.4\.7/;

/**
 * OpenSMTPD writes its last report as it writes of a delay, down to the words that it goes on trying: only what it says
 * of the recipient differs (`Envelope expired`). Others have this status for a delay (Exchange), and say until when.
 */
const isLastDelay = (fields: Fields, status: string, said: Said): boolean =>
  EXPIRED.test(status) && !fields.has('will-retry-until') && /\bexpired\b/i.test(said(addressesOf(fields)));

/** RFC 3464 §2.3.3; where it is left out, the status tells. */
const actionOf = (fields: Fields, status: string): string => {
  const action = firstField(fields, 'action')?.toLowerCase().split(/[\s(]/, 1)[0];
  if (action !== undefined && action !== '') return action;
  return status.startsWith('5') ? 'failed' : 'delayed';
};

/**
 * `5.0.0` says nothing: what the reply says is taken then. Neither does the `4.0.0` that Gmail writes where it gives up a
 * recipient without a reply, whose domain does not exist or accepts no mail.
 */
const enhancedOf = (status: string, quoted: string | null): string | null => {
  if (status === '' || status === '4.0.0') return quoted;
  return status.endsWith('.0.0') && quoted !== null ? quoted : status;
};

/** SendGrid writes `expired`, which RFC 3464 §2.3.3 does not have. */
const isGivenUp = (fields: Fields, status: string, said: Said): boolean => {
  const action = actionOf(fields, status);
  return action === 'failed' || action === 'expired' || (action === 'delayed' && isLastDelay(fields, status, said));
};

/** Its diagnostic; where there is none, what people are told of it. */
const diagnosticOf = (fields: Fields, addresses: readonly string[], said: Said): string => {
  const diagnostic = withoutType(firstField(fields, 'diagnostic-code') ?? '');
  return diagnostic === '' ? said(addresses) : diagnostic;
};

const failureOf = (fields: Fields, said: Said): ReportedFailure | null => {
  const [status = ''] = STATUS.exec(firstField(fields, 'status') ?? '') ?? [];
  if (!isGivenUp(fields, status.trim(), said)) return null;
  const addresses = addressesOf(fields);
  const diagnostic = diagnosticOf(fields, addresses, said);
  const quoted = quotedReply(diagnostic);
  const enhanced = enhancedOf(status.trim(), quoted.enhanced);
  const mx = hostName(withoutType(firstField(fields, 'remote-mta') ?? '')) ?? quoted.mx;
  const isPermanent = quoted.code === 0 ? enhanced?.startsWith('5') === true : quoted.code >= 500;
  return {
    addresses,
    failed: failedOf(fields),
    isPermanent,
    code: quoted.code,
    enhanced,
    mx,
    text: readable(diagnostic),
  };
};

const withText = (failure: ReportedFailure, said: string): ReportedFailure =>
  failure.text === '' ? { ...failure, text: readable(said) } : failure;

const isRecipient = (fields: Fields): boolean =>
  ['final-recipient', 'original-recipient', 'action', 'status'].some((name) => fields.has(name));

/**
 * Recipients that a `message/delivery-status` (RFC 3464, RFC 6533) says were given up; the delayed, relayed, expanded
 * and delivered ones are not. null: it names no recipient.
 * @param said what the report says to people: what became of a recipient where its fields do not tell.
 */
export const readDeliveryStatus = (text: string, said: string): readonly ReportedFailure[] | null => {
  const recipients = text
    .split(/\n[ \t]*\n/, 2 * RECIPIENTS_MAX)
    .map(readFields)
    .filter(isRecipient)
    .slice(0, RECIPIENTS_MAX);
  if (recipients.length === 0) return null;
  const toPeople = readSaid(said);
  const failures = recipients.flatMap((fields) => failureOf(fields, toPeople) ?? []);
  // The text for people is about the recipient if there is one; with several it cannot be assigned.
  return recipients.length === 1 ? failures.map((failure) => withText(failure, said)) : failures;
};
