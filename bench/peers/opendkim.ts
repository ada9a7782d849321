import { spawn } from 'node:child_process';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Closers } from '../../src/composition/lifecycle.ts';
import { guard } from '../harness/guard.ts';
import { SENDING_DOMAIN } from '../harness/provision.ts';
import { until } from '../harness/until.ts';
import { rsaKey } from './rsa-key.ts';

/** Starts an OpenDKIM signer with an RSA-2048 key for the sending domain. @returns its socket. */
export const openOpendkim = async (closers: Closers, folder: string): Promise<string> => {
  await mkdir(folder, { mode: 0o755 });
  const socket = join(folder, 'socket');
  const keyFile = join(folder, 'key.pem');
  await writeFile(keyFile, rsaKey().export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  const config = [
    ...[`Socket local:${socket}`, 'UMask 000', 'Background no', 'Mode s', 'Canonicalization relaxed/simple'],
    ...[`Domain ${SENDING_DOMAIN}`, 'Selector bench', `KeyFile ${keyFile}`, 'RequireSafeKeys no', ''],
  ];
  await writeFile(join(folder, 'conf'), config.join('\n'));
  const child = spawn('opendkim', ['-f', '-x', join(folder, 'conf')], { stdio: 'ignore' });
  guard(closers, { pid: child.pid ?? 0, signal: 'TERM', folders: [] });
  await until('opendkim', () =>
    access(socket).then(
      () => true,
      () => false,
    ),
  );
  return socket;
};
