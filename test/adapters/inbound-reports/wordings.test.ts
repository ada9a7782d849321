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

describe('a report', () => {
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
    [
      'OpenSMTPD',
      'From: Mailer Daemon <MAILER-DAEMON@b.test>\nSubject: Delivery status notification: error',
      '    An error has occurred while attempting to deliver a message for\n    the following list of recipients:\n\na@b.test: Domain does not exist\n\n    Below is a copy of the original message:\n\nTo: <other@b.test>\nSubject: mailbox full',
      'no_domain',
    ],
    [
      'EZweb, whose reason is in front of the address',
      'From: Postmaster@b.test\nSubject: Mail System Error - Returned Mail',
      'The user(s) account is disabled.\n\n<a@b.test>',
      'mailbox_disabled',
    ],
    [
      'EZweb, with the reply of another server',
      'From: Postmaster@b.test\nSubject: Mail System Error - Returned Mail',
      'Each of the following recipients was rejected by a remote\nmail server.\n\n    Recipient: <a@b.test>\n    >>> RCPT TO:<a@b.test>\n    <<< 550 <a@b.test>: User unknown',
      'no_mailbox',
    ],
    [
      'm-FILTER',
      'From: <>\nSubject: failure notice',
      'a@b.test\n\n-------server message\n550 unknown user <a@b.test>\n\n-------SMTP command\nDATA\n\n-------original message\nSubject: quota exceeded',
      'no_mailbox',
    ],
    [
      'IMail',
      'From: "Postmaster" <postmaster@b.test>\nSubject: Undeliverable Mail',
      'Unknown user: a@b.test',
      'no_mailbox',
    ],
    [
      'IMail, with a full mailbox',
      'From: "Postmaster" <postmaster@b.test>\nSubject: Undeliverable Mail',
      'User mailbox exceeds allowed size: a@b.test\n\nOriginal message follows.\n\nSubject: spam',
      'mailbox_full',
    ],
    [
      'Sendmail 5',
      'From: Mail Delivery Subsystem <MAILER-DAEMON@b.test>\nSubject: Returned mail: User unknown',
      '----- Transcript of session follows -----\nWhile talking to mx.b.test:\n>>> RCPT To:<a@b.test>\n<<< 550 <a@b.test>, User unknown\n550 <a@b.test>... User unknown\n\n   ----- Unsent message follows -----\nTo: other@b.test',
      'no_mailbox',
    ],
    [
      'Mail2000',
      'From: "Mail Deliver System" <MAILER-DAEMON@b.test>\nSubject: Returned Mail: User unknown',
      '---The following addresses had delivery errors---\n\na@b.test [User unknown]',
      'no_mailbox',
    ],
    [
      'Biglobe',
      'From: postmaster@b.test\nSubject: Returned mail: Service unavailable',
      "----- The following addresses had delivery problems -----\na@b.test\n\n----- Non-delivered information -----\nThe number of messages in recipient's mailbox exceeded the local limit.",
      'mailbox_full',
    ],
    [
      'InterScan, with the commands',
      'From: "InterScan MSS" <postmaster@b.test>\nSubject: Message',
      'Sent <<< RCPT TO:<a@b.test>\nReceived >>> 550 5.1.1 <a@b.test>... user unknown',
      'no_mailbox',
    ],
    [
      'KDDI, without a subject of its own',
      'From: no-reply@b.test\nSubject: Mail',
      'Your mail sent on: Thu, 29 Apr 2013 00:00:00 +0900 \n     Could not be delivered to: <a@b.test> \n     As their mailbox is full.',
      'mailbox_full',
    ],
    [
      'a gateway that gave up after hours',
      'From: Mail Delivery System <Mail.Delivery.System@b.test>\nSubject: Delivery status notification',
      'Delevery to the following recipients was aborted after 5.0 hour(s):\n\n  * a@b.test',
      'unknown',
    ],
  ])('in the wording of %s is read', (_, headers, text, category) => {
    expect(failuresOf(headers, text)).toEqual([[['a@b.test'], category]]);
  });

  test('is not read from an automatic reply, unless Exim names the recipients it gave up', () => {
    const text = 'Your message could not be delivered.\n\na@b.test\n550 5.1.1 User unknown';
    const headers = `${DAEMON}\nAuto-Submitted: auto-replied`;
    expect(mail(headers, text)).toEqual({ kind: 'nothing', why: 'automatic reply' });
    expect(mail(`${headers}\nX-Failed-Recipients: a@b.test`, text)).toMatchObject({ kind: 'failures' });
  });

  test('does not take its reason from the headers that it quotes', () => {
    const text =
      'Your message could not be delivered.\n\na@b.test\nX-Virus-Scanned: amavisd-new\nSubject: spam message\nsorry';
    expect(failuresOf(DAEMON, text)).toEqual([[['a@b.test'], 'unknown']]);
  });

  test('about several recipients has a reply for each', () => {
    const text =
      '----- Transcript of session follows -----\n550 <a@b.test>... User unknown\n552 <c@b.test>... Mailbox full\n250 <d@b.test>... Sent\n\n   ----- Unsent message follows -----';
    expect(failuresOf('From: MAILER-DAEMON@b.test\nSubject: Returned mail', text)).toEqual([
      [['a@b.test'], 'no_mailbox'],
      [['c@b.test'], 'mailbox_full'],
    ]);
  });

  test.each([
    ['a person who quotes one', 'From: ann@b.test\nSubject: Hello', 'Your mail said: 550 unknown user <a@b.test>'],
    [
      'a person whose mail was sent',
      'From: ann@b.test\nSubject: Hi',
      'Your mail sent on: Monday was delivered to: <a@b.test>',
    ],
    [
      'a list that has no such member',
      'From: list@b.test\nSubject: You are not a member',
      'You are not a member: a@b.test',
    ],
  ])('from %s is not read', (_, headers, text) => {
    expect(mail(headers, text)).toEqual({ kind: 'nothing', why: 'not a report' });
  });
});

