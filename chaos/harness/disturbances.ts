/** When something bad happened (milliseconds since the epoch), and what. */
export interface Disturbance {
  readonly what: string;
  readonly fromMs: number;
  /** As long as it lasts: infinity. */
  toMs: number;
}

/** What may excuse an attempt in doubt: nothing else does. */
export interface Disturbances {
  readonly all: readonly Disturbance[];
  /** It begins now. @returns ends it. */
  begin(what: string): () => void;
  /** It began and ended a moment ago: a kill. */
  now(what: string): void;
}

export const createDisturbances = (): Disturbances => {
  const all: Disturbance[] = [];
  const begin = (what: string): (() => void) => {
    const disturbance: Disturbance = { what, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    all.push(disturbance);
    return () => {
      disturbance.toMs = Date.now();
    };
  };
  return { all, begin, now: (what) => begin(what)() };
};
