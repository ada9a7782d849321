import {
  type LinkFact,
  lookalikeOf,
  mixesScripts,
  namedHosts,
  quoted,
  seenCharacters,
  siteOf,
} from '../../lib/html/html.ts';
import { domainOf, type Mailbox } from '../../lib/mime/mime.ts';
import type { RecordState } from '../sending-domain/events.ts';
import {
  type AttachmentFact,
  type Check,
  type Discovery,
  type DomainFacts,
  discovery,
  type MessageFacts,
} from './facts.ts';

/** Rules about the header: the sender and its authentication, the subject, and unsubscribing. */

const RECORDS = [
  ['spf', 'SPF', 'spf-not-valid'],
  ['dkim', 'DKIM', 'dkim-not-valid'],
  ['dmarc', 'DMARC', 'dmarc-not-valid'],
] as const;

const STATES: Readonly<Record<Exclude<RecordState, 'valid'>, string>> = {
  missing: 'is missing',
  invalid: 'is not valid',
  include_broken: 'includes the record of this service, which is missing or wrong',
  unknown: 'has not been checked yet',
};

function* records(domain: DomainFacts): Generator<Discovery> {
  for (const [record, name, rule] of RECORDS) {
    const state = domain[record];
    if (state === 'valid') continue;
    const said = `the ${name} record of ${domain.name} ${STATES[state]}`;
    yield discovery(state === 'unknown' ? 'authentication-unchecked' : rule, 'from', said);
  }
}

/** Reports how receivers will judge the sending domain, based on the last DNS check. */
export const authentication: Check = function* ({ domain }) {
  if (domain.capturing) {
    yield discovery('mail-captured', 'from', `mail is captured on this machine, so no receiver checks ${domain.name}`);
    return;
  }
  if (!domain.verified) yield discovery('domain-not-verified', 'from', `the domain ${domain.name} is not verified`);
  yield* records(domain);
};

