/** Whoever has sessions that idle, and can end one of them. @returns false: there was none. */
export type EndIdle = () => boolean;

type Waiter = (hasRoom: boolean) => void;

/**
 * Room for so many sessions in all, whomever they are with. Where there is none left, one that idles ends to make room;
 * where none idles, whoever asked waits his turn.
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
