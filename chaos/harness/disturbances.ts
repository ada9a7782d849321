/** Kind and time of a fault, Unix time in milliseconds. */
export interface Disturbance {
  readonly what: string;
  readonly fromMs: number;
  /** Infinity while it lasts. */
  toMs: number;
}

/** Recorded faults. Only these excuse an attempt in doubt. */
export interface Disturbances {
  readonly all: readonly Disturbance[];
  /** Records that a fault starts now. @returns a function that ends it. */
  begin(what: string): () => void;
  /** Records an instantaneous fault, such as a kill. */
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
