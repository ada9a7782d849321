import {
  APPLE,
  COMCAST,
  EXCHANGE,
  EXIM,
  GMAIL,
  GMX,
  IRONPORT,
  MAIL_RU,
  MIMECAST,
  NETEASE,
  OUTLOOK,
  POSTFIX,
  QMAIL,
  QQ,
  RECIPIENT_WORDS_BY_LANGUAGE,
  type ReplyWords,
  SENDMAIL,
  SISIMAI,
  saying,
  T_ONLINE,
  YAHOO,
  YANDEX,
  ZONEMTA,
} from '../reply-words.ts';

const policy = saying('policy');
const full = saying('mailbox_full');
const noDomain = saying('no_domain');
const disabled = saying('mailbox_disabled');
const noMailbox = saying('no_mailbox');
const system = saying('system');

/** Replies that blame the address. They rank after everything that may blame someone else. */
export const RECIPIENT_WORDS: readonly ReplyWords[] = [
  full(/over ?-?quota|overquota/, APPLE, '552 5.2.2 <a@icloud.com>: user is over quota'),
  full(
    /\bquota\b.{0,30}(?:exceed|full|reached)|(?:exceed\w*|out of|above).{0,30}\bquota/,
    EXCHANGE,
    '554 5.2.2 mailbox full; STOREDRV.Deliver.Exception: quota exceeded',
  ),
  full(
    /out of storage space|storage (?:space|volume|limit)|speichervolumen/,
    GMAIL,
    "452 4.2.2 The recipient's inbox is out of storage space",
  ),
  full(
    /storage allocation|exceeded storage/,
    'RFC 5321 §4.2.3, 552',
    '552 Requested mail action aborted: exceeded storage allocation',
  ),
  full(
    /(?:mailbox|inbox|mail ?drop|account|user|recipient)(?: is| was| size| storage)?(?: limit)?(?: is)? (?:full|exceeded)\b/,
    MAIL_RU,
    '550 Message was not accepted -- mailbox is full',
  ),

  full(/mailbox exceeds allowed size/, SISIMAI, '0 User mailbox exceeds allowed size: <a@b.test>'),
  full(/mail ?folder is full/, SISIMAI, "0 <a@b.test>: the user's mailfolder is full."),
  full(/too many messages on the server|space has been used up/, GMX, '550 User has too many messages on the server.'),
  system(
    /\b(?:mailbox|account|user|recipient|address)\b[^;]{0,60}\btemporar(?:il)?y\b|\btemporar(?:il)?y (?:disabled|suspended|locked|inactive|deactivated)/,
    SISIMAI,
    '550 5.2.1 account disabled temporarily for exceeding limits',
  ),

  noDomain(
    /null ?mx\b|(?:does not|doesn't) (?:accept|receive) (?:any )?(?:e-?)?mail\b(?! (?:from|over|directly|sent))/,
    'RFC 7505 §4.1',
    '556 5.1.10 Domain example.com does not accept mail (nullMX)',
  ),
  noDomain(
    /name service error for name=\S{1,253} type=\w{1,5}: host not found(?!, try again)/,
    POSTFIX,
    '0 5.4.4 Host or domain name not found. Name service error for name=example.invalid type=AAAA: Host not found',
  ),
  noDomain(
    /couldn't find any host named/,
    QMAIL,
    "0 5.1.2 Sorry, I couldn't find any host named example.invalid. (#5.1.2)",
  ),
  noDomain(
    /\bdomain\b(?: name)?[^;]{0,80}(?:does not exist|doesn't exist|couldn't be found|(?<!name )not found(?!,? try again))|(?:no such|non-?existent|unknown) domain\b|illegal host\/domain/,
    'OpenSMTPD, Courier, Gmail and Exchange, as they report',
    '0 Domain does not exist',
  ),
  { ...noDomain(/invalid domain/, 'Amazon SES, as it reports', '550 5.4.4 Invalid domain'), status: /^4\.4$/ },
  noDomain(
    /domain mentioned in e-?mail address is unknown/,
    SISIMAI,
    '550 the mail domain mentioned in email address is unknown',
  ),
  {
    ...noDomain(/no mx records? found/, YAHOO, '0 <a@b.test>: No mx record found for domain=b.test'),
    stage: 'report', // in a session it may be about the sender's domain
  },
  noDomain(
    /returned null mx|does(?:n't| not) receive email according to the administrator/,
    GMAIL,
    "0 The domain b.test doesn't receive email according to the administrator: returned Null MX",
  ),
  noDomain(/indicated no smtp service/, EXIM, '0 an MX or SRV record indicated no SMTP service'),
  noDomain(/had no relevant answers/, GMAIL, "0 DNS Error: DNS type 'mx' lookup of b.test had no relevant answers."),
  noDomain(
    /couldn't find a mail exchanger or ip address/,
    QMAIL,
    "0 Sorry, I couldn't find a mail exchanger or IP address. (#5.4.4)",
  ),
  noDomain(/mx records point to non-existent hosts/, EXIM, '550 all relevant MX records point to non-existent hosts'),
  noDomain(
    /domain name not found|recipient(?:'s)? domain.{0,30}(?:not found|does not exist|doesn't exist|invalid)/,
    GMAIL,
    "550 5.1.2 DNS Error: DNS type 'mx' lookup responded with code NXDOMAIN. Domain name not found: example.invalid",
  ),
  noDomain(
    /host unknown/,
    SENDMAIL,
    '550 5.1.2 <a@example.invalid>... Host unknown (Name server: example.invalid: host not found)',
  ),

  disabled(
    /that you tried to reach is (?:disabled|inactive)/,
    GMAIL,
    '550 5.2.1 The email account that you tried to reach is disabled. For more information, go to https://support.google.com/mail/?p=DisabledUser',
  ),
  disabled(
    /(?:account|mailbox) (?:has been |is )disabled/,
    YAHOO,
    '554 30 Sorry, your message to a@yahoo.com cannot be delivered. This mailbox is disabled (554.30)',
  ),
  disabled(/mailbox is frozen/, 'mail.i.ua/err/3', '550 Mailbox is frozen. See http://mail.i.ua/err/3/'),
  disabled(/account is locked/, 'vpopmail, as it reports', '0 vdelivermail: account is locked email bounced'),
  disabled(
    /(?:disabled|inactive|archived|expired|deactivated) (?:recipient|user|account|e-?mail address)/,
    SISIMAI,
    '525 5.7.13 Disabled recipient address',
  ),
  disabled(/user is terminated/, MAIL_RU, '550 Message was not accepted -- invalid mailbox. user is terminated'),
  disabled(/user (?:suspended|hangup)/, NETEASE, '550 User suspended: a@163.com'),
  disabled(
    /(?:account|mailbox|user|recipient|address)\b(?: has been| is| was)?(?: currently| temporarily)? ?(?:disabled|inactive|not active|deactivated|suspended|closed|terminated|discontinued|expired)\b/,
    GMX,
    '550 5.2.1 <a@gmx.net>... User is inactive',
  ),
  disabled(
    /no longer (?:accepts? mail|available|active|valid|in use|on server|with us)/,
    QMAIL,
    '554 This address no longer accepts mail.',
  ),

  ...RECIPIENT_WORDS_BY_LANGUAGE,
  {
    ...policy(/(?:^|550 ): user unknown/, 'KDDI: refused by the filter of the recipient', '550 : User unknown'),
    mx: /\.(?:ezweb\.ne\.jp|au\.com)$/,
  },
  noMailbox(/invalid final delivery userid/, SISIMAI, '0 Invalid final delivery userid: <a@b.test>'),
  noMailbox(
    /that you tried to reach does not exist/,
    GMAIL,
    '550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient address',
  ),
  noMailbox(
    /doesn't have an? \S{1,253} account/,
    YAHOO,
    "554 delivery error: dd This user doesn't have a yahoo.com account (a@yahoo.com)",
  ),
  {
    ...noMailbox(
      /requested action not taken: mailbox unavailable/,
      OUTLOOK,
      '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)',
    ),
    mx: /\.(?:outlook|hotmail)\.com$/,
  },
  {
    ...noMailbox(
      /requested action not taken: mailbox unavailable/,
      GMX,
      '550 Requested action not taken: mailbox unavailable',
    ),
    mx: /\.(?:gmx\.net|web\.de|kundenserver\.de)$/,
  },
  {
    ...noMailbox(
      /recipient address rejected: access denied/,
      EXCHANGE,
      '550 5.4.1 Recipient address rejected: Access denied. [AM0EUR02FT001.eop-EUR02.prod.protection.outlook.com]',
    ),
    mx: /\.protection\.outlook\.com$/,
  },
  noMailbox(
    /recip(?:ient)?notfound|recipient not found/,
    EXCHANGE,
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
  ),
  noMailbox(/not our customer/, COMCAST, '550 5.1.1 Not our Customer'),
  noMailbox(
    /invalid (?:recipient|mailbox|user)\b(?!-)/,
    MIMECAST,
    '550 Invalid Recipient - https://community.mimecast.com/',
  ),
  noMailbox(/unrouteable address/, EXIM, '550 Unrouteable address'),
  noMailbox(/no mailbox (?:here )?by that name/, QMAIL, '511 sorry, no mailbox here by that name. (#5.1.1)'),
  noMailbox(
    /not listed in (?:domino|public)/,
    'HCL Domino, as it replies',
    '550 User a (a@example.com) not listed in Domino Directory',
  ),
  noMailbox(
    /\b(?:user|recipient|mailbox|account|address|addressee|alias|local part)(?: address)?(?: is| was)?(?: unknown| not known)\b/,
    SENDMAIL,
    '550 5.1.1 <a@example.com>... User unknown',
  ),
  noMailbox(
    /\bunknown (?:or \w+ )?(?:user|recipient|mailbox|account|alias|address|local)/,
    'Free, Web.de, as they reply',
    '550 Unknown local part a in <a@web.de>',
  ),
  noMailbox(
    /no such (?:user|recipient|mailbox|account|address|person|e-?mail|local|mail ?drop|customer)/,
    YANDEX,
    '550 5.7.1 No such user!',
  ),
  noMailbox(
    /\b(?:user|recipient|mailbox|account|address|alias|e-?mail)\b[^.;]{0,40}(?:does not|doesn't|didn't) exist/,
    APPLE,
    '550 5.1.1 <a@icloud.com>: user does not exist',
  ),
  noMailbox(
    /\b(?:user|mailbox|account)(?: was| is)? not found/,
    QQ,
    '550 Mailbox not found. http://service.mail.qq.com/',
  ),
  noMailbox(
    /not a (?:valid|known|registered gateway) (?:user|mailbox|recipient|account)|not a registered gateway user|not our user/,
    T_ONLINE,
    '550 5.1.1 a@t-online.de is not a known user here',
  ),
  noMailbox(/benutzer nicht bekannt|benutzer unbekannt|empf\S{1,3}nger unbekannt/, GMX, '550 Benutzer nicht bekannt'),
  noMailbox(
    /\b(?:user|recipient|mailbox|account|address|e-?mail name)\b[^.;]{0,40}(?:not exist|couldn't be found|is not found|not present in directory|not active)/,
    GMAIL,
    "0 Your message wasn't delivered because the address couldn't be found.",
  ),
  noMailbox(
    /no ?mail ?box available|no mail box|no one at this address|wrong or no longer valid|not in my validrcptto|non-? ?existent user|unknown or illegal alias/,
    SISIMAI,
    '550 no mail box available for this user',
  ),
  noMailbox(
    /mail refused - address .{0,3} ?recipient unknown/,
    ZONEMTA,
    '550 Mail Refused - Address Recipient Unknown',
  ),
  { ...noMailbox(/address rejected/, IRONPORT, '550 #5.1.0 Address rejected.'), status: /^1\.0$/ },
  {
    ...noMailbox(
      /^(?:requested (?:mail )?action not taken: ?)?mailbox unavailable\.?(?: \([^)]{0,60}\))?$/,
      'RFC 5321 §4.2.3, 550, as gateways report it',
      '550 Mailbox unavailable',
    ),
    stage: 'report',
    status: /^(?!7\.)/,
  },
  noMailbox(
    /user unknown in (?:local|virtual|relay)/,
    POSTFIX,
    '550 5.1.1 <a@example.com>: Recipient address rejected: User unknown in virtual mailbox table',
  ),
];
