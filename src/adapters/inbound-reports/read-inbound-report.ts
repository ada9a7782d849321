import type { InboundReport, Report, ReportedFailure } from '../../domain/bounce/report.ts';
import {
  type Fields,
  firstField,
  hostName,
  type MailParts,
  mailAddress,
  quotedReply,
  readable,
  readFields,
  readParts,
  reportedAddress,
} from './mail-parts.ts';

/**
 * A message has up to 50 recipients. More are reported if it was multiplied in transit, or by an attacker who probes
 * our limits.
 */
const STATUS_RECIPIENTS_MAX = 1000;

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
type ReportTextOf = (addresses: readonly string[]) => string;

const readSaid = (text: string): ReportTextOf => {
  const byAddress = saidByAddress(text);
  return (addresses) => addresses.map((address) => byAddress.get(address)).find((said) => said !== undefined) ?? '';
};

/** RFC 3463 §3.5, X.4.7: the delivery time expired. */
const EXPIRED = /^[45]\.4\.7/;

/**
 * OpenSMTPD writes its final report like a report of a delay, even claiming that it goes on trying. Only the text about
 * the recipient differs (`Envelope expired`). Other servers use this status for a delay (Exchange), and add a deadline.
 */
const isLastDelay = (fields: Fields, status: string, said: ReportTextOf): boolean =>
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
const isGivenUp = (fields: Fields, status: string, said: ReportTextOf): boolean => {
  const action = actionOf(fields, status);
  return action === 'failed' || action === 'expired' || (action === 'delayed' && isLastDelay(fields, status, said));
};

/** The diagnostic of a recipient, or else the text for people about it. */
const diagnosticOf = (fields: Fields, addresses: readonly string[], said: ReportTextOf): string => {
  const diagnostic = withoutType(firstField(fields, 'diagnostic-code') ?? '');
  return diagnostic === '' ? said(addresses) : diagnostic;
};

