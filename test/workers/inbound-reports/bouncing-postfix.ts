import { execFile, execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BOUNCE_DOMAIN } from './receiving.ts';

const run = promisify(execFile);

export const isPostfixInstalled = (): boolean => {
  try {
    execFileSync('sh', ['-c', 'command -v postfix && test "$(id -u)" = 0'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

interface Ports {
  /** Port on which it accepts mail. */
  readonly port: number;
  /** Port to which it delivers reports. */
  readonly bouncePort: number;
  /** The only domain whose mail it delivers, to that port. Default: that of reports. */
  readonly domain?: string;
}

const mainCf = (folder: string, { bouncePort, domain = BOUNCE_DOMAIN }: Ports): string => `compatibility_level = 3.6
queue_directory = ${folder}/spool
data_directory = ${folder}/data
maillog_file = ${folder}/log
maillog_file_prefixes = ${folder}
myhostname = relay.example.net
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
alias_database =
disable_dns_lookups = yes
smtpd_reject_unlisted_recipient = no
default_transport = error:5.1.1 User unknown
transport_maps = inline:{ { ${domain} = smtp:[127.0.0.1]:${bouncePort} }, { later.example.org = retry:4.3.0 not now } }
`;

const masterCf = ({ port }: Ports): string =>
  [
    `127.0.0.1:${port} inet n - n - - smtpd`,
    ...['cleanup unix n - n - 0 cleanup', 'qmgr unix n - n 300 1 qmgr', 'rewrite unix - - n - - trivial-rewrite'],
    ...['bounce unix - - n - 0 bounce', 'defer unix - - n - 0 bounce', 'trace unix - - n - 0 bounce'],
    ...['error unix - - n - - error', 'retry unix - - n - - error', 'smtp unix - - n - - smtp'],
    ...['proxymap unix - - n - - proxymap', 'anvil unix - - n - 1 anvil', 'postlog unix-dgram n - n - 1 postlogd'],
    '',
  ].join('\n');

/** A real Postfix that accepts all mail and delivers none, so that it sends reports. */
export const openBouncingPostfix = async (ports: Ports): Promise<{ close(): Promise<void> }> => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-postfix-'));
  await chmod(folder, 0o755);
  const etc = join(folder, 'etc');
  for (const path of [etc, join(folder, 'spool'), join(folder, 'data')]) await mkdir(path);
  await chown(join(folder, 'data'), Number((await run('id', ['-u', 'postfix'])).stdout), 0);
  await writeFile(join(etc, 'main.cf'), mainCf(folder, ports));
  await writeFile(join(etc, 'master.cf'), masterCf(ports));
  await run('postfix', ['-c', etc, 'start']);
  const pid = Number(await readFile(join(folder, 'spool', 'pid', 'master.pid'), 'utf8'));
  return {
    close: async () => {
      process.kill(pid, 'SIGTERM');
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
};
