export interface Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  /** The problem and its place, in one sentence. */
  readonly message: string;
  /** Request field: `html`, `subject`, `attachments[0]`, `alternatives[0]`, `to[1]`. */
  readonly field: string;
  /** One-based. Present for findings in `html` and `text`. */
  readonly line?: number;
  /** One-based, in UTF-16 code units. */
  readonly column?: number;
  /** The remedy, in one sentence. */
  readonly fix: string;
}

/**
 * Maximum number of findings over all rules, so that the response stays small whatever was sent. People do not read
 * more.
 */
export const FINDINGS_MAX = 100;

/** `fail`: at least one error. `warn`: at least one warning and no error. */
export type Verdict = 'pass' | 'warn' | 'fail';

export interface Analysis {
  /** 100 is clean. Each finding costs its rule's points, up to the rule's maximum. Never below 0. */
  readonly score: number;
  readonly verdict: Verdict;
  /** Errors first; at most `FINDINGS_MAX`. */
  readonly findings: readonly Finding[];
  /** Approximate size of the message when sent: bodies in UTF-8, attachments in base64. */
  readonly sizeBytes: number;
}

/** `error`: do not send the message like this. `warning`: delivery or display will suffer. `info`: worth knowing. */
export type Severity = 'info' | 'warning' | 'error';

export interface Rule {
  readonly severity: Severity;
  /** Points deducted from the score for each finding, up to `pointsMax`. */
  readonly points: number;
  /** Upper bound for one rule: a hundred small faults are not worse than one serious one. */
  readonly pointsMax: number;
  /** The remedy, in one sentence. */
  readonly fix: string;
}

/** Incremented with every change of the table or of a rule's matches, so that two scores can be compared. */
export const RULES_VERSION = 4;

const rule = (severity: Severity, points: number, pointsMax: number, fix: string): Rule => ({
  severity,
  points,
  pointsMax,
  fix,
});

