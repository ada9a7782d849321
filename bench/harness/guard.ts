import { spawn } from 'node:child_process';
import type { Closers } from '../../src/composition/lifecycle.ts';

/** Waits until its standard input closes, then ends the process if it still runs and removes the folders. */
const SCRIPT =
  'read -r _; kill -"$1" "$2" 2>/dev/null; while kill -0 "$2" 2>/dev/null; do sleep 0.05; done; shift 2; rm -rf "$@"';

/** Ensures that a server and its data are gone even if this process is killed. */
export const guard = (
  closers: Closers,
  {
    pid,
    signal,
    folders,
  }: { readonly pid: number; readonly signal: 'INT' | 'TERM'; readonly folders: readonly string[] },
): void => {
  const parameters = ['-c', SCRIPT, 'sh', signal, String(pid), ...folders];
  const child = spawn('/bin/sh', parameters, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  closers.add('guard', async () => {
    child.stdin.end();
    await gone;
  });
};