const failureIn = (fields: Fields, said: ReportTextOf): ReportedFailure | null => {
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
const readDeliveryStatus = (text: string, said: string): readonly ReportedFailure[] | null => {
  const recipients = text
    .split(/\n[ \t]*\n/, 2 * STATUS_RECIPIENTS_MAX)
    .map(readFields)
    .filter(isRecipient)
    .slice(0, STATUS_RECIPIENTS_MAX);
  if (recipients.length === 0) return null;
  const toPeople = readSaid(said);
  const failures = recipients.flatMap((fields) => failureIn(fields, toPeople) ?? []);
  // The text for people describes the recipient if there is only one. With several, it cannot be assigned.
  return recipients.length === 1 ? failures.map((failure) => withText(failure, said)) : failures;
};

/** Senders of such reports. */
const MAILER = /mailer-?daemon|post_?master|mail delivery (?:sub)?system|mdaemon|maildelivery|mail administrator/i;
const FAILURE_SUBJECT =
  /undeliver|deliver(?:y|ed)? (?:status|failure|failed|problem|report|has failed)|delivery notification|returned mail|return(?:ed)? to sender|failure notice|mail (?:delivery )?fail|non-?delivery|not delivered|could ?n.t be delivered|could not be delivered|unzustellbar|nicht zugestellt|non remis|no se (?:puede|ha podido) entregar|mancata consegna|メールエラー通知/i;
/** Phrases of such reports, as their senders write them. */
const GIVEN_UP =
  /could(?: not|n['’]t) be (?:delivered|reached)|error (?:has )?(?:occurred )?(?:while |when )?(?:trying|attempting) to deliver|error delivering your mail|error message below|failure reasons|undeliver|delivery (?:has )?failed|deliver(?:y|ed)? fail|failed permanently|fatal errors?|(?:wasn['’]t|was not|not) able to deliver|unable to deliver|cannot be delivered|can['’]t be delivered|did not reach|(?:wasn['’]t|was not|not been|isn['’]t) delivered|returned (?:to|below)|address(?:\(?es\)?)? failed|failed addresses follow|had (?:permanent )?delivery (?:problems|errors)|del[ie]very to the following recipients was aborted|rejected by a remote mail ?server|account is (?:temporarily )?disabled|(?:unknown user|invalid final delivery userid): ?\S{1,64}@|mailbox exceeds allowed size|unsent message follows|-{7}server message|received >>> [45]\d\d|rejected your message|nicht zugestellt|unzustellbar|n['’]a pas pu|no se ha podido entregar/i;
/** Reports of KDDI, which neither sender nor subject identifies. */
const IN_ITS_OWN_WORDS = /^\s{0,20}your mail sent on: .{1,60} could not be delivered to: ?</i;
/** The other side keeps trying. */
const STILL_TRIED =
  /warning message only|will (?:be retried|continue|keep trying|retry)|has been delayed|delivery (?:is )?delayed|delayed for|not yet been delivered|do not need to re-?send|only a temporary failure|still (?:trying|being tried)|temporary (?:problem|failure) .{0,60}(?:retry|continue)/i;
const FOR_GOOD = /permanent|giving up|given up|fatal error|will not be retried|no longer (?:try|attempt)/i;

/** Start of the returned message. */
const COPY =
  /^(?:-{6} (?=[^-\n]{1,200}-{6}[ \t]{0,9}$))|^[-=>| ]{0,40}(?:this is a copy of|below this line is|below is a copy of|original message|the original message(?! was)|returned message|original headers?|message headers? follow|message details:?$|unsent message|copy of (?:the|your) message|included is a copy|forwarded message|message text follows|original message headers)/im;

const ADDRESS_LINE =
  /^[ \t>*-]{0,12}(?:to: ?|recipient: ?)?<?([^\s<>"(),:;]{1,64}@[^\s<>"(),:;]{3,253}?)>?[.:;,]?(?:\s|$)/i;
/** Sendmail's, with the reply: `550 <a@b>... User unknown`. Elsewhere the same report lists the address alone. */
const REPLY_LINE = /^[45]\d\d[ -]<([^\s<>"(),:;]{1,64}@[^\s<>"(),:;]{3,253})>[.:;,]{0,3}(?:\s|$)/;
const ADDRESS_ANYWHERE = /[^\s<>"(),:;'[\]]{1,64}@[^\s<>"(),:;'[\]]{3,253}/g;
/** Maximum number of lines about the outcome of one address. */
const LINES_MAX = 12;
const RECIPIENTS_MAX = 100;

/** One address and the text below it. */
interface Segment {
  readonly addresses: readonly string[];
  readonly text: string;
}

interface AddressLine {
  readonly index: number;
  readonly addresses: readonly string[];
  readonly isReply: boolean;
}

const addressLine = (line: string, index: number): AddressLine | null => {
  const reply = REPLY_LINE.exec(line)?.[1];
  const written = reply ?? ADDRESS_LINE.exec(line)?.[1]?.replace(/[.]$/, '');
  const addresses = written === undefined ? [] : reportedAddress(written);
  return addresses.length === 0 ? null : { index, addresses, isReply: reply !== undefined };
};

/** Lines that begin with an address. If several have the same address, those with a reply. */
const addressLines = (lines: readonly string[]): readonly AddressLine[] => {
  const found: AddressLine[] = [];
  for (const [index, line] of lines.entries()) {
    if (found.length === RECIPIENTS_MAX) break;
    const read = addressLine(line, index);
    if (read !== null) found.push(read);
  }
  const replied = new Set(found.filter(({ isReply }) => isReply).map(({ addresses }) => addresses[0]));
  return found.filter(({ addresses, isReply }) => isReply || !replied.has(addresses[0]));
};

const segmentsOf = (head: string): readonly Segment[] => {
  const lines = head.split('\n');
  const starts = addressLines(lines);
  return starts.map(({ index, addresses }, place) => {
    const end = Math.min(starts[place + 1]?.index ?? lines.length, index + LINES_MAX);
    return { addresses, text: lines.slice(index, end).join('\n') };
  });
};

/** A bare address: the text about it is above. */
const isBare = (text: string): boolean =>
  !/\p{L}/u.test(text.replace(ADDRESS_ANYWHERE, '').replace(/^[ \t]*to:/gim, ''));

const addressesIn = (head: string): readonly string[] => [
  ...new Set((head.match(ADDRESS_ANYWHERE) ?? []).slice(0, RECIPIENTS_MAX).flatMap(reportedAddress)),
];

/** Headers of a message that a report returns without a marker before them. Their words do not explain the failure. */
const QUOTED_HEADER =
  /^(?:x-[\w-]{1,60}|received|return-path|dkim-signature|message-id|mime-version|content-[\w-]{1,40}|authentication-results|list-[\w-]{1,40}|user-agent|subject):.*(?:\n[ \t].*)*/gim;

/** Text of a report for people, without the returned message. */
const headOf = (text: string): string =>
  text.slice(0, COPY.exec(text)?.index ?? text.length).replace(QUOTED_HEADER, '');

/** Text of a report for people by recipient address: the lines that begin with it. */
const saidByAddress = (text: string): ReadonlyMap<string, string> =>
  new Map(
    segmentsOf(headOf(text))
      .toReversed() // the first counts
      .flatMap((segment) => segment.addresses.map((address) => [address, segment.text] as const)),
  );

/** Given up after several attempts. A later one might still succeed. */
const AFTER_TRIES = /retry time|timed? ?out|expired/i;

/** Exim names the failed recipients in a header, whatever the language of its text (`bounce_message_file`). */
const failedByExim = ({ headers }: MailParts, head: string): readonly ReportedFailure[] => {
  const named = (headers.get('x-failed-recipients') ?? [])
    .flatMap((value) => value.split(','))
    .slice(0, RECIPIENTS_MAX);
  const addresses = named.map((each) => reportedAddress(each)).filter((each) => each.length > 0);
  const said = saidByAddress(head);
  return addresses.map((each): ReportedFailure => {
    const own = each.map((address) => said.get(address)).find((text) => text !== undefined);
    const text = own ?? (addresses.length === 1 ? head : '');
    const { code, enhanced, mx } = quotedReply(text);
    const isPermanent = code === 0 ? !AFTER_TRIES.test(text) : code >= 500;
    return { addresses: each, failed: each, isPermanent, code, enhanced, mx, text: readable(text) };
  });
};

/** The address to write to about it is not the one that failed. */
const isNoOffice = (address: string): boolean => !/^(?:postmaster|mailer-daemon|abuse)@/.test(address);

const failureOf = ({ addresses, text }: Segment, head: string): ReportedFailure => {
  const near = quotedReply(text);
  const { code, enhanced, mx } = near.code === 0 && near.enhanced === null ? quotedReply(head) : near;
  const isPermanent = code === 0 ? enhanced?.startsWith('5') === true || FOR_GOOD.test(head) : code >= 500;
  return { addresses, failed: addresses.filter(isNoOffice), isPermanent, code, enhanced, mx, text: readable(text) };
};

/** Lines break anywhere. */
const flowing = (text: string): string => text.replace(/\s+/g, ' ');

const isReport = ({ from, subject }: MailParts, said: string): boolean => {
  const isMailers = MAILER.test(from) || FAILURE_SUBJECT.test(subject) || IN_ITS_OWN_WORDS.test(said);
  return isMailers && (GIVEN_UP.test(said) || STILL_TRIED.test(said));
};

/**
 * Plain-text reports: by qmail (QSBMF), Exim, old versions of Sendmail and Exchange, and gateways.
 * @returns null if it is not a report. An empty list: the other side keeps trying.
 */
const readTextReport = (parts: MailParts): readonly ReportedFailure[] | null => {
  const { text } = parts;
  const isExims = parts.headers.has('x-failed-recipients');
  if (!isExims && !isReport(parts, flowing(text))) return null;
  const head = headOf(text);
  const said = flowing(head);
  if (STILL_TRIED.test(said) && !FOR_GOOD.test(said)) return [];
  const exims = isExims ? failedByExim(parts, head) : [];
  if (exims.length > 0) return exims;
  const segments = segmentsOf(head);
  const told = segments.every(({ text }) => isBare(text))
    ? segments.map((each) => ({ ...each, text: head }))
    : segments;
  const found = told.length > 0 ? told : [{ addresses: addressesIn(head), text: head }];
  return found.map((segment) => failureOf(segment, head));
};

/** Headers written only by programs that reply for people. */
const ANSWERING = ['x-autoreply', 'x-autorespond', 'x-auto-reply', 'x-autoresponder', 'x-mail-autoreply', 'x-vacation'];
const PRECEDENCE = /^(?:auto_reply|auto-reply)$/i;
const SUBJECT =
  /^\s*(?:(?:re|aw|sv):\s*)?(?:auto(?:matic|mated|matische)?[ :-]{0,2}(?:re(?:ply|sponse)|antwort)|out of (?:the )?office|abwesenheit|abwesend|vacation|urlaub|r[ée]ponse automatique|absence|fuera de (?:la )?oficina|respuesta autom[áa]tica|risposta automatica)/i;

/** An automatic reply (RFC 3834). Delivery reports are also marked as automatic, but are not replies. */
const isAnswerOfProgram = ({ headers, subject }: MailParts): boolean =>
  ANSWERING.some((name) => headers.has(name)) ||
  PRECEDENCE.test(firstField(headers, 'precedence') ?? '') ||
  SUBJECT.test(subject);

/** RFC 3834 §5. */
const isAutomatic = (parts: MailParts): boolean =>
  isAnswerOfProgram(parts) || /^auto-/i.test(firstField(parts.headers, 'auto-submitted') ?? '');

const RETURNED: ReadonlySet<string> = new Set([
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'text/rfc822',
  'message/rfc822-headers',
  'message/global-headers',
]);

/** RFC 3462 §2, RFC 6533 §4, and other types used in their place. */
const isReturnedMessage = (type: string): boolean => RETURNED.has(type);

/** Headers of the returned message, which prove its origin, are within this length. */
const QUOTED_CHARACTERS_MAX = 64_000;
/** A message has fewer. More are an attempt to make us read the log many times. */
const FOUND_MAX = 5;
const LOCAL_PART = /(?<![0-9a-v])[bu][0-9a-v]{48}(?=@)/gi;
const LINK_TOKEN = /(?<=\/unsubscribe\/)[\w-]{64}(?![\w-])/g;

const distinct = (found: readonly string[] | null): readonly string[] => [...new Set(found)].slice(0, FOUND_MAX);

/** Addresses and links in the returned message that look like ours. */
const quotedIn = ({ parts, text }: MailParts): InboundReport['quoted'] => {
  const reports = parts.filter(({ type }) => isReturnedMessage(type) || type === 'message/feedback-report');
  const quoted = [...reports.map((part) => part.text.slice(0, QUOTED_CHARACTERS_MAX)), text].join('\n');
  return { localParts: distinct(quoted.match(LOCAL_PART)), linkTokens: distinct(quoted.match(LINK_TOKEN)) };
};

/** RFC 5965 §7.3. The other types are not complaints by a person: `not-spam`, `virus`, `auth-failure` (RFC 6591). */
const COMPLAINING: ReadonlySet<string | undefined> = new Set(['abuse', 'fraud', 'opt-out', 'opt-out-list']);

/** Headers of the returned message. */
const returnedHeaders = ({ parts }: MailParts): Fields => {
  const { text } = parts.find(({ type }) => isReturnedMessage(type)) ?? { text: '' };
  const end = text.search(/\n[ \t]*\n/);
  return readFields(end < 0 ? text : text.slice(0, end));
};

/**
 * A complaint (RFC 5965) about the recipients that it names. The `To` of the returned message identifies no
 * complainant, who may be a `Bcc` recipient.
 * @returns null if it is not a feedback report.
 */
const readComplaint = (parts: MailParts): Report | null => {
  const report = parts.parts.find(({ type }) => type === 'message/feedback-report');
  // Microsoft's loop names the recipient in the returned message, with or without a report.
  const original = firstField(returnedHeaders(parts), 'x-hmxmroriginalrecipient');
  if (report === undefined && original === undefined) return null;
  const fields = readFields((report?.text ?? 'Feedback-Type: abuse').replace(/\n[ \t]*\n/g, '\n'));
  if (!COMPLAINING.has(firstField(fields, 'feedback-type')?.toLowerCase())) {
    return { kind: 'nothing', why: 'not a report' };
  }
  const named = ['original-rcpt-to', 'removal-recipient'].flatMap((name) => fields.get(name) ?? []);
  return { kind: 'complaint', addresses: [...named, original ?? ''].flatMap(reportedAddress) };
};

/** RFC 3464; RFC 6533 §2. */
const STATUS_TYPES: ReadonlySet<string> = new Set(['message/delivery-status', 'message/global-delivery-status']);

const failed = (failures: readonly ReportedFailure[]): Report =>
  failures.length > 0 ? { kind: 'failures', failures } : { kind: 'nothing', why: 'not given up' };

const statusReport = ({ parts, text }: MailParts): Report | null => {
  const statuses = parts
    .filter(({ type }) => STATUS_TYPES.has(type))
    .map((part) => readDeliveryStatus(part.text, text));
  const told = statuses.filter((status) => status !== null);
  return told.length === 0 ? null : failed(told.flat());
};

/** Envelope id from the fields about the whole message. A part may begin with them, or with an empty line. */
const envelopeIdIn = ({ parts }: MailParts): string | null => {
  const status = parts.find(({ type }) => STATUS_TYPES.has(type))?.text ?? '';
  return firstField(readFields(status.trimStart().split(/\n[ \t]*\n/, 1)[0] ?? ''), 'original-envelope-id') ?? null;
};

/**
 * RFC 3834 §5: a reply to a mail is never a plain-text report. Postfix marks its reports this way, but they have
 * fields. So does Exim, which names the failed recipients in a header.
 */
const isReply = ({ headers }: MailParts): boolean =>
  /^auto-replied\b/i.test(firstField(headers, 'auto-submitted') ?? '') && !headers.has('x-failed-recipients');

const textReport = (parts: MailParts): Report | null => {
  if (isAnswerOfProgram(parts) || isReply(parts)) return { kind: 'nothing', why: 'automatic reply' };
  const failures = readTextReport(parts);
  return failures === null ? null : failed(failures);
};

const reportOf = (parts: MailParts): Report =>
  readComplaint(parts) ??
  statusReport(parts) ??
  textReport(parts) ?? { kind: 'nothing', why: isAutomatic(parts) ? 'automatic reply' : 'not a report' };

/** Reads returned mail. Never fails: unreadable mail is not a report. */
export const readInboundReport = (raw: Uint8Array): InboundReport => {
  const parts = readParts(raw);
  return { report: reportOf(parts), envelopeId: envelopeIdIn(parts), quoted: quotedIn(parts) };
};
