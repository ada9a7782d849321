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
  'domain-not-verified': rule('error', 30, 30, 'Publish the domain’s records and verify it.'),
  'dkim-not-valid': rule('warning', 15, 15, 'Publish the DKIM record that the domain’s page shows.'),
  'spf-not-valid': rule(
    'warning',
    10,
    10,
    'Publish an SPF record that includes this service; if it does, the operator of this service has to mend its own record.',
  ),
  'dmarc-not-valid': rule('warning', 10, 10, 'Publish a DMARC record at `_dmarc`, with `p=none` to begin with.'),
  'authentication-unchecked': rule(
    'info',
    0,
    0,
    'Wait for the next check of the domain, or ask for one by verifying it.',
  ),
  'mail-captured': rule('info', 0, 0, 'Connect this service to a mail server to send for real.'),

  'sender-name-misleading': rule(
    'warning',
    20,
    20,
    'Use a display name in one script, without another address, host or hidden character in it.',
  ),
  'lookalike-host': rule('warning', 20, 40, 'Use the name in one script, or the ASCII name that is meant.'),
  'sender-no-reply': rule('info', 2, 2, 'Send from an address that is read, or set one in `reply_to`.'),
  'unsubscribe-missing': rule('warning', 20, 20, 'Give `unsubscribe`: large receivers require it of bulk mail.'),
  'unsubscribe-not-one-click': rule(
    'warning',
    8,
    8,
    'Give an https address in `unsubscribe.url` that accepts a POST (RFC 8058).',
  ),

  'subject-blank': rule('error', 20, 20, 'Write what the message is about.'),
  'subject-deceptive': rule(
    'error',
    20,
    20,
    'Remove the direction overrides U+202D and U+202E: right-to-left scripts need none.',
  ),
  'subject-fake-reply': rule(
    'warning',
    10,
    10,
    'Leave the prefix out, or give the `In-Reply-To` header of the message it answers.',
  ),
  'subject-shouting': rule('warning', 8, 8, 'Write it in ordinary letters with one mark at most.'),
  'subject-too-long': rule('warning', 5, 5, 'Shorten it to 78 characters, the first 40 of which matter most.'),
  'subject-long': rule('info', 2, 2, 'Shorten it to 78 characters: most readers cut there.'),

  'template-marker': rule('error', 15, 45, 'Fill in the variable before sending.'),
  'encoding-damage': rule('warning', 8, 24, 'Read and write the text as UTF-8 throughout, and escape it once.'),
  secret: {
    severity: 'warning',
    points: 10,
    pointsMax: 20,
    fix: 'Take the secret out of the mail and replace it where it is used.',
  },
  'body-empty': rule('warning', 15, 15, 'Put something into the body.'),
  'text-differs': rule('warning', 8, 8, 'Say the same in both, or leave `text` out so that it is derived.'),
  'text-missing': rule('info', 1, 1, 'Give `text` if the derived one is not good enough.'),

  'html-invalid': rule('error', 10, 40, 'Correct the HTML there.'),
  'html-attribute-repeated': rule('warning', 2, 10, 'Write the attribute once: readers use the first.'),
  'html-clipped': rule('warning', 10, 10, 'Shorten the HTML: move styles and comments out, or link to the rest.'),
  'html-deep': rule('warning', 5, 5, 'Nest fewer tables and elements.'),
  'html-lang-missing': rule('info', 1, 1, 'Add `lang` to the html element, for screen readers and translation.'),
  'message-large': rule('warning', 10, 10, 'Link to large files instead of attaching them.'),
  'active-content': rule('warning', 10, 20, 'Take it out, and link to a page that has it.'),
  'hidden-text': rule(
    'warning',
    10,
    20,
    'Show the text or take it out; one short preheader at the start may be hidden.',
  ),
  'external-style': rule('info', 2, 4, 'Put the styles inline or into a style element.'),

  'link-script': rule('error', 20, 40, 'Link to an https address.'),
  'link-text-mismatch': rule(
    'error',
    20,
    40,
    'Show the address that the link goes to, or words instead of an address.',
  ),
  'link-text-other-name': rule('warning', 8, 16, 'Link to the host that the text names, or use other words.'),
  'link-private-host': rule('error', 15, 30, 'Use an address that recipients can reach.'),
  'link-ip-address': rule('warning', 10, 20, 'Use a host name.'),
  'link-user-name': rule('warning', 10, 20, 'Remove the part before the @: it looks like the host of the link.'),
  'link-shortener': rule('warning', 8, 16, 'Use the address that it leads to.'),
  'link-malformed': rule('warning', 5, 15, 'Write the whole address, https://host/path.'),
  'link-plain-http': rule('warning', 3, 9, 'Use the https address.'),
  'link-empty': rule('warning', 3, 9, 'Give the link an address, or make it text.'),
  'link-other-site': rule('info', 0, 0, 'Where you can, link to hosts of the sending domain.'),

  'image-attachment-missing': rule('error', 10, 20, 'Attach the image with that `content_id`.'),
  'image-attachment-unused': rule(
    'warning',
    3,
    9,
    'Show the image with `src="cid:…"`, remove it, or leave out `content_id` to send it as a file.',
  ),
  'image-heavy': rule('warning', 10, 10, 'Say in text what the images say.'),
  'image-without-source': rule('warning', 5, 10, 'Give the image a whole https address, or attach it and use cid:.'),
  'image-data-uri': rule(
    'warning',
    5,
    10,
    'Attach the image and use cid:, or link to it: several readers do not show data URIs.',
  ),
  'image-without-alt': rule('warning', 2, 10, 'Add `alt`, empty if the image only decorates.'),
  'image-without-width': rule('info', 1, 3, 'Add `width`, so that the page does not jump and Outlook keeps the size.'),
  'tracking-pixel': rule('info', 1, 1, 'Leave it out: several readers block it or load it unasked.'),

  'attachment-executable': rule(
    'error',
    30,
    60,
    'Link to a download instead: most receivers refuse programs, archives of them too.',
  ),
  'attachment-name-deceptive': rule(
    'error',
    30,
    60,
    'Name the file without characters that change the direction of text.',
  ),
  'attachment-archive': rule('info', 2, 4, 'Attach what is in it, or link to it: some receivers hold archives back.'),
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof RULE_TABLE;