describe('the fields of a report', () => {
  const DSN =
    'From: MAILER-DAEMON@b.test\nSubject: Delivery Status Notification (Failure)\nContent-Type: multipart/report; boundary=x';
  const fields = (lines: string) =>
    failuresOf(
      DSN,
      `--x\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; b.test\n\nFinal-Recipient: rfc822; a@b.test\n${lines}\n--x--`,
    );

  test.each([
    [
      "Action: failed\nStatus: 4.0.0\nDiagnostic-Code: smtp; DNS type 'mx' lookup of b.test responded with code NXDOMAIN Domain name not found: b.test",
      'no_domain',
    ],
    [
      "Action: failed\nStatus: 4.0.0\nDiagnostic-Code: smtp; The domain b.test doesn't receive email: returned Null MX",
      'no_domain',
    ],
    ['Action: failed\nStatus: 4.0.0\nDiagnostic-Code: smtp; 450 4.1.1 User unknown', 'unknown'],
    ['Action: failed\nStatus: 4.4.1\nDiagnostic-Code: smtp; Domain not found', 'unknown'],
    ['Action: expired\nStatus: \nDiagnostic-Code: Connection timed out', 'network'],
    [
      'Action: failed\nStatus: 5.0.0\nDiagnostic-Code: X-Notes; \x1b$B%f!<%6!<\x1b(BNeko \x1b$B$O\x1b(B Domino \x1b$B%G%#%l%/%H%j$K$O8+$D$+$j$^$;$s!#\x1b(B',
      'no_mailbox',
    ],
  ])('%j mean %s', (lines, category) => {
    expect(fields(lines)).toEqual([[['a@b.test'], category]]);
  });

  test('about a delayed recipient are not a failure', () => {
    expect(fields('Action: delayed\nStatus: 4.0.0')).toEqual({ kind: 'nothing', why: 'not given up' });
  });
});
