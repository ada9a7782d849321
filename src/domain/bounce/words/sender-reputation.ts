import {
  BARRACUDA,
  COMCAST,
  EXCHANGE,
  EXIM,
  GMAIL,
  GREYLISTD,
  IRONPORT,
  MAIL_RU,
  MIMECAST,
  NETEASE,
  ORANGE,
  OUTLOOK,
  POSTFIX,
  PROOFPOINT,
  QQ,
  type ReplyWords,
  RSPAMD,
  SENDER_WORDS_BY_LANGUAGE,
  SENDMAIL,
  SISIMAI,
  saying,
  T_ONLINE,
  YAHOO,
  ZONEMTA,
} from '../reply-words.ts';

const policy = saying('policy');
const tooLarge = saying('too_large');
const authentication = saying('authentication');
const reputation = saying('reputation');
const rateLimited = saying('rate_limited');
const greylisted = saying('greylisted');
const relayDenied = saying('relay_denied');
const senderRejected = saying('sender_rejected');

/** Replies about the sender. They are matched first, so that they never blame a recipient. */
export const SENDER_REPUTATION_WORDS: readonly ReplyWords[] = [
  tooLarge(/recipsizelimit/, EXCHANGE, '550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient'),
  policy(
    /(?:does|do|is) not (?:accept|accepting) (?:any )?(?:e-?)?mail (?:from|over|directly|sent)|only accepting mail from/,
    SISIMAI,
    '550 This server does not accept mail from dynamic addresses',
  ),
  policy(
    /recipient(?:'s)? preferences|not allowed to post|post to this (?:mailing )?list|only (?:list )?members (?:can|may)|allowed-senders list/,
    'Facebook; Sympa and other lists, as they reply',
    '550 5.1.1 RCP-P2 Refused due to recipient preferences',
  ),
  policy(/restricted characters in address/, EXIM, '550 Restricted characters in address'),
  policy(
    /access to submit messages/,
    IRONPORT,
    '550 #5.7.1 Your access to submit messages to this e-mail system has been rejected.',
  ),
  rateLimited(
    /sent to too many recipients|message threshold exceeded|service refuse.{0,80}please try later/,
    SISIMAI,
    '550 5.1.1 203.0.113.222 has sent to too many recipients this hour. IB607',
  ),
  policy(/resolver\.rst\./, EXCHANGE, '550 5.7.1 RESOLVER.RST.AuthRequired; authentication required'),
  ...SENDER_WORDS_BY_LANGUAGE,
  senderRejected(
    /(?:sender|from)(?:'s)?(?: e-?mail)?(?: address| domain| mailbox| account)?[^.;:]{0,20}(?:does not exist|doesn't exist|not exist|not found|invalid|unknown|unroutable)|(?:invalid|bad|unknown|unroutable|unacceptable|bogus) (?:sender|mail from|from address|return path)/,
    SISIMAI,
    '550 5.1.3 Invalid sender address',
  ),
  senderRejected(/purported responsible address/, SISIMAI, "550 5.7.1 can't determine Purported Responsible Address"),
  senderRejected(
    /sender (?:is|isn't) (?:not )?(?:on the recipient's list|in my black list)|backscatter protection/,
    SISIMAI,
    "550 5.1.1 because the sender isn't on the recipient's list of senders to accept mail from",
  ),
  senderRejected(
    /rejected by this user|your (?:e-?mail )?address has been blacklisted/,
    ZONEMTA,
    '550 Your message was rejected by this user and was not delivered',
  ),
  senderRejected(/\byour (?:account|mailbox)\b/, EXCHANGE, '550 5.1.8 Your account is blocked from sending mail'),
  senderRejected(/bad outbound sender/, EXCHANGE, '550 5.1.8 Access denied, bad outbound sender'),

  relayDenied(
    /relay(?:ing)?(?: access)?(?: is| temporarily)? (?:denied|not (?:permitted|allowed)|prohibited)|relaying to <?>? ?denied/,
    SENDMAIL,
    '550 5.7.1 <a@example.com>... Relaying denied. Proper authentication required.',
  ),
  relayDenied(/credentials for relay/, GMAIL, '550 5.7.1 Invalid credentials for relay [192.0.2.1]'),

  authentication(
    /unauthenticated/,
    GMAIL,
    "550 5.7.26 Unauthenticated email from example.com is not accepted due to domain's DMARC policy",
  ),
  authentication(
    /authentication information or fails to pass/,
    GMAIL,
    '550 5.7.26 This message does not have authentication information or fails to pass authentication checks',
  ),
  authentication(
    /does not have a ptr record/,
    GMAIL,
    '550 5.7.25 The IP address sending this does not have a PTR record',
  ),
  authentication(
    /required authentication level/,
    OUTLOOK,
    '550 5.7.515 Access denied, sending domain example.com does not meet the required authentication level',
  ),
  authentication(
    /not authenticated|authentication (?:is )?(?:required|failed|credentials)/,
    EXCHANGE,
    '530 5.7.57 SMTP; Client was not authenticated to send anonymous mail during MAIL FROM',
  ),
  authentication(
    /message not accepted for policy reasons/,
    YAHOO,
    '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes',
  ),
  authentication(/\bdmarc\b/, 'RFC 7489 §10.3', '550 5.7.1 Email rejected per DMARC policy for example.com'),
  authentication(
    /\bspf\b.{0,60}(?:fail|not (?:authori[sz]ed|allowed)|reject|denied)|(?:fail|reject|not allowed).{0,60}\bspf\b/,
    'RFC 7208 §8.4',
    '550 5.7.23 Message rejected due to: SPF fail - not authorized',
  ),
  authentication(
    /\bdkim\b.{0,60}(?:fail|invalid|missing|reject)|(?:fail|reject|invalid).{0,60}\bdkim\b/,
    'RFC 6376 §6.3',
    '550 5.7.20 No passing DKIM signature found: message rejected, DKIM failed',
  ),
  authentication(
    /anti-?spoofing policy/,
    MIMECAST,
    '550 Rejected by header based Anti-Spoofing policy: example.com - see the administrator',
  ),
  authentication(
    /\[spf\]|is not allowed to send mail from/,
    EXIM,
    '550 [SPF] 192.0.2.1 is not allowed to send mail from example.com.',
  ),
  authentication(
    /client ip address \S{1,60} does not resolve|possibly forged hostname/,
    SENDMAIL,
    '451 4.1.8 Possibly forged hostname for 192.0.2.1',
  ),
  authentication(
    /(?:reverse (?:dns|hostname)|\brdns\b|\bptr (?:resource )?record)/,
    POSTFIX,
    '450 4.7.25 Client host rejected: cannot find your reverse hostname, [192.0.2.1]',
  ),

  rateLimited(
    /temporarily rate limited/,
    OUTLOOK,
    '451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation',
  ),
  reputation(
    /permanently deferred/,
    YAHOO,
    '553 5.7.2 [TSS09] All messages from 192.0.2.1 will be permanently deferred; Retrying will NOT succeed',
  ),
  reputation(/\[bl\d\d\]/, YAHOO, '553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1'),
  reputation(
    /on our block ?list/,
    OUTLOOK,
    "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Part of their network is on our block list (S3140)",
  ),
  reputation(/banned sending ip/, EXCHANGE, '550 5.7.606 Access denied, banned sending IP [192.0.2.1]'),
  reputation(
    /\bbl0\d{5}\b/,
    COMCAST,
    '554 resimta-po-01v.sys.comcast.net 192.0.2.1 BL000001 found on one or more lists',
  ),
  reputation(
    /\bspamhaus\b|\bspamcop\b|\babusix\b|\bsorbs\b|\binvaluement\b/,
    POSTFIX,
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
  ),
  reputation(/ipcheck\.proofpoint\.com/, PROOFPOINT, '554 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.1'),
  reputation(
    /\bip=\S{1,45} - (?:a problem occurred|dialup|none)/,
    T_ONLINE,
    '554 IP=192.0.2.1 - A problem occurred. (Ask your postmaster for help or to contact tosa@rx.t-online.de)',
  ),
  reputation(/\bofr\d{0,3}_506\b/, ORANGE, '554 5.7.1 Service refuse. Votre IP est bloquee. OFR_506 [506]'),
  reputation(/\bhl:rep\b|\bmi:spb\b/, NETEASE, '550 HL:REP 163 smtp12, suspicious sending behaviour'),
  reputation(/\breputation\b/, IRONPORT, "554 Your access has been rejected due to the sending MTA's poor reputation"),
  reputation(
    /\d{1,3}(?:\.\d{1,3}){3}\]? (?:is )?listed\b|client host rejected: access denied|\bspam ?traps?\b/,
    SENDMAIL,
    '550 5.7.1 Rejected: 192.0.2.1 listed at zen.example.com',
  ),
  reputation(
    /black ?-?list|block ?-?list|\bdnsbl\b|\brbl\b|blocked using/,
    BARRACUDA,
    '554 Service unavailable; Client host [192.0.2.1] blocked using Barracuda Central',
  ),

  rateLimited(
    /\[tss?\d\d\]/,
    YAHOO,
    '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
  ),
  rateLimited(
    /unusual rate of/,
    GMAIL,
    '421 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address',
  ),
  rateLimited(
    /receiving mail (?:too quickly|at a rate)/,
    GMAIL,
    '450 4.2.1 The user you are trying to contact is receiving mail too quickly',
  ),
  rateLimited(
    /server busy\. please try again later from/,
    OUTLOOK,
    '451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (AS843)',
  ),
  rateLimited(/\brl0\d{5}\b/, COMCAST, '421 Try again later. 192.0.2.1 RL000001'),
  rateLimited(
    /\bofr\d{0,3}_(?:104|999)\b/,
    ORANGE,
    '421 opmta Service refuse. Veuillez essayer plus tard. OFR_999 [999]',
  ),
  rateLimited(
    /\brp-00\d\b|maximum number of concurrent|submission rate for this client/,
    EXCHANGE,
    '421 4.3.2 The maximum number of concurrent server connections has exceeded a per-source limit, closing transmission channel',
  ),
  rateLimited(/frequency limited/, QQ, '550 Connection frequency limited. http://service.mail.qq.com/'),
  rateLimited(/\brp:(?:cel|trc|qrc)\b/, NETEASE, '450 RP:CEL 163 smtp10, too many connections'),
  rateLimited(/rate ?-?limit/, MAIL_RU, '451 Ratelimit exceeded for mailbox'),
  rateLimited(
    /(?:sending|daily|hourly|send|smtp|message|relay|connection|recipients?) (?:quota|limit)\b(?! of \d+ bytes)/,
    EXCHANGE,
    '550 5.1.90 Your message cannot be sent because the daily limit of recipients was reached',
  ),
  rateLimited(
    /too much mail from|too many (?:(?:concurrent|simultaneous|open|new|smtp|tls|auth|bad|invalid|unknown|login) ){0,3}(?:connections|sessions|messages(?! on the server)|e?mails|recipients|rcpts|errors|attempts|commands|users|invalid)/,
    POSTFIX,
    '450 4.7.1 Error: too much mail from 192.0.2.1',
  ),
  rateLimited(/throttl|slow down/, EXCHANGE, '432 4.3.2 STOREDRV.Deliver; recipient thread limit exceeded, throttled'),

  {
    ...greylisted(/^try again later\.?$/, RSPAMD, '451 4.7.1 Try again later'),
    status: /^7\.1$/,
  },
  greylisted(
    /not yet authori[sz]ed to deliver/,
    GREYLISTD,
    '451 4.7.1 192.0.2.1 is not yet authorized to deliver mail',
  ),
  greylisted(/gr[ea]y-? ?list/, POSTFIX, '450 4.2.0 <a@example.com>: Recipient address rejected: Greylisted'),
  greylisted(
    /internal resources? (?:are )?temporarily unavailable/,
    MIMECAST,
    '451 Internal resources are temporarily unavailable - https://community.mimecast.com/',
  ),
  greylisted(
    /address verification in progress/,
    POSTFIX,
    '450 4.1.1 <a@example.com>: Recipient address rejected: unverified address: Address verification in progress',
  ),
  greylisted(/try again in \d{1,5} (?:second|minute)/, EXIM, '451 4.7.1 Please try again in 300 seconds'),
];
