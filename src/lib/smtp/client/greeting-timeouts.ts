/** Time-outs for a greeting. */
export interface GreetingTimeouts {
  readonly firstMs: number;
  /** On the try after one that ended without a greeting. */
  readonly againMs: number;
}

/**
 * RFC 5321 §4.5.3.2.1 asks for five minutes, since servers under load greet late and some delay strangers on purpose.
 * The first try has one minute: a server that says nothing at all must leave time for the next one of its domain. The
 * second try gets as much as an attempt of four minutes can spare.
 */
export const GREETING_TIMEOUTS: GreetingTimeouts = { firstMs: 60_000, againMs: 200_000 };

/** About 1 MB. An evicted server gets the first time-out again. */
const SERVERS_MAX = 10_000;

/** Tracks, by name, which servers did not greet within the first time-out. */
export const createGreetingTimeouts = ({ firstMs, againMs }: GreetingTimeouts) => {
  const slow = new Set<string>();

  const add = (server: string): void => {
    slow.delete(server);
    slow.add(server);
    for (const oldest of slow) {
      if (slow.size <= SERVERS_MAX) return;
      slow.delete(oldest);
    }
  };

  return {
    msOf: (server: string): number => (slow.has(server) ? againMs : firstMs),
    /**
     * A server that exceeds the longer time-out too gets the shorter one next. One that greets late keeps the longer
     * one.
     */
    failed: (server: string, { isUngreeted }: { readonly isUngreeted: boolean }): void => {
      if (!isUngreeted) return;
      if (slow.has(server)) slow.delete(server);
      else add(server);
    },
  };
};
