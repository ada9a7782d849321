import { spawn } from 'node:child_process';

/**
 * Reads folder names until the parent's end of standard input closes, which also happens when the parent is killed.
 * Then it ends every process that names one of the folders in its environment or arguments. It does so twice, because a
 * starting process may have started others.
 */
const SCRIPT = `
  folders= patterns=
  while read -r folder; do folders="$folders $folder" patterns="$patterns -e $folder"; done
  [ "$folders" ] || exit
  for again in 1 2; do
    for found in $(grep -laF $patterns /proc/[0-9]*/environ /proc/[0-9]*/cmdline); do
      process=\${found#/proc/}
      kill -9 "\${process%%/*}"
    done
    rm -rf $folders
    sleep 1
  done 2>/dev/null`;

const start = () => {
  const child = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  return child.stdin;
};

let tidying: ReturnType<typeof start> | undefined;

/** Ensures that a folder and all processes that use it are gone soon after this process ends, even if it is killed. */
export const tidyUpLater = (folder: string): void => {
  tidying ??= start();
  tidying.write(`${folder}\n`);
};
