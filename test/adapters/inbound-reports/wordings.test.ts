import { describe, expect, test } from 'vitest';
import { readInboundReport } from '../../../src/adapters/inbound-reports/read-inbound-report.ts';
import { classifyReply } from '../../../src/domain/bounce/classify.ts';

const mail = (headers: string, text: string) => readInboundReport(Buffer.from(`${headers}\n\n${text}\n`)).report;

const failuresOf = (headers: string, text: string) => {
  const report = mail(headers, text);
  if (report.kind !== 'failures') return report;
  return report.failures.map((failure) => [failure.failed, classifyReply(failure)]);
};

const DAEMON = 'From: MAILER-DAEMON@b.test\nSubject: Mail delivery failed';

describe('a report in the words of', () => {
  test.each([
    [
      'DragonFly Mail Agent',
      DAEMON,
      'There was an error delivering your mail to <a@b.test>.\n\nmx.b.test [192.0.2.1] did not like our RCPT TO:\n550 5.1.1 No such user\n\nMessage headers follow.\n\nSubject: virus',
      'no_mailbox',
    ],
    [
      'DragonFly Mail Agent, after days',
      DAEMON,
      'There was an error delivering your mail to <a@b.test>.\n\nCould not deliver for the last 432000 seconds. Giving up.',
      'network',
    ],
    [
      'Amazon WorkMail',
      'From: MAILER-DAEMON@ses.test\nSubject: Delivery Status Notification (Failure)',
      'An error occurred while trying to deliver the mail to the following recipients:\na@b.test\n\nDiagnostic-Code: smtp; 550 5.1.1 User Unknown',
      'no_mailbox',
    ],
    [
      'InterScan',
      'From: "InterScan MSS" <postmaster@b.test>\nSubject: Message',
      'An error occurred while attempting to deliver:\n<a@b.test>\n550 User unknown',
      'no_mailbox',
    ],
    [
      'KDDI',
      'From: no-reply@b.test\nSubject: メールエラー通知',
      'Could not be delivered to: <a@b.test>\nAs their mailbox is full.',
      'mailbox_full',
    ],
    [
      'Apache James',
      'From: post_master@b.test\nSubject: Re:Test',
      'Error message below:\n550 - Requested action not taken: no such user here\n\nRCPT TO: a@b.test',
      'no_mailbox',
    ],
    [
      'HCL Notes',
      'From: postmaster@b.test\nSubject: Undeliverable message',
      '------- Failure Reasons  --------\n\na@b.test\nUser not listed in public Name & Address Book\n\n------- Returned Message --------',
      'no_mailbox',
    ],
  ])('%s is read', (_, headers, text, category) => {
    expect(failuresOf(headers, text)).toEqual([[['a@b.test'], category]]);
  });

  test('an automatic reply is none, unless it is Exim that names whom it gave up', () => {
    const text = 'Your message could not be delivered.\n\na@b.test\n550 5.1.1 User unknown';
    const headers = `${DAEMON}\nAuto-Submitted: auto-replied`;
    expect(mail(headers, text)).toEqual({ kind: 'nothing', why: 'automatic reply' });
    expect(mail(`${headers}\nX-Failed-Recipients: a@b.test`, text)).toMatchObject({ kind: 'failures' });
  });

  test('headers that it quotes do not say why', () => {
    const text =
      'Your message could not be delivered.\n\na@b.test\nX-Virus-Scanned: amavisd-new\nSubject: spam message\nsorry';
    expect(failuresOf(DAEMON, text)).toEqual([[['a@b.test'], 'unknown']]);
  });
});