const NO_REPLY = /^(?:do[-_.]?not|dont|no|non|never)[-_.]?(?:reply|respond|answer)/i;
const WORD = /\S+/g;
/** Includes characters that join two words, each in its own script: `IT-отдел`. */
const BETWEEN_WORDS = /[^\p{L}\p{M}]+/u;
/** Characters that change the direction of text or are invisible. */
const DECEPTIVE = /[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;

/** The host of each e-mail address in a name, and every other host that the name mentions. */
const hostsNamedIn = (name: string): readonly string[] => {
  const words = (name.match(WORD) ?? []).filter((word) => word.includes('@'));
  const behindAt = words.flatMap((word) => namedHosts(word.slice(word.lastIndexOf('@') + 1)));
  return [...behindAt, ...namedHosts(name)].map(({ host }) => host);
};

function* misleading(field: string, { name = '', address }: Mailbox): Generator<Discovery> {
  const own = siteOf(domainOf(address));
  const other = hostsNamedIn(name).find((host) => siteOf(host) !== own);
  if (other !== undefined) {
    const said = `the display name ${quoted(name)} names ${other}, but the address is on ${domainOf(address)}`;
    yield discovery('sender-name-misleading', field, said);
  } else if (name.split(BETWEEN_WORDS).some(mixesScripts)) {
    yield discovery('sender-name-misleading', field, `the display name ${quoted(name)} mixes scripts in one word`);
  } else if (DECEPTIVE.test(name)) {
    yield discovery('sender-name-misleading', field, `the display name ${quoted(name)} contains hidden characters`);
  }
}

/** Reports misleading sender and reply-to addresses. */
export const sender: Check = function* ({ from, replyTo }) {
  yield* misleading('from', from);
  for (const [index, mailbox] of replyTo.entries()) {
    yield* misleading(replyTo.length === 1 ? 'reply_to' : `reply_to[${index}]`, mailbox);
  }
  if (replyTo.length === 0 && NO_REPLY.test(from.address)) {
    yield discovery('sender-no-reply', 'from', `replies to ${from.address} will not be read`);
  }
};

function* inAddresses({ from, replyTo }: MessageFacts): Generator<Discovery> {
  const mailboxes = [['from', from] as const, ...replyTo.map((mailbox) => ['reply_to', mailbox] as const)];
  for (const [field, { address }] of mailboxes) {
    const found = lookalikeOf(domainOf(address));
    if (found === null) continue;
    yield discovery('lookalike-host', field, `the domain ${quoted(found.shown)} ${found.why}`);
  }
}

function* inLinks(field: string, links: readonly LinkFact[]): Generator<Discovery> {
  for (const { target, offset } of links) {
    const found = target.kind === 'web' ? lookalikeOf(target.host) : null;
    if (found === null) continue;
    yield discovery('lookalike-host', field, () => `a link’s host ${quoted(found.shown)} ${found.why}`, offset);
  }
}

/** Reports host names that look like another host. */
export const lookalikes: Check = function* (facts) {
  yield* inAddresses(facts);
  yield* inLinks('html', facts.html?.links ?? []);
  yield* inLinks('text', facts.textLinks);
};

/** Line length in RFC 5322 §2.1.1, and roughly what mail clients show on a large screen. */
const CHARACTERS_SHOWN = 78;
/** No client shows more, and some filters penalize longer subjects. */
const CHARACTERS_MAX = 150;
/** Shorter subjects are often only abbreviations (`USA: FAQ`). */
const LETTERS_MIN = 10;
const CAPITALS_SHARE_MAX = 0.7;

const CAPITAL = /\p{Lu}/gu;
const SMALL = /\p{Ll}/gu;
const REPEATED_MARKS = /[!?！？]{3}|\${3}/;
/** Reply and forward prefixes in the languages in which mail programs write them. */
const REPLY = /^\s*(?:re|aw|sv|vs|rif|odp|ynt|fwd?|wg|vb|tr|rv|enc|doorst)\s?(?:\[\d{1,3}\])?\s?[:：]/i;
const ANSWERS = new Set(['in-reply-to', 'references']);

const isShouted = (subject: string): boolean => {
  const capitals = subject.match(CAPITAL)?.length ?? 0;
  const letters = capitals + (subject.match(SMALL)?.length ?? 0);
  return letters >= LETTERS_MIN && capitals > letters * CAPITALS_SHARE_MAX;
};

function* length(text: string): Generator<Discovery> {
  const said = `the subject has ${text.length} characters`;
  if (text.length > CHARACTERS_MAX) yield discovery('subject-too-long', 'subject', said);
  else if (text.length > CHARACTERS_SHOWN) yield discovery('subject-long', 'subject', said);
}

function* shouting(text: string): Generator<Discovery> {
  if (isShouted(text)) yield discovery('subject-shouting', 'subject', `the subject ${quoted(text)} is all capitals`);
  const marks = REPEATED_MARKS.exec(text)?.[0];
  if (marks !== undefined) yield discovery('subject-shouting', 'subject', `the subject contains ${quoted(marks)}`);
}

/** Marks and isolates are normal in Arabic and Hebrew. An override reverses the letters that follow it. */
const OVERRIDE = /[\u202d\u202e]/;

/** Reports problems in the subject, which decides whether people open the mail. */
export const subject: Check = function* ({ subject: text, headers }) {
  if (seenCharacters(text) === 0) {
    yield discovery('subject-blank', 'subject', 'the subject has no visible character');
    return;
  }
  yield* length(text);
  yield* shouting(text);
  if (OVERRIDE.test(text)) {
    const said = `the subject ${quoted(text)} contains a hidden character that reverses the text after it`;
    yield discovery('subject-deceptive', 'subject', said);
  }
  const prefix = REPLY.exec(text)?.[0];
  if (prefix !== undefined && !Object.keys(headers).some((name) => ANSWERS.has(name.toLowerCase()))) {
    const said = `the subject begins with ${quoted(prefix)}, but the message is not a reply (no In-Reply-To)`;
    yield discovery('subject-fake-reply', 'subject', said);
  }
};

const headerOf = ({ headers }: MessageFacts, name: string): string | undefined =>
  Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];

/**
 * RFC 8058 needs an https URL and a promise that a POST suffices. With `unsubscribe`, the service adds that promise.
 */
const isOneClick = (facts: MessageFacts): boolean => {
  const { unsubscribe: ways } = facts;
  if (ways === undefined) return headerOf(facts, 'list-unsubscribe-post') !== undefined;
  return ways === 'managed' || (ways.url?.startsWith('https://') ?? false);
};

/** Reports bulk mail without a working way to unsubscribe. */
export const unsubscribe: Check = function* (facts) {
  if (facts.stream !== 'bulk') return;
  if (facts.unsubscribe === undefined && headerOf(facts, 'list-unsubscribe') === undefined) {
    yield discovery('unsubscribe-missing', 'unsubscribe', 'bulk mail has no way to unsubscribe');
  } else if (!isOneClick(facts)) {
    yield discovery('unsubscribe-not-one-click', 'unsubscribe', 'recipients need more than one click to unsubscribe');
  }
};

/** Rules about attachments that receivers reject, or that disguise their type. */

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/**
 * Extensions of files that run when opened, on some system. Gmail blocks most of them, Outlook all of those for
 * Windows.
 */
