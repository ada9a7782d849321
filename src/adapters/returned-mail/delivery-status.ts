import type { ReportedFailure } from '../../domain/bounce/report.ts';
import { hostName, quotedReply, readable } from './quoted-reply.ts';
import { type Fields, firstField, readFields } from './read-fields.ts';
import { reportedAddress } from './reported-address.ts';

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

/** RFC 3464 §2.3.3; where it is left out, the status tells. */
const actionOf = (fields: Fields, status: string): string => {
  const action = firstField(fields, 'action')?.toLowerCase().split(/[\s(]/, 1)[0];
  if (action !== undefined && action !== '') return action;
  return status.startsWith('5') ? 'failed' : 'delayed';
};

/** `5.0.0` says nothing: what the reply says is taken then. */
const enhancedOf = (status: string, quoted: string | null): string | null => {
  if (status === '') return quoted;
  return status.endsWith('.0.0') && quoted !== null ? quoted : status;
};

const failureOf = (fields: Fields): ReportedFailure | null => {
  const [status = ''] = STATUS.exec(firstField(fields, 'status') ?? '') ?? [];
  if (actionOf(fields, status) !== 'failed') return null;
  const diagnostic = withoutType(firstField(fields, 'diagnostic-code') ?? '');
  const quoted = quotedReply(diagnostic);
  const enhanced = enhancedOf(status.trim(), quoted.enhanced);
  const mx = hostName(withoutType(firstField(fields, 'remote-mta') ?? '')) ?? quoted.mx;
  const isPermanent = quoted.code === 0 ? enhanced?.startsWith('5') === true : quoted.code >= 500;
  return { addresses: addressesOf(fields), isPermanent, code: quoted.code, enhanced, mx, text: readable(diagnostic) };
};

const isRecipient = (fields: Fields): boolean =>
  ['final-recipient', 'original-recipient', 'action', 'status'].some((name) => fields.has(name));

/**
 * Recipients that a `message/delivery-status` (RFC 3464, RFC 6533) says were given up; the delayed, relayed, expanded
 * and delivered ones are not. null: it is about nobody.
 */
export const readDeliveryStatus = (text: string): readonly ReportedFailure[] | null => {
  const recipients = text
    .split(/\n[ \t]*\n/, 2 * RECIPIENTS_MAX)
    .map(readFields)
    .filter(isRecipient)
    .slice(0, RECIPIENTS_MAX);
  if (recipients.length === 0) return null;
  return recipients.flatMap((fields) => failureOf(fields) ?? []);
};
