import {
  AMAVIS,
  APPLE,
  BARRACUDA,
  EXCHANGE,
  EXIM,
  GMAIL,
  IRONPORT,
  MIMECAST,
  NETEASE,
  POSTFIX,
  QMAIL,
  QQ,
  type ReplyWords,
  SENDMAIL,
  SPAMASSASSIN,
  saying,
  YAHOO,
  YANDEX,
} from '../reply-words.ts';

const spam = saying('spam');
const contentRejected = saying('content_rejected');
const tooLarge = saying('too_large');
const relayDenied = saying('relay_denied');
const senderRejected = saying('sender_rejected');
const policy = saying('policy');
const network = saying('network');
const system = saying('system');
const protocol = saying('protocol');

/** Replies that blame the message, its sender or its route. They rank before replies that blame recipients. */
export const MESSAGE_WORDS: readonly ReplyWords[] = [
  network(
    /in the queue too long|(?:queue|message|delivery) ?\.?(?:has )?expired|could not deliver for the last/,
    QMAIL,
    "0 I'm not going to try again; this message has been in the queue too long.",
  ),
  system(/too many hops|hop count|message is looping/, QMAIL, '554 too many hops, this message is looping (#5.4.6)'),
  system(
    /couldn't create "?\/|procmail/,
    'procmail, as it reports',
    '0 procmail: Couldn\'t create "/var/spool/mail/a" id: r: No such user',
  ),
  protocol(/line (?:length|too long)/, EXIM, '550 maximum allowed line length is 998 octets, got 1200'),
  spam(
    /likely (?:to be )?(?:unsolicited|suspicious|spam)/,
    GMAIL,
    '550 5.7.1 Gmail has detected that this message is likely unsolicited mail',
  ),
  spam(/suspicion of spam/, YANDEX, '554 5.7.1 [1] Message rejected under suspicion of SPAM'),
  spam(
    /\bspam (?:message|content|detected|score|points|mail|filter|check|reject)|\bspam or forged/,
    EXIM,
    '550 This message scored 12.3 spam points.',
  ),
  spam(/\breject, id=\S{1,60} - spam/, AMAVIS, '554 5.7.0 Reject, id=1234-05 - spam'),
  spam(/blocked by spamassassin/, SPAMASSASSIN, '550 5.7.1 Blocked by SpamAssassin'),
  spam(
    /message is suspicious/,
    GMAIL,
    '421 4.7.0 Our system has detected that this message is suspicious due to the nature of the content',
  ),
  spam(/\bdt:sp[am]\b/, NETEASE, '554 DT:SPM 163 smtp3, please see http://mail.163.com/help'),
  spam(/spamsignature|spam signature/, MIMECAST, '554 Email rejected due to security policies - MCSpamSignature.x.x'),
  spam(
    /\bas (?:probable |likely |possible )?(?:spam|junk|unsolicited|uce|ube|bulk)\b/,
    EXCHANGE,
    '550 5.7.1 Message rejected as spam by Content Filtering.',
  ),
  spam(
    /virus or spam|spam or virus/,
    EXIM,
    '554 5.7.1 The message was rejected because it contains virus or spam content',
  ),
  spam(
    /\bis spam\b|anti-?spam|high spam|spam blocked|\bjunk ?mail\b/,
    IRONPORT,
    '554 5.7.1 Blocked: this message is spam',
  ),

  contentRejected(/\[ph01\]/, YAHOO, '554 Message not allowed - [PH01] Email not accepted for policy reasons'),
  contentRejected(
    /content presents a potential security/,
    GMAIL,
    '552 5.7.0 This message was blocked because its content presents a potential security issue',
  ),
  contentRejected(
    /(?:content|header|body) (?:was |is |has been )?(?:rejected|denied|refused|blocked)/,
    QQ,
    '550 Mail content denied. http://service.mail.qq.com/',
  ),
  contentRejected(/\breject, id=\S{1,60} - (?:infected|banned)/, AMAVIS, '554 5.7.0 Reject, id=1234-05 - BANNED: .exe'),
  contentRejected(
    /\bvirus(?!-scanned)|\bmalware|\btrojan|\bphish/,
    IRONPORT,
    '554 5.7.1 The message was found to contain a virus: Eicar-Test-Signature',
  ),
  contentRejected(
    /(?:attachment|file type|file name|extension).{0,40}(?:not allowed|prohibited|rejected|blocked|forbidden)/,
    MIMECAST,
    '554 Rejected: the attachment is not allowed here',
  ),
  contentRejected(
    /\bsurbl\b|\buribl\b|\b(?:url|link)s? (?:in|listed|is)/,
    POSTFIX,
    '554 5.7.1 Message contains a URL listed by URIBL',
  ),

  relayDenied(
    /(?:unable|not (?:permitted|allowed|authori[sz]ed|configured)) to relay|do not relay/,
    EXCHANGE,
    '550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain',
  ),
  relayDenied(
    /list of allowed rcpthosts/,
    QMAIL,
    "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
  ),
  relayDenied(
    /listed as a best-preference mx/,
    QMAIL,
    "554 Sorry. Although I'm listed as a best-preference MX or A for that host, it isn't in my control/locals file",
  ),

  senderRejected(
    /sender(?:'s)?(?: e-?mail)?(?: address| domain)?(?: is| was)? (?:rejected|denied|blocked|refused|not allowed|invalid|unknown|banned|must exist)/,
    POSTFIX,
    '450 4.1.8 <b@example.net>: Sender address rejected: Domain not found',
  ),
  senderRejected(
    /sender verif\w+ (?:failed|failure)|sender verify fail|complete sender verify/,
    EXIM,
    '550 Sender verify failed',
  ),
  senderRejected(/badmailfrom/, QMAIL, '553 sorry, your envelope sender is in my badmailfrom list (#5.7.1)'),
  senderRejected(
    /blocked senders?|blocked by (?:the )?recipient|recipient has blocked/,
    MIMECAST,
    '550 Rejected by header based manually Blocked Senders',
  ),
  senderRejected(
    /domain of sender address/,
    SENDMAIL,
    '501 5.1.8 <b@example.net>... Domain of sender address does not exist',
  ),

  tooLarge(
    /exceeded google's message size limits|message size limits?/,
    GMAIL,
    "552 5.3.4 Your message exceeded Google's message size limits",
  ),
  tooLarge(
    /(?:message|mail|data|size|file)\b.{0,24}(?:too (?:large|big|long)|exceeds? (?:the |my |databytes |fixed |maximum |size )*(?:limit|maximum|size))/,
    POSTFIX,
    '552 5.3.4 Error: message file too big',
  ),
  tooLarge(
    /larger than the (?:current )?system limit/,
    EXCHANGE,
    '550 5.2.3 This message is larger than the current system limit',
  ),
  tooLarge(
    /(?:maximum|max|size) (?:message )?size exceeded|(?<!mailbox )exceeds .{0,24}size/,
    SENDMAIL,
    '552 5.2.3 Message size exceeds fixed maximum message size (10485760)',
  ),

  policy(
    /local policy/,
    APPLE,
    '554 5.7.1 [CS01] Message rejected due to local policy. Please visit https://support.apple.com/',
  ),
  policy(
    /permanent failure for one or more recipients \([^)]{0,100}:blocked\)/,
    BARRACUDA,
    '550 permanent failure for one or more recipients (a@example.com:blocked)',
  ),
  policy(/administrative prohibition/, EXIM, '550 Administrative prohibition'),
  policy(
    /delivery not authori[sz]ed|not authori[sz]ed to send|permission to send/,
    EXCHANGE,
    '550 5.7.1 Delivery not authorized, message refused',
  ),
  policy(
    /(?:must issue|requires?|need) (?:a )?(?:starttls|encryption|tls)|tls required|encryption (?:is )?required/,
    'RFC 3207 §4',
    '530 5.7.0 Must issue a STARTTLS command first',
  ),
];
