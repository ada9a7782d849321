import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { certificateFor } from '../scripted-smtp-server/certificate.ts';
import { MAIL_DOMAIN, mainCf, masterCf, saslConf } from './configuration.ts';

export const CREDENTIALS = { user: `relay@${MAIL_DOMAIN}`, pass: 'p@ss/w:rd' };

/** Maximum time from acceptance to the mailbox. */
const DELIVERY_MS = 10_000;

const isInstalled = (): boolean => {
  try {
    for (const name of ['postfix', 'saslpasswd2', 'openssl']) execFileSync('sh', ['-c', `command -v ${name}`]);
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
};

/** Tests of a missing engine are skipped, except where engines are required: there they run and fail. */
export const postfixIsMissing = !isInstalled() && process.env.CI_ENGINES !== 'required';

const idOf = (user: string): number => Number(execFileSync('id', ['-u', user]));

/** Stops Postfix and removes its folder once our end of its input closes, even if this process is killed. */
const GUARD = 'read -r _; kill -TERM "$1"; while kill -0 "$1" 2>/dev/null; do sleep 0.05; done; rm -rf "$2"';

const makeCredentials = (folder: string, owner: number): void => {
  const [user = '', domain = ''] = CREDENTIALS.user.split('@');
  const database = join(folder, 'etc', 'sasl', 'sasldb2');
  execFileSync('saslpasswd2', ['-p', '-c', '-f', database, '-u', domain, user], { input: CREDENTIALS.pass });
  chownSync(database, owner, 0);
  writeFileSync(join(folder, 'etc', 'sasl', 'smtpd.conf'), saslConf(folder));
};

/** Starts an instance with its own configuration, queue and ports. @param names of its mailboxes. */
export const startPostfix = async (names: readonly string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'postfix-'));
  chmodSync(folder, 0o755);
  const [postfix, userId] = [idOf('postfix'), idOf('nobody')];
  for (const name of ['etc', 'etc/sasl', 'spool', 'data', 'mail']) mkdirSync(join(folder, name), { mode: 0o755 });
  chownSync(join(folder, 'data'), postfix, 0);
  chownSync(join(folder, 'mail'), userId, userId);
  const { key, cert } = certificateFor(`mx.${MAIL_DOMAIN}`);
  writeFileSync(join(folder, 'key'), key, { mode: 0o600 });
  writeFileSync(join(folder, 'cert'), cert);
  makeCredentials(folder, postfix);
  const [port, submissionPort] = [await freePort(), await freePort()];
  const parts = { folder, port, submissionPort, mailboxes: names, userId };
  writeFileSync(join(folder, 'etc', 'main.cf'), mainCf(parts));
  writeFileSync(join(folder, 'etc', 'master.cf'), masterCf(parts));
  execFileSync('postfix', ['-c', join(folder, 'etc'), 'start'], { stdio: 'ignore' });
  const pid = readFileSync(join(folder, 'spool', 'pid', 'master.pid'), 'utf8').trim();
  const guard = spawn('/bin/sh', ['-c', GUARD, 'sh', pid, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });

  const read = (name: string): readonly string[] => {
    const mailbox = join(folder, 'mail', String(names.indexOf(name)), 'new');
    try {
      return readdirSync(mailbox).map((file) => readFileSync(join(mailbox, file), 'latin1'));
    } catch {
      return []; // the folder is created with the first message
    }
  };

  return {
    port,
    submissionPort,
    cert,
    /** Waits until `count` messages have arrived. Each byte is one character. */
    mailOf: async (name: string, count: number): Promise<readonly string[]> => {
      for (let waited = 0; waited < DELIVERY_MS && read(name).length < count; waited += 50) await sleep(50);
      return read(name);
    },
    log: (): string => readFileSync(join(folder, 'log'), 'utf8'),
    /** Deletes the mail that has arrived. */
    empty: (): void => {
      for (const at of names.keys()) rmSync(join(folder, 'mail', String(at)), { recursive: true, force: true });
    },
    stop: async (): Promise<void> => {
      guard.stdin.end();
      await once(guard, 'exit');
    },
  };
};
export type Postfix = Awaited<ReturnType<typeof startPostfix>>;