/** All rules, the most serious first within their subject. */
export const RULE_TABLE = {
  'domain-not-verified': rule('error', 30, 30, 'Publish the DNS records of the domain, then verify it.'),
  'dkim-not-valid': rule('warning', 15, 15, 'Publish the DKIM record that the domain’s page shows.'),
  'spf-not-valid': rule(
    'warning',
    10,
    10,
    'Publish an SPF record that includes this service. If you have one, the operator must repair the record of the service.',
  ),
  'dmarc-not-valid': rule('warning', 10, 10, 'Publish a DMARC record at `_dmarc`, with `p=none` to begin with.'),
  'authentication-unchecked': rule(
    'info',
    0,
    0,
    'Wait for the next automatic check, or verify the domain to check it now.',
  ),
  'mail-captured': rule('info', 0, 0, 'To send real mail, connect this service to a mail server.'),

  'sender-name-misleading': rule(
    'warning',
    20,
    20,
    'Use a display name in one script that contains no other address, host name or hidden character.',
  ),
  'lookalike-host': rule('warning', 20, 40, 'Write the name in one script, or use the ASCII name that you mean.'),
  'sender-no-reply': rule(
    'info',
    2,
    2,
    'Send from an address that someone reads, or set such an address as `reply_to`.',
  ),
  'unsubscribe-missing': rule(
    'warning',
    20,
    20,
    'Set `unsubscribe`: large mailbox providers require it for bulk mail.',
  ),
  'unsubscribe-not-one-click': rule(
    'warning',
    8,
    8,
    'Set `unsubscribe.url` to an https URL that accepts a POST (RFC 8058), or use `managed`.',
  ),

  'subject-blank': rule('error', 20, 20, 'Write a subject that says what the message is about.'),
  'subject-deceptive': rule(
    'error',
    20,
    20,
    'Remove the direction overrides U+202D and U+202E. Right-to-left scripts do not need them.',
  ),
  'subject-fake-reply': rule(
    'warning',
    10,
    10,
    'Remove the prefix, or set the header `In-Reply-To` to the message that this one answers.',
  ),
  'subject-shouting': rule('warning', 8, 8, 'Use ordinary letter case, and at most one exclamation or question mark.'),
  'subject-too-long': rule('warning', 5, 5, 'Shorten the subject to 78 characters. The first 40 matter most.'),
  'subject-long': rule('info', 2, 2, 'Shorten the subject to 78 characters: most mail programs cut it there.'),

  'template-marker': rule('error', 15, 45, 'Replace the placeholder with a value before you send.'),
  'encoding-damage': rule('warning', 8, 24, 'Read and write the text as UTF-8 everywhere, and escape it only once.'),
  secret: {
    severity: 'warning',
    points: 10,
    pointsMax: 20,
    fix: 'Remove the secret from the mail, and replace it with a new one where it is used.',
  },
  'body-empty': rule('warning', 15, 15, 'Add content to the body.'),
  'text-differs': rule('warning', 8, 8, 'Say the same in both, or omit `text`: it is then generated from the html.'),
  'text-missing': rule('info', 1, 1, 'Set `text` if the generated text is not good enough.'),

  'html-invalid': rule('error', 10, 40, 'Correct the HTML at this place.'),
  'html-attribute-repeated': rule('warning', 2, 10, 'Write the attribute only once: mail programs use the first one.'),
  'html-clipped': rule('warning', 10, 10, 'Shorten the HTML: remove styles and comments, or link to the rest.'),
  'html-deep': rule('warning', 5, 5, 'Nest tables and elements less deeply.'),
  'html-lang-missing': rule(
    'info',
    1,
    1,
    'Add the attribute `lang` to the html element, for screen readers and translation.',
  ),
  'message-large': rule('warning', 10, 10, 'Link to large files instead of attaching them.'),
  'active-content': rule('warning', 10, 20, 'Remove it, and link to a web page that has it.'),
  'hidden-text': rule(
    'warning',
    10,
    20,
    'Show the text or remove it. Only one short preheader at the start may be hidden.',
  ),
  'external-style': rule('info', 2, 4, 'Use inline styles or a style element.'),

  'link-script': rule('error', 20, 40, 'Link to an https address.'),
  'link-text-mismatch': rule(
    'error',
    20,
    40,
    'Make the link text the address that the link goes to, or use words instead of an address.',
  ),
  'link-text-other-name': rule('warning', 8, 16, 'Link to the host that the text names, or change the text.'),
  'link-private-host': rule('error', 15, 30, 'Use an address that recipients can reach from the internet.'),
  'link-ip-address': rule('warning', 10, 20, 'Use a host name.'),
  'link-user-name': rule('warning', 10, 20, 'Remove the part before the @: it looks like the host of the link.'),
  'link-shortener': rule('warning', 8, 16, 'Use the address that the short link leads to.'),
  'link-malformed': rule('warning', 5, 15, 'Write the complete address: https://host/path.'),
  'link-plain-http': rule('warning', 3, 9, 'Use the https address.'),
  'link-empty': rule('warning', 3, 9, 'Give the link a target, or turn it into text.'),
  'link-other-site': rule('info', 0, 0, 'If you can, link to hosts of the sending domain.'),

  'image-attachment-missing': rule('error', 10, 20, 'Attach the image with that `content_id`.'),
  'image-attachment-unused': rule(
    'warning',
    3,
    9,
    'Show the image with `src="cid:…"`, remove it, or omit `content_id` to send it as a file.',
  ),
  'image-heavy': rule('warning', 10, 10, 'Repeat in text what the images say.'),
  'image-without-source': rule('warning', 5, 10, 'Give the image a complete https address, or attach it and use cid:.'),
  'image-data-uri': rule(
    'warning',
    5,
    10,
    'Attach the image and use cid:, or link to it: several mail programs do not show data URIs.',
  ),
  'image-without-alt': rule(
    'warning',
    2,
    10,
    'Add the attribute `alt`. Leave it empty if the image is only decoration.',
  ),
  'image-without-width': rule(
    'info',
    1,
    3,
    'Add the attribute `width`, so that the layout does not jump and Outlook keeps the size.',
  ),
  'tracking-pixel': rule(
    'info',
    1,
    1,
    'Remove the image: several mail programs block it, or load it without being asked.',
  ),

  'attachment-executable': rule(
    'error',
    30,
    60,
    'Link to a download instead: most mail servers reject programs, also inside archives.',
  ),
  'attachment-name-deceptive': rule(
    'error',
    30,
    60,
    'Remove the characters that change the text direction from the file name.',
  ),
  'attachment-archive': rule(
    'info',
    2,
    4,
    'Attach the files themselves, or link to them: some mail servers hold archives back.',
  ),
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof RULE_TABLE;
