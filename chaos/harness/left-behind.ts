import { spawn } from 'node:child_process';

/**
 * Reads folders until our end of its standard input closes, which a kill of this process does too. Then whatever names
 * one of them in its settings or arguments is ended, twice, because what was just starting may have started more.
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

/** Sees to it that a folder and all processes that work in it are gone soon after this process is, however it ends. */
export const tidyUpLater = (folder: string): void => {
  tidying ??= start();
  tidying.write(`${folder}\n`);
};
