import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestCertificate {
  readonly key: string;
  readonly cert: string;
}

/** Self-signed, for one host: to trust it as an authority is to trust the host. */
export const certificateFor = (host: string): TestCertificate => {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert];
  const name = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`, '-days', '2'];
  try {
    execFileSync('openssl', ['req', '-x509', ...made, ...name], { stdio: 'ignore' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
};
