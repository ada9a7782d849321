import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Programs of others that deliver a mail by SMTP, each in the foreground. */

interface SentMail {
  /** Port on loopback. */
  readonly port: number;
  readonly raw: string;
  readonly from: string;
  readonly to: string;
}

/** Delivers the mail once. @returns what the program printed. @throws {Error} it was not accepted. */
type SendMail = (mail: SentMail) => Promise<string>;

const HELO = 'sender.b.test';
/** Folder of packages that cannot be installed together with Postfix. `.ci/run` unpacks them there. */
const UNPACKED = process.env.MAIL_SENDERS ?? '/';

const run = async (file: string, args: readonly string[], input: string): Promise<string> => {
  const running = promisify(execFile)(file, args, { encoding: 'utf8' });
  running.child.stdin?.end(input);
  try {
    const { stdout, stderr } = await running;
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${file} failed: ${stdout}${stderr}`);
  }
};

const withFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = mkdtempSync(join(tmpdir(), 'senders-'));
  chmodSync(folder, 0o755);
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const swaks: SendMail = ({ port, raw, from, to }) =>
  withFolder(async (folder) => {
    const file = join(folder, 'mail.eml');
    writeFileSync(file, raw);
    const where = ['--server', `127.0.0.1:${port}`, '--helo', HELO, '--from', from, '--to', to];
    return run('swaks', [...where, '--data', `@${file}`], '');
  });

const accepted = (printed: string, by: string): string => {
  if (!printed.includes(by)) throw new Error(`the mail was not accepted: ${printed}`);
  return printed;
};

const OPEN_SMTPD = join(UNPACKED, 'usr/bin/smtp');

/** The client of OpenSMTPD. */
const openSmtpd: SendMail = async ({ port, raw, from, to }) =>
  accepted(
    await run(OPEN_SMTPD, ['-C', '-s', `smtp://127.0.0.1:${port}`, '-H', HELO, '-F', from, to], raw),
    `${to}: EOM: 250 `,
  );

const EXIM = join(UNPACKED, 'usr/sbin/exim4');

const eximConfiguration = (folder: string, port: number): string => `exim_path = ${EXIM}
primary_hostname = ${HELO}
spool_directory = ${folder}/spool
log_file_path = ${folder}/spool/%s.log
exim_user = nobody
exim_group = nogroup
keep_environment =
begin routers
all:
  driver = manualroute
  route_list = * 127.0.0.1
  self = send
  transport = out
begin transports
out:
  driver = smtp
  port = ${port}
  hosts_try_dane =
  tls_verify_certificates =
`;

const idOf = (flag: '-u' | '-g', user: string): number => Number(execFileSync('id', [flag, user]));

const exim: SendMail = ({ port, raw, from, to }) =>
  withFolder(async (folder) => {
    const spool = join(folder, 'spool');
    mkdirSync(spool);
    chownSync(spool, idOf('-u', 'nobody'), idOf('-g', 'nobody'));
    writeFileSync(join(folder, 'conf'), eximConfiguration(folder, port));
    // Verbose, in the foreground, and without a message about a failure.
    const printed = await run(EXIM, ['-C', join(folder, 'conf'), '-v', '-odf', '-oi', '-oem', '-f', from, to], raw);
    return accepted(printed, `=> ${to} `);
  });

const isInstalled = (name: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`]);
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
};

interface Sender {
  readonly name: string;
  readonly isMissing: boolean;
  readonly send: SendMail;
}

const sender = (name: string, program: string, send: SendMail): Sender => ({
  name,
  isMissing: !isInstalled(program) && process.env.CI_ENGINES !== 'required',
  send,
});

export const MAIL_SENDERS: readonly Sender[] = [
  sender('swaks', 'swaks', swaks),
  sender('OpenSMTPD', OPEN_SMTPD, openSmtpd),
  sender('Exim', EXIM, exim),
];
