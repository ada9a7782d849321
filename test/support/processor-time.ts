/**
 * Milliseconds that the processor spends on synchronous work. Other programs on a busy machine hardly add to them, unlike to the
 * time that passes.
 */
export const processorMs = (work: () => void): number => {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};
