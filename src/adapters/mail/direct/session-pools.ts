import { createSessionPool, type PooledSession, type SessionPool } from '../session-pool.ts';
import type { SessionTarget } from '../session-target.ts';
import { noReply } from '../smtp-reply.ts';
import { SmtpConnectFailed, type SmtpSession } from '../smtp-session.ts';
import { createSessionRoom } from './session-room.ts';

/** Where to connect, and what sessions are shared by: those of one key are as good as each other. */
export interface Hop {
  readonly key: string;
  readonly target: SessionTarget;
}

export interface SessionPoolsOptions {
  readonly open: (hop: Hop, signal: AbortSignal, onEnd: () => void) => Promise<SmtpSession>;
  /** With all servers together. */
  readonly sessionsMax: number;
  readonly sessionsPerServerMax: number;
}

const NO_ROOM = noReply('no session was free before the deadline');

/** Keeps sessions with any number of servers, each for as long as it is of use. */
export const createSessionPools = ({ open, sessionsMax, sessionsPerServerMax }: SessionPoolsOptions) => {
  const pools = new Map<string, SessionPool>();
  const room = createSessionRoom(sessionsMax);
  let closed = false;

  const openInRoom = async (hop: Hop, signal: AbortSignal, onEnd: () => void): Promise<SmtpSession> => {
    if (!(await room.take(signal))) throw new SmtpConnectFailed(NO_ROOM);
    let isOpened = false;
    try {
      const session = await open(hop, signal, () => {
        if (!isOpened) return; // it has failed, which gives the room back below
        room.give();
        onEnd();
      });
      isOpened = true;
      return session;
    } catch (error) {
      room.give();
      throw error;
    }
  };

  const createPool = (hop: Hop): SessionPool => {
    const pool: SessionPool = createSessionPool({
      sessionsMax: sessionsPerServerMax,
      open: (signal, onEnd) => openInRoom(hop, signal, onEnd),
      onIdle: () => room.idles(pool.endIdle),
      onEmpty: () => {
        room.forget(pool.endIdle);
        pools.delete(hop.key);
      },
    });
    pools.set(hop.key, pool);
    return pool;
  };

  return {
    /** @throws {SmtpConnectFailed} no session could be had before `signal` aborted. */
    acquire: async (hop: Hop, signal: AbortSignal): Promise<PooledSession> => {
      if (closed) throw new SmtpConnectFailed(noReply('the service is stopping'));
      return (pools.get(hop.key) ?? createPool(hop)).acquire(signal);
    },
    /** One that would be taken at once. */
    hasIdle: ({ key }: Hop): boolean => pools.get(key)?.hasIdle() ?? false,
    /** Servers that there are sessions with, or that are being connected to. */
    size: (): number => pools.size,
    /** Open or being opened, with all of them. */
    sessions: (): number => pools.values().reduce((sum, pool) => sum + pool.size(), 0),
    /** Resolves when every session handed out has come back and ended. */
    close: async (): Promise<void> => {
      closed = true;
      await Promise.all([...pools.values()].map((pool) => pool.close()));
    },
  };
};

export type SessionPools = ReturnType<typeof createSessionPools>;
