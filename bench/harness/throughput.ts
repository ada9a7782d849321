export interface Load {
  /** Callers at the same time, each of which waits for its answer before it calls again. */
  readonly concurrency: number;
  readonly ms: number;
  /** One call. @returns how many units it did. */
  work(): Promise<number>;
}

const SECOND_MS = 1000;

/** Keeps the callers busy for a while. @returns units per second. */
export const throughput = async ({ concurrency, ms, work }: Load): Promise<number> => {
  const beganMs = performance.now();
  let done = 0;
  const call = async (): Promise<void> => {
    while (performance.now() - beganMs < ms) {
      const units = await work(); // `done += await …` would forget what the others did meanwhile
      done += units;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, call));
  return (done * SECOND_MS) / (performance.now() - beganMs);
};

/** Calls one after another. @returns the median time of a call in ms. */
export const medianMs = async ({ ms, work }: Omit<Load, 'concurrency'>): Promise<number> => {
  const times: number[] = [];
  const endMs = performance.now() + ms;
  for (let beganMs = performance.now(); beganMs < endMs; beganMs = performance.now()) {
    await work();
    times.push(performance.now() - beganMs);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
};
