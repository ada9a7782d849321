import { noReply } from './connection.ts';
import { SmtpConnectFailed } from './open-session.ts';
import type { SmtpSession } from './session.ts';

export interface SessionPoolOptions {
  readonly open: (signal: AbortSignal, onEnd: () => void) => Promise<SmtpSession>;
  /** Open sessions. Many servers reject more; fewer waste time on their latency. */
  readonly sessionsMax: number;
  /** A session is idle, and no message waits for one. */
  readonly onIdle?: () => void;
  /** The last session has ended, and no message waits for another. */
  readonly onEmpty?: () => void;
}

export interface PooledSession {
  readonly session: SmtpSession;
  /** The session carried a message before, so the server may have ended it unnoticed. */
  readonly reused: boolean;
  /** Must be called once. `reusable`: no transaction is open on it. */
  release(reusable: boolean): void;
}

/** Servers end idle sessions after 1 to 5 minutes; ending them first spares both sides an error. */
const IDLE_MS = 20_000;
/** Postfix and others end a session after 100 or more messages with 421. Ending ours earlier spares an attempt. */
const TRANSACTIONS_MAX = 90;

interface Kept {
  session: SmtpSession;
  transactions: number;
  idleTimer?: NodeJS.Timeout;
}

interface Waiter {
  readonly signal: AbortSignal;
  readonly resolve: (session: PooledSession) => void;
  readonly reject: (error: Error) => void;
}

/** Keeps a bounded number of sessions between messages, and hands them out first come, first served. */
export const createSessionPool = ({ open, sessionsMax, onIdle, onEmpty }: SessionPoolOptions) => {
  const idle: Kept[] = [];
  const waiting: Waiter[] = [];
  const closing: (() => void)[] = [];
  /** Sessions that are open or being opened. */
  let count = 0;
  let closed = false;

  const ended = (): void => {
    count -= 1;
    if (closed && count === 0) for (const done of closing.splice(0)) done();
    serve();
    if (count === 0) onEmpty?.(); // a waiting message has taken the room by now
  };

  const takeIdle = (): Kept | undefined => {
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
      clearTimeout(kept.idleTimer);
      if (kept.session.isOpen()) return kept;
    }
    return undefined;
  };

  const dropIdle = (kept: Kept): void => {
    const position = idle.indexOf(kept);
    if (position >= 0) idle.splice(position, 1);
    kept.session.quit();
  };

  const keepIdle = (kept: Kept): void => {
    kept.idleTimer = setTimeout(dropIdle, IDLE_MS, kept).unref();
    idle.push(kept);
    onIdle?.();
  };

  const passOn = (kept: Kept): void => {
    const waiter = waiting.shift(); // a waiter found no idle session
    if (waiter === undefined) keepIdle(kept);
    else handOut(kept, waiter);
  };

  const release = (kept: Kept, reusable: boolean): void => {
    if (!kept.session.isOpen())
      kept.session.close(); // the other side may have closed only its half
    else if (!reusable || closed || kept.transactions >= TRANSACTIONS_MAX) kept.session.quit();
    else passOn(kept);
  };

  const handOut = (kept: Kept, waiter: Waiter): void => {
    const reused = kept.transactions > 0;
    kept.transactions += 1;
    waiter.resolve({ session: kept.session, reused, release: (reusable) => release(kept, reusable) });
  };

  const openFor = (waiter: Waiter): void => {
    count += 1;
    let isOpened = false;
    open(waiter.signal, () => isOpened && ended()).then(
      (session) => {
        isOpened = true;
        handOut({ session, transactions: 0 }, waiter);
      },
      (error: Error) => {
        waiter.reject(error);
        ended();
      },
    );
  };

  /** @returns false if every session is in use. */
  const serveOne = (waiter: Waiter): boolean => {
    const kept = takeIdle();
    if (kept !== undefined) handOut(kept, waiter);
    else if (count < sessionsMax) openFor(waiter);
    else return false;
    return true;
  };

  const serve = (): void => {
    for (let waiter = waiting[0]; waiter !== undefined && serveOne(waiter); waiter = waiting[0]) waiting.shift();
  };

  const refuse = (waiter: Waiter, sentence: string): void => {
    const position = waiting.indexOf(waiter);
    if (position < 0) return;
    waiting.splice(position, 1);
    waiter.reject(new SmtpConnectFailed(noReply(sentence)));
  };

  const wait = (waiter: Waiter): void => {
    if (waiting.length === 0 && serveOne(waiter)) return;
    const giveUp = (): void => refuse(waiter, 'no session was free before the deadline');
    waiting.push(waiter);
    if (waiter.signal.aborted) giveUp();
    else waiter.signal.addEventListener('abort', giveUp, { once: true });
  };

  return {
    /** @throws {SmtpConnectFailed} if no session was available before `signal` aborted. */
    acquire: (signal: AbortSignal): Promise<PooledSession> =>
      new Promise((resolve, reject) => {
        if (closed) reject(new SmtpConnectFailed(noReply('the service is stopping')));
        else wait({ signal, resolve, reject });
      }),
    /** Sessions that are open or being opened. */
    size: (): number => count,
    /** True if an idle session could be used at once. */
    hasIdle: (): boolean => idle.some(({ session }) => session.isOpen()),
    /** Ends the session that has been idle longest. @returns false if no session is idle. */
    endIdle: (): boolean => {
      const kept = idle[0];
      if (kept === undefined) return false;
      clearTimeout(kept.idleTimer);
      dropIdle(kept);
      return true;
    },
    /** Resolves when every session handed out has come back and ended. */
    close: async (): Promise<void> => {
      closed = true;
      for (const waiter of [...waiting]) refuse(waiter, 'the service is stopping');
      for (const kept of [...idle]) {
        clearTimeout(kept.idleTimer);
        dropIdle(kept);
      }
      if (count > 0) await new Promise<void>((resolve) => closing.push(resolve));
    },
  };
};

export type SessionPool = ReturnType<typeof createSessionPool>;
