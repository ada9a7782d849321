/** The longest turn of the event loop meanwhile, in processor time of its thread: how busy the machine is does not count. */
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
