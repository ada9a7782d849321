import {
  createSessionPool,
  noReply,
  type PooledSession,
  type SessionPool,
  type SessionTarget,
  SmtpConnectFailed,
  type SmtpSession,
} from '../../../lib/smtp/smtp.ts';

/** Ends one idle session. @returns false if none was idle. */
type EndIdle = () => boolean;

type Waiter = (hasRoom: boolean) => void;

/**
 * Bounds the number of sessions with all servers together. If no room is left, an idle session ends to make room; if
 * none is idle, the request waits.
 */
const createSessionRoom = (sessionsMax: number) => {
  /** Ordered by how long they have been idle, the longest first. */
  const idlers = new Set<EndIdle>();
  const waiting: Waiter[] = [];
  let taken = 0;
  /** Sessions being ended for a waiting request. QUIT takes a moment. */
  let ending = 0;

  const endOne = (): void => {
    for (const endIdle of idlers) {
      idlers.delete(endIdle);
      if (!endIdle()) continue;
      idlers.add(endIdle); // it may have more, and is asked last for them
      ending += 1;
      return;
    }
  };

  const wait = (signal: AbortSignal, resolve: Waiter): void => {
    waiting.push(resolve);
    if (waiting.length > ending) endOne();
    const giveUp = (): void => {
      const position = waiting.indexOf(resolve);
      if (position < 0) return;
      waiting.splice(position, 1);
      resolve(false);
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  };

  return {
    /** @returns false if there was no room before `signal` aborted. */
    take: (signal: AbortSignal): Promise<boolean> => {
      if (taken === sessionsMax) return new Promise((resolve) => wait(signal, resolve));
      taken += 1;
      return Promise.resolve(true);
    },

    give: (): void => {
      ending = Math.max(ending - 1, 0);
      const waiter = waiting.shift();
      if (waiter === undefined) taken -= 1;
      else waiter(true);
    },

    /** One of its sessions has become idle. */
    idles: (endIdle: EndIdle): void => {
      idlers.delete(endIdle);
      idlers.add(endIdle);
      if (waiting.length > ending) endOne();
    },

    /** It has no more idle sessions to end. */
    forget: (endIdle: EndIdle): void => {
      idlers.delete(endIdle);
    },
  };
};

/** Target of a connection. Sessions with the same key are interchangeable. */
export interface DeliveryTarget {
  readonly key: string;
  readonly target: SessionTarget;
}

export interface SessionPoolsOptions {
  readonly open: (deliveryTarget: DeliveryTarget, signal: AbortSignal, onEnd: () => void) => Promise<SmtpSession>;
  /** Sessions with all servers together. */
  readonly sessionsMax: number;
  readonly sessionsPerServerMax: number;
  /** Sessions with one address, whatever names lead to it. */
  readonly sessionsPerAddressMax: number;
}

/** State of one address. */
interface Place {
  readonly room: ReturnType<typeof createSessionRoom>;
  pools: number;
}

const NO_ROOM = noReply('no session was free before the deadline');

/** Keeps sessions with any number of servers, each for as long as it is useful. */
export const createSessionPools = (options: SessionPoolsOptions) => {
  const { open, sessionsMax, sessionsPerServerMax, sessionsPerAddressMax } = options;
  const pools = new Map<string, SessionPool>();
  const places = new Map<string, Place>();
  const room = createSessionRoom(sessionsMax);
  let closed = false;

  /** Takes room at the address first, so that waiting for it delays no other server's mail. */
  const takeRoom = async ({ room: own }: Place, signal: AbortSignal): Promise<void> => {
    if (!(await own.take(signal))) throw new SmtpConnectFailed(NO_ROOM);
    if (await room.take(signal)) return;
    own.give();
    throw new SmtpConnectFailed(NO_ROOM);
  };

  const giveRoom = ({ room: own }: Place): void => {
    own.give();
    room.give();
  };

  const openInRoom = async (
    deliveryTarget: DeliveryTarget,
    place: Place,
    signal: AbortSignal,
    onEnd: () => void,
  ): Promise<SmtpSession> => {
    await takeRoom(place, signal);
    let isOpened = false;
    try {
      const session = await open(deliveryTarget, signal, () => {
        if (!isOpened) return; // it has failed, which gives the room back below
        giveRoom(place);
        onEnd();
      });
      isOpened = true;
      return session;
    } catch (error) {
      giveRoom(place);
      throw error;
    }
  };

  const placeOf = ({ target: { address, host } }: DeliveryTarget): Place => {
    const name = address ?? host;
    const place = places.get(name) ?? { room: createSessionRoom(sessionsPerAddressMax), pools: 0 };
    places.set(name, place);
    place.pools += 1;
    return place;
  };

  const leave = ({ target: { address, host } }: DeliveryTarget, place: Place): void => {
    place.pools -= 1;
    if (place.pools === 0) places.delete(address ?? host);
  };

  const createPool = (deliveryTarget: DeliveryTarget): SessionPool => {
    const place = placeOf(deliveryTarget);
    const pool: SessionPool = createSessionPool({
      sessionsMax: sessionsPerServerMax,
      open: (signal, onEnd) => openInRoom(deliveryTarget, place, signal, onEnd),
      onIdle: () => {
        place.room.idles(pool.endIdle);
        room.idles(pool.endIdle);
      },
      onEmpty: () => {
        place.room.forget(pool.endIdle);
        room.forget(pool.endIdle);
        if (pools.get(deliveryTarget.key) !== pool) return;
        pools.delete(deliveryTarget.key);
        leave(deliveryTarget, place);
      },
    });
    pools.set(deliveryTarget.key, pool);
    return pool;
  };

  return {
    /** @throws {SmtpConnectFailed} if no session was available before `signal` aborted. */
    acquire: async (deliveryTarget: DeliveryTarget, signal: AbortSignal): Promise<PooledSession> => {
      if (closed) throw new SmtpConnectFailed(noReply('the service is stopping'));
      return (pools.get(deliveryTarget.key) ?? createPool(deliveryTarget)).acquire(signal);
    },
    /** True if an idle session could be used at once. */
    hasIdle: ({ key }: DeliveryTarget): boolean => pools.get(key)?.hasIdle() ?? false,
    /** Servers with sessions that are open or being opened. */
    size: (): number => pools.size,
    /** Sessions with all servers, open or being opened. */
    sessions: (): number => pools.values().reduce((sum, pool) => sum + pool.size(), 0),
    /** Resolves when every session handed out has come back and ended. */
    close: async (): Promise<void> => {
      closed = true;
      await Promise.all([...pools.values()].map((pool) => pool.close()));
    },
  };
};

export type SessionPools = ReturnType<typeof createSessionPools>;
