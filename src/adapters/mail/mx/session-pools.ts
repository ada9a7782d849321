import {
  createSessionPool,
  noReply,
  type PooledSession,
  type SessionPool,
  type SessionTarget,
  SmtpConnectFailed,
  type SmtpSession,
} from '../../../lib/smtp/smtp.ts';

/** Ends one idle session. @returns false: there was none. */
export type EndIdle = () => boolean;

type Waiter = (hasRoom: boolean) => void;

/**
 * Room for so many sessions in all, with any server. If there is none left, an idle session ends to make room; if
 * none is idle, the request waits.
 */
export const createSessionRoom = (sessionsMax: number) => {
  /** Those who were idle first come first. */
  const idlers = new Set<EndIdle>();
  const waiting: Waiter[] = [];
  let taken = 0;
  /** Told to end for somebody who waits; QUIT takes a moment. */
  let ending = 0;

  const endOne = (): void => {
    for (const endIdle of idlers) {
      idlers.delete(endIdle);
      if (!endIdle()) continue;
      idlers.add(endIdle); // it may have more, and is the last to be asked for them
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
    /** @returns false: there was no room before `signal` aborted. */
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

    /** A session of these idles from now on. */
    idles: (endIdle: EndIdle): void => {
      idlers.delete(endIdle);
      idlers.add(endIdle);
      if (waiting.length > ending) endOne();
    },

    /** There is nothing more to end. */
    forget: (endIdle: EndIdle): void => {
      idlers.delete(endIdle);
    },
  };
};

/** Where to connect, and what sessions are shared by: those of one key are as good as each other. */
export interface DeliveryTarget {
  readonly key: string;
  readonly target: SessionTarget;
}

export interface SessionPoolsOptions {
  readonly open: (deliveryTarget: DeliveryTarget, signal: AbortSignal, onEnd: () => void) => Promise<SmtpSession>;
  /** With all servers together. */
  readonly sessionsMax: number;
  readonly sessionsPerServerMax: number;
  /** With one address, whatever names lead to it. */
  readonly sessionsPerAddressMax: number;
}

/** What there is at one address. */
interface Place {
  readonly room: ReturnType<typeof createSessionRoom>;
  pools: number;
}

const NO_ROOM = noReply('no session was free before the deadline');

/** Keeps sessions with any number of servers, each for as long as it is of use. */
export const createSessionPools = (options: SessionPoolsOptions) => {
  const { open, sessionsMax, sessionsPerServerMax, sessionsPerAddressMax } = options;
  const pools = new Map<string, SessionPool>();
  const places = new Map<string, Place>();
  const room = createSessionRoom(sessionsMax);
  let closed = false;

  /** Of its address first: who waits for that keeps no other server's mail waiting. */
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
    /** @throws {SmtpConnectFailed} no session could be had before `signal` aborted. */
    acquire: async (deliveryTarget: DeliveryTarget, signal: AbortSignal): Promise<PooledSession> => {
      if (closed) throw new SmtpConnectFailed(noReply('the service is stopping'));
      return (pools.get(deliveryTarget.key) ?? createPool(deliveryTarget)).acquire(signal);
    },
    /** One that would be taken at once. */
    hasIdle: ({ key }: DeliveryTarget): boolean => pools.get(key)?.hasIdle() ?? false,
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
