import type { ConnectionOptions } from 'node:tls';
import type { RecipientOutcome } from '../../domain/mail-transport.ts';
import type { System } from '../../domain/system.ts';
import { createDeadline } from './deadline.ts';
import { createOutgoingMessages } from './outgoing-messages.ts';
import type { PooledTransport } from './pooled-transport.ts';
import { type ReadyMail, sendOnSession } from './send-on-session.ts';
import { createSessionPool } from './session-pool.ts';
import type { SmarthostWatch } from './smarthost-watch.ts';
import { deferredAll, inOrder } from './smtp-outcomes.ts';
import { openSmtpSession, SmtpConnectFailed } from './smtp-session.ts';
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
  /** Told how the server bears itself. Absent: nobody is. */
  readonly watch?: SmarthostWatch;
}

const SESSIONS_MAX = 20;

/** Submits mail to one server over kept sessions (nodemailer sets them up; messages are built and carried here). */
export const createSmtpTransport = (options: SmtpTransportOptions): PooledTransport => {
  const target = targetOf(parseSmarthost(options.url));
  const { ehloName, system, tls, watch } = options;
  const messages = createOutgoingMessages(system);
  const noted = (error: unknown): never => {
    if (error instanceof SmtpConnectFailed) watch?.failed(error);
    throw error;
  };
  const pool = createSessionPool({
    sessionsMax: options.sessionsMax ?? SESSIONS_MAX,
    open: (signal, onEnd) => openSmtpSession({ target, ehloName, onEnd, ...(tls && { tls }) }, signal).catch(noted),
  });

  const sendReady = async (ready: ReadyMail): Promise<readonly RecipientOutcome[]> => {
    try {
      const { settled, open } = await sendOnSession(target.host, pool.acquire, ready);
      const outcomes = inOrder(ready.mail, [...settled, ...open]); // there is no other server
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
