/**
 * The longest turn of the event loop while `work` runs. Measured in processor time of the thread, so that load on the
 * machine does not count.
 */
export const longestTurnMs = async (work: () => Promise<unknown>): Promise<number> => {
  let longestUs = 0;
  let running = true;
  let before = process.threadCpuUsage();
  const turn = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    longestUs = Math.max(longestUs, user + system);
    before = process.threadCpuUsage();
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  await new Promise((resolve) => setImmediate(resolve));
  running = false;
  return longestUs / 1_000;
};
