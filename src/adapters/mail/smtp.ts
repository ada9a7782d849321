import type { ConnectionOptions } from 'node:tls';
import type { RecipientOutcome } from '../../domain/ports/mail-transport.ts';
import type { System } from '../../domain/ports/system.ts';
import { createDeadline } from './deadline.ts';
import { createGreetingPatience, GREETING_TIMES, type GreetingTimes } from './greeting-patience.ts';
import { createOutgoingMessages } from './outgoing-messages.ts';
import type { PooledTransport } from './pooled-transport.ts';
import { type ReadyMail, sendOnSession } from './send-on-session.ts';
import { createSessionPool } from './session-pool.ts';
import { problemOfRefusal } from './smarthost-problem.ts';
import type { SmarthostWatch } from './smarthost-watch.ts';
import { deferredAll, inOrder } from './smtp-outcomes.ts';
import { openSmtpSession, SmtpConnectFailed, type SmtpSession } from './smtp-session.ts';
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
  /** Default: `GREETING_TIMES`. */
  readonly greeting?: GreetingTimes;
  /** Told how the server bears itself. Absent: nobody is. */
  readonly watch?: SmarthostWatch;
}

const SESSIONS_MAX = 20;

/** A refusal that is about this service ends no message: somebody will correct the login, or allow us to relay. */
const notForGood = (said: RecipientOutcome): RecipientOutcome =>
  said.outcome === 'bounced' && problemOfRefusal(said) !== null ? { ...said, outcome: 'deferred' } : said;

/** Submits mail to one server over kept sessions (nodemailer sets them up; messages are built and carried here). */
export const createSmtpTransport = (options: SmtpTransportOptions): PooledTransport => {
  const target = targetOf(parseSmarthost(options.url));
  const { ehloName, system, tls, watch } = options;
  const messages = createOutgoingMessages(system);
  const patience = createGreetingPatience(options.greeting ?? GREETING_TIMES);
  const noted = (error: unknown): never => {
    if (error instanceof SmtpConnectFailed) {
      watch?.failed(error);
      patience.failed(target.host, error);
    }
    throw error;
  };
  const open = (signal: AbortSignal, onEnd: () => void): Promise<SmtpSession> => {
    const times = { greetingMs: patience.msOf(target.host) };
    return openSmtpSession({ target, ehloName, onEnd, ...times, ...(tls && { tls }) }, signal).catch(noted);
  };
  const pool = createSessionPool({ sessionsMax: options.sessionsMax ?? SESSIONS_MAX, open });

  const sendReady = async (ready: ReadyMail): Promise<readonly RecipientOutcome[]> => {
    try {
      const { settled, open } = await sendOnSession(target.host, pool.acquire, ready);
      const outcomes = inOrder(ready.mail, [...settled, ...open]).map(notForGood); // there is no other server
      watch?.answered(outcomes);
      return outcomes;
    } catch (error) {
      if (error instanceof SmtpConnectFailed) return deferredAll(ready.mail, target.host, error.reply, error.side);
      throw error;
    }
  };

  return {
    send: async (mail, sendOptions) => {
      const messageFor = await messages.prepare(mail);
      const deadline = createDeadline(system, sendOptions);
      try {
        return await sendReady({ mail, messageFor, deadline });
      } finally {
        deadline.end();
      }
    },
    sessions: pool.size,
    close: async () => {
      await Promise.all([pool.close(), messages.close()]);
    },
  };
};
