/**
 * SMTP between servers: the client, the listener, DNS, and what makes a transfer trustworthy.
 *
 * Sending one message:
 * 1. `createStubResolver` asks the configured name servers for MX, addresses and TLSA records. Answers are cached, and
 *    the AD flag says whether DNSSEC validated them. `ResolverUnavailable` is "not known", never "none".
 * 2. `createTransportSecurity` decides what TLS must prove for a host: DANE (RFC 7672), MTA-STS (RFC 8461), or nothing
 *    beyond what the server offers.
 * 3. `openSmtpSession` connects, greets (EHLO), starts TLS and authenticates. `createSessionPool` keeps sessions for
 *    the next message to the same host.
 * 4. `dkimSignatures` signs the message (RFC 6376, RFC 8463), in a thread pool with a bound.
 * 5. `SmtpSession.transmit` sends MAIL, RCPT and DATA or BDAT, pipelined where the server allows it, and returns a
 *    `Transmission`: what the server replied to each recipient, and how the transaction ended. A connection that breaks
 *    after the final dot is kept apart, because the message may have arrived.
 *
 * Receiving: `startSmtpListener` accepts connections, bounded in all and by client network, and hands sessions to a
 * task. What a reply means for a recipient, a retry or a suppression is the caller's to decide.
 */

export { isTooManyRecipients, noReply, parseReply, type SmtpReply, type SmtpStage } from './client/connection.ts';
export {
  createGreetingTimeouts,
  GREETING_TIMEOUTS,
  type GreetingTimeouts,
  NO_AUTHENTICATION,
  NO_PASSWORD_AUTHENTICATION,
  openSmtpSession,
  SmtpConnectFailed,
} from './client/open-session.ts';
export type { Peer, SessionTarget, SmtpSession, TlsPolicy, Transmission } from './client/session.ts';
export { createSessionPool, type PooledSession, type SessionPool } from './client/session-pool.ts';
export type { End } from './client/transaction.ts';
export type { SigningKey } from './dkim/sign.ts';
export { bodyHash, createPrivateKeys, dkimSignatures, relaxedHeader } from './dkim/sign.ts';
export {
  type DnsAnswer,
  type HostAddress,
  type MxRecord,
  type Resolver,
  ResolverUnavailable,
  registeredName,
  type TlsaRecord,
} from './dns/resolver.ts';
export { createStubResolver, isNameServer, readNameServer } from './dns/stub-resolver.ts';
export {
  type SmtpListener,
  type SmtpTask,
  smtpAnswer,
  startSmtpListener,
  type TlsPair,
} from './listener/smtp-listener.ts';
export type { StsPolicy } from './policy/mta-sts.ts';
export { createMtaSts } from './policy/mta-sts.ts';
export { createTransportSecurity, type HostSecurity, type TransportSecurity } from './policy/transport-security.ts';
