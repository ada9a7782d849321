import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Writes a self-signed certificate for `localhost` and its key. */
export const writeTlsPair = async (folder: string): Promise<TlsPair> => {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-keyout', key, '-out', cert],
  ]);
  return { cert, key };
};

/** The contents of such files. */
export const makeTlsPair = async (): Promise<TlsPair> => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-tls-'));
  try {
    const { cert, key } = await writeTlsPair(folder);
    return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
  } finally {
    await rm(folder, { recursive: true });
  }
};
