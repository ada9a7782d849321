import type { RecipientOutcome } from '../../../domain/ports/mail.ts';
import type { Logger, System } from '../../../lib/async/async.ts';

/**
 * Permanent rejections about this machine: its address, its reverse name, its EHLO name. They are about neither a
 * recipient nor a message, so mail waits while the operator fixes the cause. A rejection that does not clearly say so
 * stays a bounce: a false alarm would retry hopeless mail for days.
 */

/** Problems that mail servers report about this machine. */
export type OwnHostProblem = 'listed' | 'reverse_name' | 'ehlo_name' | 'blocked';

/** Remedies for the operator. */
export const OWN_HOST_REMEDIES: Readonly<Record<OwnHostProblem, string>> = {
  listed: 'a block list has the address of this machine: have it taken off the list, or set SOURCE_ADDRESSES to others',
  reverse_name:
    'the address of this machine has no reverse name (PTR) that leads back to it: have its provider set one',
  ehlo_name: 'EHLO_NAME is not accepted: set it to a public name that leads to the address of this machine',
  blocked: 'the address of this machine is blocked: ask the postmaster there, or set SOURCE_ADDRESSES to others',
};

interface OwnHostWords {
  readonly problem: OwnHostProblem;
  readonly words: RegExp;
  /**
   * The same words may describe the message's content (a listed link), so they count only before the content is sent.
   */
  readonly early?: true;
}

/** The first match counts. Postfix rejects problems of the client or its EHLO at RCPT (`smtpd_delay_reject`). */
const WORDS: readonly OwnHostWords[] = [
  // Postfix: 554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org. Exchange Online too.
  { problem: 'listed', words: /client host \S{1,300} (?:is )?blocked (?:using|by|with)\b/i },
  // Exim: 550 rejected because 192.0.2.1 is in a black list at zen.spamhaus.org
  { problem: 'listed', words: /[\da-f.:]{3,45}\]? is in an? (?:black|block|dns|rbl)/i, early: true },
  // Sendmail: 550 5.7.1 Rejected: 192.0.2.1 listed at zen.spamhaus.org
  { problem: 'listed', words: /rejected: \[?[\da-f.:]{3,45}\]? (?:is )?listed (?:at|in|on|by)\b/i, early: true },
  // Sendmail: 550 5.7.1 Mail from 192.0.2.1 refused by blackhole site zen.spamhaus.org
  { problem: 'listed', words: /mail from \S{1,300} refused by blackhole site/i },
  // Gmail: 550-5.7.25 [192.0.2.1] The IP address sending this message does not have a PTR record setup
  { problem: 'reverse_name', words: /ip address sending this message does not have a ptr record|bad dns ptr/i },
  // Postfix: 550 5.7.25 Client host rejected: cannot find your reverse hostname, [192.0.2.1]
  { problem: 'reverse_name', words: /client host rejected: cannot find your (?:reverse )?hostname/i },
  // Sendmail: 550 5.7.1 Fix reverse DNS for 192.0.2.1
  { problem: 'reverse_name', words: /fix (?:your )?reverse dns for \[?[\da-f.:]{3,45}/i },
  // Postfix: 550 5.7.1 <x>: Helo command rejected: Host not found
  { problem: 'ehlo_name', words: /\bhelo command \S{0,300} ?(?:rejected|blocked)/i },
  // Outlook.com: 550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. … network is on our block list (S3140)
  { problem: 'blocked', words: /messages from \[[\da-f.:]{3,45}\] weren['’]t sent/i },
  // Exchange Online: 550 5.7.606 Access denied, banned sending IP [192.0.2.1]
  { problem: 'blocked', words: /access denied, banned sending ip/i },
  // Yahoo: 553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1
  { problem: 'blocked', words: /connections will not be accepted from \[?[\da-f.:]{3,45}/i },
  // Postfix: 554 5.7.1 <unknown[192.0.2.1]>: Client host rejected: Access denied
  { problem: 'blocked', words: /client host rejected: access denied/i },
  // Gmail: 550-5.7.1 [192.0.2.1] The IP you're using to send mail is not authorized to send email directly to our servers
  { problem: 'blocked', words: /the ip you['’]re using to send mail is not authorized/i },
];

/** RFC 7372 §3: reverse DNS of the client. Not X.7.26, since SPF, DKIM and DMARC are about the sending domain. */
const NO_REVERSE_NAME = /^5\.7\.25$/;
/** Exchange Online's lists of addresses (learn.microsoft.com, Email non-delivery reports). */
const BANNED_ADDRESS = /^5\.7\.(?:60[6-9]|6[1-4]\d)$/;

const byCode = (enhanced: string): OwnHostProblem | null => {
  if (NO_REVERSE_NAME.test(enhanced)) return 'reverse_name';
  return BANNED_ADDRESS.test(enhanced) ? 'blocked' : null;
};

/** The problem with this machine that caused a permanent rejection; null if there is no clear one. */
export const ownHostProblem = ({ code, enhanced, text, stage }: RecipientOutcome): OwnHostProblem | null => {
  if (code < 500) return null;
  const said = WORDS.find(({ words, early }) => words.test(text) && (early !== true || stage !== 'content'));
  return said?.problem ?? byCode(enhanced ?? '');
};

/** Shorter repeats known problems in the log, longer lets them be overlooked. */
const AGAIN_MS = 600_000;

export interface OwnHostWatchOptions {
  readonly system: Pick<System, 'monotonicMs'>;
  readonly logger: Pick<Logger, 'error'>;
}

/** Defers mail that is rejected because of this machine, and reports the problem in the log. */
export const createOwnHostWatch = ({ system, logger }: OwnHostWatchOptions) => {
  const toldMs = new Map<OwnHostProblem, number>();

  const tell = (problem: OwnHostProblem, { mx, code, enhanced }: RecipientOutcome): void => {
    const nowMs = system.monotonicMs();
    if (nowMs - (toldMs.get(problem) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return;
    toldMs.set(problem, nowMs);
    logger.error(
      { mx, code, enhanced },
      `mail servers refuse this machine, and mail waits: ${OWN_HOST_REMEDIES[problem]}`,
    );
  };

  return (outcome: RecipientOutcome): RecipientOutcome => {
    const problem = outcome.outcome === 'bounced' ? ownHostProblem(outcome) : null;
    if (problem === null) return outcome;
    tell(problem, outcome);
    return { ...outcome, outcome: 'deferred' };
  };
};
