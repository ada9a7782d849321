import type { ReportedFailure } from '../../domain/bounce/report.ts';
import type { MailParts } from './mail-parts.ts';
import { quotedReply, readable, reportedAddress } from './quoted-reply.ts';

/** Senders of such reports. */
const MAILER = /mailer-?daemon|post_?master|mail delivery (?:sub)?system|mdaemon|maildelivery|mail administrator/i;
const SUBJECT =
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
export const saidByAddress = (text: string): ReadonlyMap<string, string> =>
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
  const isMailers = MAILER.test(from) || SUBJECT.test(subject) || IN_ITS_OWN_WORDS.test(said);
  return isMailers && (GIVEN_UP.test(said) || STILL_TRIED.test(said));
};

/**
 * Plain-text reports: by qmail (QSBMF), Exim, old versions of Sendmail and Exchange, and gateways.
 * @returns null if it is not a report. An empty list: the other side keeps trying.
 */
export const readTextReport = (parts: MailParts): readonly ReportedFailure[] | null => {
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
