import type { ReportedFailure } from '../../domain/bounce/report.ts';
import { type Fields, firstField, readFields } from './mail-parts.ts';
import { hostName, mailAddress, quotedReply, readable, reportedAddress } from './quoted-reply.ts';
import { saidByAddress } from './text-report.ts';

/**
 * A message has up to 50 recipients. More are reported if it was multiplied in transit, or by an attacker who probes
 * our limits.
 */
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
 * The address that failed. Sendmail reports the address it received as `Final-Recipient`, and the target of an alias
 * separately. If both have the same local part, they are the same mailbox, and the target includes the name of its
 * host.
 */
const failedOf = (fields: Fields): readonly string[] => {
  const final = mailAddress(firstField(fields, 'final-recipient') ?? '');
  const actual = mailAddress(firstField(fields, 'x-actual-recipient') ?? '');
  const isSame = actual.some((one) => final.some((other) => localPart(one) === localPart(other)));
  return actual.length === 0 || isSame ? final : actual;
};

/** Text of a report for people about one recipient; '': none. */
type Said = (addresses: readonly string[]) => string;

const readSaid = (text: string): Said => {
  const byAddress = saidByAddress(text);
  return (addresses) => addresses.map((address) => byAddress.get(address)).find((said) => said !== undefined) ?? '';
};

/** RFC 3463 §3.5, X.4.7: the delivery time expired. */
const EXPIRED = /^[45]\.4\.7/;

/**
 * OpenSMTPD writes its final report like a report of a delay, even claiming that it goes on trying. Only the text about
 * the recipient differs (`Envelope expired`). Other servers use this status for a delay (Exchange), and add a deadline.
 */
const isLastDelay = (fields: Fields, status: string, said: Said): boolean =>
  EXPIRED.test(status) && !fields.has('will-retry-until') && /\bexpired\b/i.test(said(addressesOf(fields)));

/** RFC 3464 §2.3.3. If the action is missing, the status determines it. */
const actionOf = (fields: Fields, status: string): string => {
  const action = firstField(fields, 'action')?.toLowerCase().split(/[\s(]/, 1)[0];
  if (action !== undefined && action !== '') return action;
  return status.startsWith('5') ? 'failed' : 'delayed';
};

/**
 * `5.0.0` carries no information, so the code in the reply is used instead. The same applies to `4.0.0`, which Gmail
 * writes when it gives up without a reply because the domain does not exist or accepts no mail.
 */
const enhancedOf = (status: string, quoted: string | null): string | null => {
  if (status === '' || status === '4.0.0') return quoted;
  return status.endsWith('.0.0') && quoted !== null ? quoted : status;
};

/** SendGrid writes `expired`, which RFC 3464 §2.3.3 does not define. */
const isGivenUp = (fields: Fields, status: string, said: Said): boolean => {
  const action = actionOf(fields, status);
  return action === 'failed' || action === 'expired' || (action === 'delayed' && isLastDelay(fields, status, said));
};

/** The diagnostic of a recipient. If there is none, the text for people about it. */
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
 * Recipients that were given up according to a `message/delivery-status` (RFC 3464, RFC 6533); delayed, relayed,
 * expanded and delivered ones are excluded. null: it names no recipient.
 * @param said the report's text for people, which fills in details about a recipient that its fields lack.
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
  // The text for people describes the recipient if there is only one. With several, it cannot be assigned.
  return recipients.length === 1 ? failures.map((failure) => withText(failure, said)) : failures;
};
