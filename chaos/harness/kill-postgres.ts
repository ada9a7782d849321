import { readdir, readFile } from 'node:fs/promises';

/** The parent's process id is the second field after the name in parentheses (proc(5), `stat`). */
const parentOf = async (pid: string): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
};

const childrenOf = async (parent: number): Promise<readonly number[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const parents = await Promise.all(pids.map(parentOf));
  return pids.filter((_, index) => parents[index] === parent).map(Number);
};

/** Kills the server and all its processes at once, like a power cut. */
export const killPostgres = async (postmasterPid: number): Promise<void> => {
  for (const pid of [...(await childrenOf(postmasterPid)), postmasterPid]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // the process has already ended
    }
  }
};
