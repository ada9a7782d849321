export interface Load {
  /** Number of concurrent callers. Each waits for its response before the next call. */
  readonly concurrency: number;
  readonly ms: number;
  /** One call. @returns the number of units it did. */
  work(): Promise<number>;
}

const SECOND_MS = 1000;

/** Keeps all callers busy for a time. @returns units per second. */
export const throughput = async ({ concurrency, ms, work }: Load): Promise<number> => {
  const beganMs = performance.now();
  let done = 0;
  const call = async (): Promise<void> => {
    while (performance.now() - beganMs < ms) {
      const units = await work(); // `done += await …` would lose concurrent updates
      done += units;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, call));
  return (done * SECOND_MS) / (performance.now() - beganMs);
};

/** Makes calls one after another. @returns the median time per call in milliseconds. */
export const medianMs = async ({ ms, work }: Omit<Load, 'concurrency'>): Promise<number> => {
  const times: number[] = [];
  const endMs = performance.now() + ms;
  for (let beganMs = performance.now(); beganMs < endMs; beganMs = performance.now()) {
    await work();
    times.push(performance.now() - beganMs);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
};
