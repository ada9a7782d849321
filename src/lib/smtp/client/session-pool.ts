import { createFairQueue } from '../../async/async.ts';
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
/**
 * Sessions of an owner for each one that is free. More: a server that hangs on the mail of a few owners leaves no session
 * for others. Fewer: a lone owner leaves many idle.
 */
const SHARE_OF_FREE = 3;

interface SessionEntry {
  session: SmtpSession;
  transactions: number;
  idleTimer?: NodeJS.Timeout;
}

interface Waiter {
  /** Undefined: it has no share, and takes turns like one owner. */
  readonly owner: string | undefined;
  readonly signal: AbortSignal;
  readonly resolve: (session: PooledSession) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Keeps a bounded number of sessions between messages. Owners (organizations) take turns, and none uses so many sessions
 * that others get none: a server may hang on the mail of one owner only.
 */
export const createSessionPool = ({ open, sessionsMax, onIdle, onEmpty }: SessionPoolOptions) => {
  const idle: SessionEntry[] = [];
  const waiting = createFairQueue<Waiter>();
  /** Sessions in use or being opened by owner, without zeros. */
  const used = new Map<string, number>();
  let usedByAll = 0;
  const closing: (() => void)[] = [];
  /** Sessions that are open or being opened. */
  let count = 0;
  let closed = false;

  const change = (owner: string | undefined, difference: 1 | -1): void => {
    if (owner === undefined) return;
    const own = (used.get(owner) ?? 0) + difference;
    usedByAll += difference;
    if (own === 0) used.delete(owner);
    else used.set(owner, own);
  };

  const isWithinShare = ({ owner }: Waiter): boolean => {
    const own = (owner === undefined ? undefined : used.get(owner)) ?? 0;
    return own < SHARE_OF_FREE * (sessionsMax - usedByAll);
  };

  const ended = (): void => {
    count -= 1;
    if (closed && count === 0) for (const done of closing.splice(0)) done();
    serve();
    if (count === 0) onEmpty?.(); // a waiting message has taken the room by now
  };

  const takeIdle = (): SessionEntry | undefined => {
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
      clearTimeout(kept.idleTimer);
      if (kept.session.isOpen()) return kept;
    }
    return undefined;
  };

  const dropIdle = (kept: SessionEntry): void => {
    const position = idle.indexOf(kept);
    if (position >= 0) idle.splice(position, 1);
    kept.session.quit();
  };

  const keepIdle = (kept: SessionEntry): void => {
    kept.idleTimer = setTimeout(dropIdle, IDLE_MS, kept).unref();
    idle.push(kept);
    onIdle?.();
  };

  const passOn = (kept: SessionEntry): void => {
    const waiter = waiting.shift(isWithinShare);
    if (waiter === undefined) {
      keepIdle(kept);
      return;
    }
    change(waiter.owner, 1);
    handOut(kept, waiter);
  };

  const release = (kept: SessionEntry, owner: string | undefined, reusable: boolean): void => {
    change(owner, -1);
    if (!kept.session.isOpen())
      kept.session.close(); // the other side may have closed only its half
    else if (!reusable || closed || kept.transactions >= TRANSACTIONS_MAX) kept.session.quit();
    else passOn(kept);
    serve(); // other owners have a larger share now
  };

  const handOut = (kept: SessionEntry, waiter: Waiter): void => {
    const reused = kept.transactions > 0;
    kept.transactions += 1;
    waiter.resolve({ session: kept.session, reused, release: (reusable) => release(kept, waiter.owner, reusable) });
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
        change(waiter.owner, -1);
        waiter.reject(error);
        ended();
      },
    );
  };

  const hasIdle = (): boolean => idle.some(({ session }) => session.isOpen());

  const serveNext = (): boolean => {
    if (!hasIdle() && count >= sessionsMax) return false;
    const waiter = waiting.shift(isWithinShare);
    if (waiter === undefined) return false;
    change(waiter.owner, 1);
    const kept = takeIdle();
    if (kept === undefined) openFor(waiter);
    else handOut(kept, waiter);
    return true;
  };

  const serve = (): void => {
    while (serveNext());
  };

  const refuse = (waiter: Waiter, sentence: string): void => {
    if (waiting.remove(waiter.owner ?? '', waiter)) waiter.reject(new SmtpConnectFailed(noReply(sentence)));
  };

  const wait = (waiter: Waiter): void => {
    waiting.push(waiter.owner ?? '', waiter);
    serve();
    const giveUp = (): void => refuse(waiter, 'no session was free before the deadline');
    if (waiter.signal.aborted) giveUp();
    else waiter.signal.addEventListener('abort', giveUp, { once: true });
  };

  return {
    /**
     * @param owner organization whose share it uses. Default: none.
     * @throws {SmtpConnectFailed} if no session was available before `signal` aborted.
     */
    acquire: (signal: AbortSignal, owner?: string): Promise<PooledSession> =>
      new Promise((resolve, reject) => {
        if (closed) reject(new SmtpConnectFailed(noReply('the service is stopping')));
        else wait({ owner, signal, resolve, reject });
      }),
    /** Sessions that are open or being opened. */
    size: (): number => count,
    /** True if an idle session could be used at once. */
    hasIdle,
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
      for (const waiter of [...waiting.items()]) refuse(waiter, 'the service is stopping');
      for (const kept of [...idle]) {
        clearTimeout(kept.idleTimer);
        dropIdle(kept);
      }
      if (count > 0) await new Promise<void>((resolve) => closing.push(resolve));
    },
  };
};

export type SessionPool = ReturnType<typeof createSessionPool>;