const EXECUTABLE_TYPES = names(
  'ade adp apk app appimage application appref-ms appx appxbundle asp bash bat bin cab chm cmd com command cpl ' +
    'csh deb desktop diagcab diagcfg diagpkg dll dmg dylib elf ex ex_ exe gadget hlp hta img inf ins iso isp jar jnlp ' +
    'js jse ksh lib library-ms lnk mad maf mam mda mde mdt msc msh msh1 msh2 msi msix msixbundle msp mst msu nsh ocx ' +
    'osd out pcd pif pkg pl prf prg ps1 ps1xml ps2 psc1 psc2 psd1 psdm1 psm1 pyc pyo reg rpm run scf scpt scr sct sh ' +
    'shb shs so sys theme url vb vbe vbp vbs vhd vhdx vsmacros vsw vxd webpnp workflow ws wsc wsf wsh xbap xll xnk zsh',
);

/** Media types that receivers treat as programs, whatever the file name. */
const EXECUTABLE_MEDIA_TYPES = names(
  'application/bat application/hta application/java-archive application/javascript application/vnd.android.package-archive ' +
    'application/vnd.microsoft.portable-executable application/x-bat application/x-csh application/x-dosexec ' +
    'application/x-elf application/x-executable application/x-javascript application/x-mach-binary ' +
    'application/x-ms-shortcut application/x-msdos-program application/x-msdownload application/x-msi ' +
    'application/x-powershell application/x-sh application/x-shellscript text/javascript text/vbscript ' +
    'text/x-shellscript',
);

/** Document extensions. An executable with one of these before its own extension pretends to be a document. */
const DOCUMENT_TYPES = names(
  'avi bmp csv doc docx eml gif htm html jpeg jpg key mov mp3 mp4 odp ods odt pages pdf png ppt pptx rtf svg tif tiff ' +
    'txt wav webp xls xlsx xml zip',
);

const ARCHIVE_TYPES = names('7z ace arj bz2 gz lha lz lzh lzma rar tar tbz tgz txz xz z zip zipx zst');

/** Leading bytes of programs, in hexadecimal. */
const PROGRAM_HEADS: readonly (readonly [string, string])[] = [
  ['4d5a', 'a Windows program'],
  ['7f454c46', 'a Linux program'],
  ['2321', 'a script'],
  ['feedface', 'a macOS program'],
  ['feedfacf', 'a macOS program'],
  ['cefaedfe', 'a macOS program'],
  ['cffaedfe', 'a macOS program'],
  ['cafebabe', 'a Java or macOS program'],
  ['4c000000011402', 'a Windows shortcut'],
];

/** Characters that reverse the direction of the text after them: `annexe\u202Efdp.exe` looks like `annexeexe.pdf`. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
/** Windows drops these from the end of a file name. */
const DROPPED_AT_END = /^[. ]$/;

const endings = (filename: string): readonly string[] => {
  let end = filename.length;
  while (DROPPED_AT_END.test(filename[end - 1] ?? '')) end -= 1;
  return filename.slice(0, end).toLowerCase().split('.').slice(1).reverse();
};

/** The media type without its parameters, which begin with a semicolon. */
const mediaTypeOf = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();

const executable = ({ filename, contentType, head }: AttachmentFact): string | null => {
  const [last = '', before = ''] = endings(filename);
  const name = filename === '' ? 'the part without a name' : quoted(filename);
  if (EXECUTABLE_TYPES.has(last)) {
    return DOCUMENT_TYPES.has(before.trim())
      ? `${name} is a program that looks like a ${before.trim()} file`
      : `${name} is a program`;
  }
  const program = PROGRAM_HEADS.find(([bytes]) => head.startsWith(bytes));
  if (program !== undefined) return `${name} begins like ${program[1]}`;
  const mediaType = mediaTypeOf(contentType);
  return EXECUTABLE_MEDIA_TYPES.has(mediaType) ? `${name} is sent as ${mediaType}, the type of a program` : null;
};

function* judged(attachment: AttachmentFact): Generator<Discovery> {
  const { field, filename } = attachment;
  const program = executable(attachment);
  if (program !== null) yield discovery('attachment-executable', field, program);
  if (DIRECTION.test(filename)) {
    const said = `the file name ${quoted(filename)} contains characters that change the text direction`;
    yield discovery('attachment-name-deceptive', field, said);
  }
  if (ARCHIVE_TYPES.has(endings(filename)[0] ?? '')) {
    yield discovery(
      'attachment-archive',
      field,
      `${quoted(filename)} is an archive, which spam filters may not be able to open`,
    );
  }
}

/** Reports attachments that receivers reject, or that disguise their type. */
export const attachments: Check = function* ({ attachments: list }) {
  for (const attachment of list) yield* judged(attachment);
};
