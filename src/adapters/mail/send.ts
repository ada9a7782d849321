import type { EnvelopeRecipient, OutgoingMail, RecipientOutcome, SendOptions } from '../../domain/ports/mail.ts';
import type { System } from '../../lib/async/async.ts';
import { type End, noReply, type PooledSession, type Transmission } from '../../lib/smtp/smtp.ts';
import type { MessageFor } from './compose.ts';
import { deferredAll, refusalOutcome, refusedForAlphabet, splitByAlphabet, transactionOutcomes } from './outcomes.ts';

/** The deadline of one send: a signal for waiting code, and a check right before the final dot. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** There is time left. */
  mayFinish(): boolean;
  /** Like `mayFinish`, but also checks that this attempt may still complete the message. */
  mayComplete(): boolean | Promise<boolean>;
  /** Clears the timer. */
  end(): void;
}

export const createDeadline = (system: System, { deadlineMs, signal, mayComplete }: SendOptions): Deadline => {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  // A process that was stalled runs its timers before it reads its sockets, so let replies that have arrived be read
  // first.
  const timer = setTimeout(() => setImmediate(abort), Math.max(deadlineMs - system.monotonicMs(), 0));
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const mayFinish = (): boolean => !controller.signal.aborted && system.monotonicMs() < deadlineMs;
  return {
    signal: controller.signal,
    mayFinish,
    mayComplete: () => {
      if (!mayFinish()) return false;
      const may = mayComplete?.() ?? true;
      return typeof may === 'boolean' ? may : may.then((isAllowed) => isAllowed && mayFinish());
    },
    end: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
};

/** The message, built and signed before a session is acquired. */
export interface ReadyMail {
  readonly mail: OutgoingMail;
  readonly messageFor: MessageFor;
  readonly deadline: Deadline;
}

/** One server's replies to a message. Each recipient is in one of the two lists. */
export interface ServerVerdict {
  readonly settled: readonly RecipientOutcome[];
  /**
   * Deferred for a reason unrelated to them, before the server received the message. Another server may accept it at
   * once.
   */
  readonly open: readonly RecipientOutcome[];
}

/**
 * The other side may have ended a kept session. Each try after the first requires that the previous one failed this
 * way.
 */
const TRIES_MAX = 3;
/** RFC 5321 §3.8: the server ends the session, and says so in reply to the next command. */
const SERVICE_CLOSING = 421;

const TOO_LATE = noReply('the deadline passed before a session was asked for');
const ALL_STALE = noReply('the server ended its sessions without an answer');

/** Returns the session, ready for the next transaction, or ends it. */
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

/**
 * The session died before the server asked for the message, as kept sessions do. Nothing was sent, so another one may
 * be tried.
 */
const wasStale = ({ reused }: PooledSession, { end }: Transmission, { deadline }: ReadyMail): boolean => {
  if (!reused || !deadline.mayFinish()) return false;
  if (end.kind === 'refused') return end.stage === 'mail' && end.reply.code === SERVICE_CLOSING;
  return end.kind === 'broken' && !end.begun;
};

const transmit = async (pooled: PooledSession, { mail, messageFor, deadline }: ReadyMail): Promise<Transmission> => {
  const to = [...new Set(mail.envelope.to.map(({ address }) => address))];
  let transmission: Transmission;
  try {
    const message = await messageFor(mail.envelope);
    transmission = await pooled.session.transmit(
      { from: mail.envelope.from, to, id: mail.envelope.id ?? mail.messageId },
      { message, mayFinish: deadline.mayComplete },
      deadline.signal,
    );
  } catch (fault) {
    pooled.release(true);
    throw fault;
  }
  giveBack(pooled, transmission);
  return transmission;
};

/**
 * A rejection before the message that another server may not repeat. Excludes rejections of the content or the
 * recipient.
 */
const isAboutServer = ({ stage, reply }: Extract<End, { kind: 'refused' }>): boolean => {
  if (stage === 'session') return true;
  return stage === 'mail' ? refusalOutcome('mail', reply) === 'deferred' : reply.code === SERVICE_CLOSING;
};

/** True if another server may be tried for an address at once, because this one did not receive the message. */
const isOpen = (address: string, { rejected, earlier, end: last }: Transmission): boolean => {
  const rejection = rejected.get(address);
  if (rejection !== undefined) return rejection.code === SERVICE_CLOSING;
  const end = earlier.get(address) ?? last;
  if (end.kind === 'accepted' || end.begun) return false; // `earlier` may have been accepted
  return end.kind === 'broken' || isAboutServer(end);
};

const verdictOn = (
  outcomes: readonly RecipientOutcome[],
  recipients: readonly EnvelopeRecipient[],
  transmission: Transmission,
): ServerVerdict => {
  if (transmission.end.kind === 'accepted') return { settled: outcomes, open: [] };
  const openIds = new Set(
    recipients.filter(({ address }) => isOpen(address, transmission)).map(({ recipientId }) => recipientId),
  );
  return {
    settled: outcomes.filter(({ recipientId }) => !openIds.has(recipientId)),
    open: outcomes.filter(({ recipientId }) => openIds.has(recipientId)),
  };
};

/** @returns null if nothing was sent, because the session was stale or lacks an offered extension. */
const sendOn = async (pooled: PooledSession, ready: ReadyMail): Promise<ServerVerdict | null> => {
  const { mail } = ready;
  const { peer } = pooled.session;
  const { writable, unwritable } = splitByAlphabet(mail, pooled.session);
  const refused = refusedForAlphabet(unwritable, peer);
  if (writable.length === 0) {
    pooled.release(true);
    return { settled: refused, open: [] };
  }
  const part = { ...mail, envelope: { ...mail.envelope, to: writable } };
  const transmission = await transmit(pooled, { ...ready, mail: part });
  if (transmission.needsUtf8 === true || wasStale(pooled, transmission, ready)) return null;
  const { settled, open } = verdictOn(transactionOutcomes(writable, peer, transmission), writable, transmission);
  return { settled: [...refused, ...settled], open };
};

/**
 * Sends over a kept session with one server, or over a new one if the kept sessions had died of old age.
 * @param acquire may throw `SmtpConnectFailed`, which is passed on.
 */
export const sendOnSession = async (
  mx: string,
  acquire: (signal: AbortSignal) => Promise<PooledSession>,
  ready: ReadyMail,
): Promise<ServerVerdict> => {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    // A working session must not be used up for mail that must not be finished.
    if (!ready.deadline.mayFinish()) return { settled: deferredAll(ready.mail, mx, TOO_LATE), open: [] };
    const verdict = await sendOn(await acquire(ready.deadline.signal), ready);
    if (verdict !== null) return verdict;
  }
  return { settled: [], open: deferredAll(ready.mail, mx, ALL_STALE) };
};
