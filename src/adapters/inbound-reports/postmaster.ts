import type { MailTransport, OutgoingMail } from '../../domain/ports/mail.ts';
import type { Logger, System } from '../../lib/async/async.ts';
import { smtpAnswer } from '../../lib/smtp/smtp.ts';

export interface PostmasterOptions {
  /** `BOUNCE_DOMAIN`. */
  readonly domain: string;
  /** Address of the operator who reads it. */
  readonly address: string;
  /** Transport for live mail. */
  readonly transport: MailTransport;
  readonly system: System;
  readonly logger: Logger;
}

export interface Postmaster {
  /**
   * Resolves once the mail has been handed over to POSTMASTER.
   * @param from sender of the envelope.
   * @throws {Error} with a `responseCode` if the mail was not handed over. The code says whether to retry.
   */
  pass(raw: Buffer, from: string): Promise<void>;
}

/** A postmaster gets a few mails a day. More is a flood that would fill a mailbox, or a loop. */
const PASSED_PER_HOUR_MAX = 30;
const HOUR_MS = 3_600_000;
/** RFC 5321 §4.5.3.2.6 lets the client wait ten minutes for its reply. A server that takes longer than this is down. */
const PASS_MS_MAX = 60_000;
/** Limit for the header of a mail. Anything later was not added in transit. */
const HEAD_BYTES_MAX = 64_000;

const markOf = (domain: string): string => `postmaster@${domain}`;

const hasPassed = (raw: Buffer, domain: string): boolean => {
  const head =
    raw
      .subarray(0, HEAD_BYTES_MAX)
      .toString('latin1')
      .split(/\r?\n\r?\n/, 1)[0] ?? '';
  return head.split(/\r?\n/).some((line) => line.toLowerCase() === `x-loop: ${markOf(domain)}`);
};

/**
 * The mail is attached unchanged to another one. If it were forwarded as it is, a server that checks its sender would
 * consider it forged.
 */
const wrapped = ({ domain, address, system }: PostmasterOptions, raw: Buffer, from: string): OutgoingMail => {
  const recipientId = 'postmaster';
  const sender = from === '' ? 'a machine (without a return address)' : from;
  return {
    // No bounces: two machines could otherwise write to each other.
    envelope: { from: '', to: [{ recipientId, address }] },
    messageId: `<${system.uuid()}@${domain}>`,
    body: {
      kind: 'message',
      messageId: recipientId,
      from: { name: 'Postmaster', address: markOf(domain) },
      recipients: [{ id: recipientId, address, kind: 'to' }],
      replyTo: [],
      tags: [],
      metadata: {},
      subject: `Mail to ${markOf(domain)}`,
      text: `A message arrived for the postmaster of ${domain}: it is attached.\r\nReturn address: ${sender}`,
      headers: { 'Auto-Submitted': 'auto-forwarded', 'X-Loop': markOf(domain) },
      attachments: [{ filename: 'mail.eml', contentType: 'application/octet-stream', content: raw.toString('base64') }],
    },
    date: system.now(),
    attempt: 1,
  };
};

/**
 * Forwards mail to the postmaster (RFC 5321 §4.5.1) to an address that is read, before replying: no copy is kept here.
 */
export const createPostmaster = (options: PostmasterOptions): Postmaster => {
  const { domain, transport, system, logger } = options;
  let passed: readonly number[] = [];

  const takePlace = (): boolean => {
    const now = system.monotonicMs();
    passed = passed.filter((at) => at > now - HOUR_MS);
    if (passed.length >= PASSED_PER_HOUR_MAX) return false;
    passed = [...passed, now];
    return true;
  };

  return {
    pass: async (raw, from) => {
      if (hasPassed(raw, domain)) throw smtpAnswer(554, '5.4.6 it has been here before');
      if (!takePlace()) throw smtpAnswer(451, '4.7.0 the postmaster has much mail: bring it again in an hour');
      const mail = wrapped(options, raw, from);
      const [said] = await transport.send(mail, { deadlineMs: system.monotonicMs() + PASS_MS_MAX });
      if (said?.outcome === 'delivered') {
        logger.info({ kind: 'postmaster', outcome: 'postmaster' }, 'a mail to the postmaster was passed on');
        return;
      }
      const { outcome = 'unknown', code = 0, enhanced = null, mx = null } = said ?? {};
      logger.error(
        { outcome, code, enhanced, mx },
        'a mail to the postmaster could not be passed on: check POSTMASTER',
      );
      throw smtpAnswer(451, '4.3.0 it could not be passed on: bring it again');
    },
  };
};
