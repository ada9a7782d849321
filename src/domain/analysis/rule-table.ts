/** `error`: the message should not leave like this. `warning`: it will suffer. `info`: worth knowing. */
export type Severity = 'info' | 'warning' | 'error';

export interface Rule {
  readonly severity: Severity;
  /** Taken from the score for each finding … */
  readonly points: number;
  /** … up to this: a hundred small faults are not worse than one grave one. */
  readonly pointsMax: number;
  /** The remedy, one sentence. */
  readonly fix: string;
}

/** Rises with every change of the table or of what a rule finds, so that two scores can be compared. */
export const RULES_VERSION = 2;

/** Every rule there is, the grave ones first within their subject. */
export const RULE_TABLE = {
  'domain-not-verified': {
    ...{ severity: 'error', points: 30, pointsMax: 30 },
    fix: 'Publish the domain’s records and verify it.',
  },
  'dkim-not-valid': {
    ...{ severity: 'warning', points: 15, pointsMax: 15 },
    fix: 'Publish the DKIM record that the domain’s page shows.',
  },
  'spf-not-valid': {
    ...{ severity: 'warning', points: 10, pointsMax: 10 },
    fix: 'Publish an SPF record that includes this service; where it does, its operator has to mend his own.',
  },
  'dmarc-not-valid': {
    ...{ severity: 'warning', points: 10, pointsMax: 10 },
    fix: 'Publish a DMARC record at `_dmarc`, with `p=none` to begin with.',
  },
  'authentication-unchecked': {
    ...{ severity: 'info', points: 0, pointsMax: 0 },
    fix: 'Wait for the next check of the domain, or ask for one by verifying it.',
  },
  'mail-captured': {
    ...{ severity: 'info', points: 0, pointsMax: 0 },
    fix: 'Set `MAIL_URL` to send for real.',
  },

  'sender-name-misleading': {
    ...{ severity: 'warning', points: 20, pointsMax: 20 },
    fix: 'Use a display name in one script, without another address, host or hidden character in it.',
  },
  'lookalike-host': {
    ...{ severity: 'warning', points: 20, pointsMax: 40 },
    fix: 'Use the name in one script, or the ASCII name that is meant.',
  },
  'sender-no-reply': {
    ...{ severity: 'info', points: 2, pointsMax: 2 },
    fix: 'Send from an address that somebody reads, or give one in `reply_to`.',
  },
  'unsubscribe-missing': {
    ...{ severity: 'warning', points: 20, pointsMax: 20 },
    fix: 'Give `unsubscribe`: large receivers require it of bulk mail.',
  },
  'unsubscribe-not-one-click': {
    ...{ severity: 'warning', points: 8, pointsMax: 8 },
    fix: 'Give an https address in `unsubscribe.url` that accepts a POST (RFC 8058).',
  },

  'subject-blank': {
    ...{ severity: 'error', points: 20, pointsMax: 20 },
    fix: 'Write what the message is about.',
  },
  'subject-fake-reply': {
    ...{ severity: 'warning', points: 10, pointsMax: 10 },
    fix: 'Leave the prefix out, or give the `In-Reply-To` header of the message it answers.',
  },
  'subject-shouting': {
    ...{ severity: 'warning', points: 8, pointsMax: 8 },
    fix: 'Write it in ordinary letters with one mark at most.',
  },
  'subject-too-long': {
    ...{ severity: 'warning', points: 5, pointsMax: 5 },
    fix: 'Shorten it to 78 characters, the first 40 of which matter most.',
  },
  'subject-long': {
    ...{ severity: 'info', points: 2, pointsMax: 2 },
    fix: 'Shorten it to 78 characters: most readers cut there.',
  },

  'template-marker': {
    ...{ severity: 'error', points: 15, pointsMax: 45 },
    fix: 'Fill in the variable before sending.',
  },
  'encoding-damage': {
    ...{ severity: 'warning', points: 8, pointsMax: 24 },
    fix: 'Read and write the text as UTF-8 throughout, and escape it once.',
  },
  secret: {
    ...{ severity: 'warning', points: 10, pointsMax: 20 },
    fix: 'Take the secret out of the mail and replace it where it is used.',
  },
  'body-empty': {
    ...{ severity: 'warning', points: 15, pointsMax: 15 },
    fix: 'Put something into the body.',
  },
  'text-differs': {
    ...{ severity: 'warning', points: 8, pointsMax: 8 },
    fix: 'Say the same in both, or leave `text` out so that it is derived.',
  },
  'text-missing': {
    ...{ severity: 'info', points: 1, pointsMax: 1 },
    fix: 'Give `text` if the derived one is not good enough.',
  },

  'html-invalid': {
    ...{ severity: 'error', points: 10, pointsMax: 40 },
    fix: 'Correct the HTML there.',
  },
  'html-clipped': {
    ...{ severity: 'warning', points: 10, pointsMax: 10 },
    fix: 'Shorten the HTML: move styles and comments out, or link to the rest.',
  },
  'html-deep': {
    ...{ severity: 'warning', points: 5, pointsMax: 5 },
    fix: 'Nest fewer tables and elements.',
  },
  'html-lang-missing': {
    ...{ severity: 'info', points: 1, pointsMax: 1 },
    fix: 'Add `lang` to the html element, for screen readers and translation.',
  },
  'message-large': {
    ...{ severity: 'warning', points: 10, pointsMax: 10 },
    fix: 'Link to large files instead of attaching them.',
  },
  'active-content': {
    ...{ severity: 'warning', points: 10, pointsMax: 20 },
    fix: 'Take it out, and link to a page that has it.',
  },
  'hidden-text': {
    ...{ severity: 'warning', points: 10, pointsMax: 20 },
    fix: 'Show the text or take it out; one short preheader at the start may be hidden.',
  },
  'external-style': {
    ...{ severity: 'info', points: 2, pointsMax: 4 },
    fix: 'Put the styles inline or into a style element.',
  },

  'link-script': {
    ...{ severity: 'error', points: 20, pointsMax: 40 },
    fix: 'Link to an https address.',
  },
  'link-text-mismatch': {
    ...{ severity: 'error', points: 20, pointsMax: 40 },
    fix: 'Show the address that the link goes to, or words instead of an address.',
  },
  'link-text-other-name': {
    ...{ severity: 'warning', points: 8, pointsMax: 16 },
    fix: 'Link to the host that the text names, or use other words.',
  },
  'link-private-host': {
    ...{ severity: 'error', points: 15, pointsMax: 30 },
    fix: 'Use an address that recipients can reach.',
  },
  'link-ip-address': {
    ...{ severity: 'warning', points: 10, pointsMax: 20 },
    fix: 'Use a host name.',
  },
  'link-user-name': {
    ...{ severity: 'warning', points: 10, pointsMax: 20 },
    fix: 'Leave out what stands before the @: it looks like the host that the link goes to.',
  },
  'link-shortener': {
    ...{ severity: 'warning', points: 8, pointsMax: 16 },
    fix: 'Use the address that it leads to.',
  },
  'link-malformed': {
    ...{ severity: 'warning', points: 5, pointsMax: 15 },
    fix: 'Write the whole address, https://host/path.',
  },
  'link-plain-http': {
    ...{ severity: 'warning', points: 3, pointsMax: 9 },
    fix: 'Use the https address.',
  },
  'link-empty': {
    ...{ severity: 'warning', points: 3, pointsMax: 9 },
    fix: 'Give the link an address, or make it text.',
  },
  'link-other-site': {
    ...{ severity: 'info', points: 0, pointsMax: 0 },
    fix: 'Where you can, link to hosts of the sending domain.',
  },

  'image-attachment-missing': {
    ...{ severity: 'error', points: 10, pointsMax: 20 },
    fix: 'Attach the image with that `content_id`.',
  },
  'image-heavy': {
    ...{ severity: 'warning', points: 10, pointsMax: 10 },
    fix: 'Say in text what the images say.',
  },
  'image-without-source': {
    ...{ severity: 'warning', points: 5, pointsMax: 10 },
    fix: 'Give the image a whole https address, or attach it and use cid:.',
  },
  'image-data-uri': {
    ...{ severity: 'warning', points: 5, pointsMax: 10 },
    fix: 'Attach the image and use cid:, or link to it: several readers do not show data URIs.',
  },
  'image-without-alt': {
    ...{ severity: 'warning', points: 2, pointsMax: 10 },
    fix: 'Add `alt`, empty if the image only decorates.',
  },
  'image-without-width': {
    ...{ severity: 'info', points: 1, pointsMax: 3 },
    fix: 'Add `width`, so that the page does not jump and Outlook keeps the size.',
  },
  'tracking-pixel': {
    ...{ severity: 'info', points: 1, pointsMax: 1 },
    fix: 'Leave it out: several readers block it or load it unasked.',
  },

  'attachment-executable': {
    ...{ severity: 'error', points: 30, pointsMax: 60 },
    fix: 'Link to a download instead: most receivers refuse programs, archives of them too.',
  },
  'attachment-name-deceptive': {
    ...{ severity: 'error', points: 30, pointsMax: 60 },
    fix: 'Name the file without characters that change the direction of text.',
  },
  'attachment-archive': {
    ...{ severity: 'info', points: 2, pointsMax: 4 },
    fix: 'Attach what is in it, or link to it: some receivers hold archives back.',
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof RULE_TABLE;
