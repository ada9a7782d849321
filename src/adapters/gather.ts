import { StoreUnavailable } from '../domain/ports/event-store.ts';
import type { System } from '../domain/ports/system.ts';

export interface GatherOptions<Item, Answer> {
  /** What its callers wait for, as a refusal says it: 'the log'. */
  readonly name: string;
  /** Calls under way at once. */
  readonly inFlightMax: number;
  readonly waitingMax: number;
  readonly waitingBytesMax: number;
  /** What waited longer is refused: its caller has given up. Absent: callers wait for as long as it takes. */
  readonly patience?: { readonly ms: number; readonly system: Pick<System, 'monotonicMs'> };
  readonly bytesOf: (item: Item) => number;
  /** Made anew for each group: whether the next item, in order, goes with it or waits on. The first one must go. */
  readonly admission: () => (item: Item) => boolean;
  /** One settlement for each item, in order; where it rejects, all of them are rejected. */
  readonly run: (items: readonly Item[]) => Promise<readonly PromiseSettledResult<Answer>[]>;
}

export interface Gather<Item, Answer> {
  /** @throws {StoreUnavailable} too much waits already, it waited too long, or it was closed: it was not sent. */
  add(item: Item): Promise<Answer>;
  /** Refuses what waits and what comes; resolves when no call is under way. */
  close(): Promise<void>;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly since: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

/** While a call is under way the next one gathers: callers share round trips and commits, and none waits for company. */
export const createGather = <Item, Answer>(options: GatherOptions<Item, Answer>): Gather<Item, Answer> => {
  const { name, bytesOf, patience } = options;
  const now = (): number => patience?.system.monotonicMs() ?? 0;
  const underWay = new Set<Promise<void>>();
  let waiting: Waiting<Item, Answer>[] = [];
  let waitingBytes = 0;
  let scheduled = false;
  let closed = false;

  const totalOf = (some: readonly Waiting<Item, Answer>[]): number =>
    some.reduce((sum, { item }) => sum + bytesOf(item), 0);

  const refuse = (refused: readonly Waiting<Item, Answer>[], sentence: string): void => {
    waitingBytes -= totalOf(refused);
    for (const { reject } of refused) reject(new StoreUnavailable(sentence));
  };

  const refuseStale = (): void => {
    if (patience === undefined) return;
    const oldest = now() - patience.ms;
    const stale = waiting.filter(({ since }) => since < oldest);
    if (stale.length === 0) return;
    waiting = waiting.filter(({ since }) => since >= oldest);
    refuse(stale, `${name} did not get to it in time`);
  };

  const takeGroup = (): readonly Waiting<Item, Answer>[] => {
    const admits = options.admission();
    const goes = waiting.map(({ item }) => admits(item));
    const group = waiting.filter((_, index) => goes[index]);
    waiting = waiting.filter((_, index) => !goes[index]);
    waitingBytes -= totalOf(group);
    return group;
  };

  const settle = async (group: readonly Waiting<Item, Answer>[]): Promise<void> => {
    const call = options.run(group.map(({ item }) => item));
    const settled = await call.catch((reason: unknown) => group.map(() => ({ status: 'rejected' as const, reason })));
    for (const [index, { resolve, reject }] of group.entries()) {
      const one = settled[index];
      if (one?.status === 'fulfilled') resolve(one.value);
      else reject(one?.reason);
    }
  };

  const launch = (): void => {
    scheduled = false;
    refuseStale();
    while (underWay.size < options.inFlightMax && waiting.length > 0) {
      const call: Promise<void> = settle(takeGroup()).finally(() => {
        underWay.delete(call);
        schedule();
      });
      underWay.add(call);
    }
  };

  /** Not at once: what other requests of this turn of the loop bring goes along. */
  const schedule = (): void => {
    if (scheduled || waiting.length === 0 || underWay.size >= options.inFlightMax) return;
    scheduled = true;
    setImmediate(launch);
  };

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        const bytes = bytesOf(item);
        if (closed) return reject(new StoreUnavailable(`${name} is closed`));
        const full = waiting.length >= options.waitingMax || waitingBytes + bytes > options.waitingBytesMax;
        if (full && waiting.length > 0) return reject(new StoreUnavailable(`too many callers wait for ${name}`));
        waitingBytes += bytes;
        waiting.push({ item, since: now(), resolve, reject });
        schedule();
      }),

    close: async () => {
      closed = true;
      const refused = waiting;
      waiting = [];
      refuse(refused, `${name} is closed`);
      await Promise.all(underWay);
    },
  };
};
