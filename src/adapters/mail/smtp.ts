import type { ConnectionOptions } from 'node:tls';
import type { MailTransport, OutgoingMail, RecipientOutcome } from '../../domain/mail-transport.ts';
import type { System } from '../../domain/system.ts';
import { createDeadline, type Deadline } from './deadline.ts';
import { createOutgoingMessages, type MessageFor } from './outgoing-messages.ts';
import { createSessionPool, type PooledSession } from './session-pool.ts';
import { deferredAll, inOrder, refusedForAlphabet, splitByAlphabet, transactionOutcomes } from './smtp-outcomes.ts';
import { noReply } from './smtp-reply.ts';
import { openSmtpSession, SmtpConnectFailed } from './smtp-session.ts';
import type { Transmission } from './smtp-transmission.ts';
import { parseSmarthost, targetOf } from './smtp-url.ts';

export interface SmtpTransportOptions {
  /** `smtp://user:pass@host:port` or `smtps://…`. */
  readonly url: string;
  readonly ehloName: string;
  readonly system: System;
  /** Kept at the same time: too many are refused by the server, too few wait for its answers. Default 20. */
  readonly sessionsMax?: number;
  /** Certificates to trust, for instance. */
  readonly tls?: ConnectionOptions;
}

const SESSIONS_MAX = 20;
/** A kept session may have been ended by the other side; each try after the first needs such a one before it. */
const TRIES_MAX = 3;
const TOO_LATE = noReply('the deadline passed before a session was asked for');

/** The message, built and signed before a session is asked for. */
interface Ready {
  readonly mail: OutgoingMail;
  readonly messageFor: MessageFor;
  readonly deadline: Deadline;
}

/** Gives the session back, fit for the next transaction, or ends it. */
const giveBack = ({ session, release }: PooledSession, { end }: Transmission): void => {
  if (end.kind === 'accepted') {
    release(true);
  } else if (end.kind === 'broken' || !session.isOpen()) {
    session.close();
    release(false);
  } else {
    session.reset().then(
      () => release(true),
      () => release(false),
    );
  }
};

/** RFC 5321 §3.8: the server ends the session, and says so to whatever comes next. */
const SERVICE_CLOSING = 421;

/** Died before it was asked for the message, as kept sessions do: nothing was sent, so another may be tried. */
const wasStale = ({ reused }: PooledSession, { end }: Transmission, { deadline }: Ready): boolean => {
  if (!reused || !deadline.mayFinish()) return false;
  if (end.kind === 'refused') return end.stage === 'mail' && end.reply.code === SERVICE_CLOSING;
  return end.kind === 'broken' && !end.begun;
};

const transmit = async (
  pooled: PooledSession,
  { mail: { envelope, messageId }, messageFor, deadline }: Ready,
): Promise<Transmission> => {
  const to = [...new Set(envelope.to.map(({ address }) => address))];
  let transmission: Transmission;
  try {
    const message = await messageFor(envelope);
    transmission = await pooled.session.transmit(
      { from: envelope.from, to, messageId },
      { message, mayFinish: deadline.mayFinish },
      deadline.signal,
    );
  } catch (fault) {
    pooled.release(true);
    throw fault;
  }
  giveBack(pooled, transmission);
  return transmission;
};

/** @returns null: nothing was sent, since the session was stale or lacks what it offered. */
const sendOn = async (pooled: PooledSession, ready: Ready): Promise<readonly RecipientOutcome[] | null> => {
  const { mail } = ready;
  const { side } = pooled.session;
  const { writable, unwritable } = splitByAlphabet(mail, pooled.session);
  const refused = refusedForAlphabet(unwritable, side);
  if (writable.length === 0) {
    pooled.release(true);
    return refused;
  }
  const part = { ...mail, envelope: { from: mail.envelope.from, to: writable } };
  const transmission = await transmit(pooled, { ...ready, mail: part });
  if (transmission.needsUtf8 === true || wasStale(pooled, transmission, ready)) return null;
  return inOrder(mail, [...refused, ...transactionOutcomes(writable, side, transmission)]);
};

/** Submits mail to one server over kept sessions (nodemailer sets them up; messages are built and carried here). */
export const createSmtpTransport = (options: SmtpTransportOptions): MailTransport => {
  const smarthost = parseSmarthost(options.url);
  const target = targetOf(smarthost);
  const { ehloName, system, tls } = options;
  const messages = createOutgoingMessages(system);
  const pool = createSessionPool({
    sessionsMax: options.sessionsMax ?? SESSIONS_MAX,
    open: (signal, onEnd) => openSmtpSession({ target, ehloName, onEnd, ...(tls && { tls }) }, signal),
  });

  const sendReady = async (ready: Ready): Promise<readonly RecipientOutcome[]> => {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      // A session in good order is not for mail that must not be finished.
      if (!ready.deadline.mayFinish()) return deferredAll(ready.mail, smarthost.host, TOO_LATE);
      const outcomes = await sendOn(await pool.acquire(ready.deadline.signal), ready);
      if (outcomes !== null) return outcomes;
    }
    return deferredAll(ready.mail, smarthost.host, noReply('the server ended its sessions without an answer'));
  };

  return {
    send: async (mail, sendOptions) => {
      const messageFor = await messages.prepare(mail);
      const deadline = createDeadline(system, sendOptions);
      try {
        return await sendReady({ mail, messageFor, deadline });
      } catch (error) {
        if (error instanceof SmtpConnectFailed) return deferredAll(mail, smarthost.host, error.reply, error.side);
        throw error;
      } finally {
        deadline.end();
      }
    },
    close: async () => {
      await Promise.all([pool.close(), messages.close()]);
    },
  };
};
