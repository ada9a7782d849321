import {
  EXCHANGE,
  EXIM,
  GMAIL,
  GMX,
  POSTFIX,
  QMAIL,
  type ReplyWords,
  SENDMAIL,
  saying,
  YAHOO,
} from '../reply-words.ts';

const policy = saying('policy');
const system = saying('system');
const network = saying('network');
const protocol = saying('protocol');

/** Words that servers use for many causes. A more specific status code takes precedence. */
export const VAGUE_WORDS: readonly ReplyWords[] = [
  protocol(/syntax error|syntax or protocol error|synchronization error/, EXIM, '554 SMTP synchronization error'),
  protocol(
    /command (?:not|unrecogni[sz]ed)|bad sequence|protocol (?:error|violation)|bare (?:lf|linefeed|newline)/,
    GMAIL,
    '451 4.5.0 SMTP protocol violation, see RFC 2821',
  ),
  protocol(/rfc ?-?(?:2821|2822|5321|5322|822)\b/, GMAIL, '550 5.7.1 This message is not RFC 5322 compliant'),
  protocol(/smtputf8|outside ascii/, 'RFC 6531 §3.5', '553 SMTPUTF8 is not supported'),

  network(
    /connection (?:timed out|refused|reset|closed|dropped|expired)|lost connection|timed out|no route to host|unreachable/,
    POSTFIX,
    '0 4.4.1 connect to mx.example.com[192.0.2.1]:25: Connection timed out',
  ),
  network(
    /wasn't able to establish an smtp connection/,
    QMAIL,
    "0 4.4.1 Sorry, I wasn't able to establish an SMTP connection. (#4.4.1)",
  ),
  network(
    /name service error|host not found, try again|dns (?:error|failure|timeout)|servfail/,
    POSTFIX,
    '0 Host not found, try again',
  ),
  network(
    /retry time.{0,20}(?:exceeded|reached)|retry timeout exceeded|did not accept our requests to connect/,
    EXIM,
    '0 retry time not reached for any host',
  ),
  network(/\btls\b.{0,30}(?:fail|handshake|error)|certificate/, POSTFIX, '0 Server certificate not trusted'),

  system(/mail loop|loops back to|routing loop/, POSTFIX, '554 5.4.6 mail for b.test loops back to myself'),
  system(
    /not accepting (?:connections|network messages|mail)|service (?:is |currently )?(?:not available|unavailable)/,
    POSTFIX,
    '554 mx.example.com ESMTP not accepting connections',
  ),
  system(
    /server busy|resources temporarily unavailable/,
    YAHOO,
    '451 Resources temporarily unavailable. Please try again later [#4.16.1]',
  ),
  system(
    /temporary (?:system|local|lookup|server|mail)|temporarily (?:rejected|unavailable|deferred)/,
    GMAIL,
    '451 4.3.0 Mail server temporarily rejected message',
  ),
  system(
    /insufficient (?:system|disk)|out of memory|disk full/,
    SENDMAIL,
    '452 4.4.5 Insufficient disk space; try again later',
  ),
  system(
    /(?:internal|local|configuration) (?:server )?(?:error|problem|failure)/,
    EXCHANGE,
    '451 4.3.0 Local error in processing',
  ),
  system(/try (?:again )?later|come back later/, GMX, '450 Requested mail action not taken: please try again later'),

  policy(/polic(?:y|ies)/, GMX, '554 Transaction failed Reject due to policy restrictions'),
  policy(
    /access denied|prohibited|restricted|not allowed|not permitted|not authori[sz]ed/,
    EXCHANGE,
    '550 Access denied, see the administrator',
  ),
  policy(/\bblocked\b/, POSTFIX, '554 Blocked here'),
];
