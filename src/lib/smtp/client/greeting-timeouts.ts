/** How long a greeting is waited for. */
export interface GreetingTimeouts {
  readonly firstMs: number;
  /** On the try after one that ended without. */
  readonly againMs: number;
}

/**
 * RFC 5321 §4.5.3.2.1 asks for five minutes, since servers under load greet late and some let strangers wait on purpose.
 * A minute first: a server that says nothing at all must leave time for the next of its domain. The second try has what
 * an attempt of four minutes can spare.
 */
export const GREETING_TIMEOUTS: GreetingTimeouts = { firstMs: 60_000, againMs: 200_000 };

/** About 1 MB. One that is forgotten is waited for as at first. */
const SERVERS_MAX = 10_000;

/** Remembers which servers were not waited for long enough, by a name for each. */
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
    /** One that did not greet in the longer time either gets the shorter next; one that greets late keeps the longer. */
    failed: (server: string, { isUngreeted }: { readonly isUngreeted: boolean }): void => {
      if (!isUngreeted) return;
      if (slow.has(server)) slow.delete(server);
      else add(server);
    },
  };
};
