import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface IssuedCertificate {
  /** PEM. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

export interface CertificateRequest {
  /** DNS names, the first of which is the subject. Empty or absent: a certificate authority. */
  readonly names?: readonly string[];
  readonly subject?: string;
  /** Signer. Absent: self-signed. */
  readonly issuer?: IssuedCertificate;
  /** Expired yesterday. */
  readonly isExpired?: boolean;
  /** Key algorithm. Default: P-256. */
  readonly algorithm?: 'ec' | 'rsa' | 'ed25519';
}

const KEYS = {
  ec: ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  rsa: ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  ed25519: ['-algorithm', 'ED25519'],
};

const extensions = (names: readonly string[]): string =>
  names.length === 0
    ? 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n'
    : `basicConstraints=critical,CA:FALSE\nsubjectAltName=${names.map((name) => `DNS:${name}`).join(',')}\n`;

/** Issues a certificate with openssl, valid for a week or expired yesterday. */
export const issueCertificate = (request: CertificateRequest): IssuedCertificate => {
  const { names = [], subject = names[0] ?? 'Authority', issuer, isExpired = false, algorithm = 'ec' } = request;
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  try {
    openssl('genpkey', ...KEYS[algorithm], '-out', 'key.pem');
    openssl('req', '-new', '-key', 'key.pem', '-subj', `/CN=${subject}`, '-out', 'request.pem');
    writeFileSync(file('extensions.cnf'), extensions(names));
    writeFileSync(file('issuer.pem'), issuer?.certificate ?? '');
    writeFileSync(file('issuer-key.pem'), issuer?.key ?? '');
    const signer = issuer === undefined ? ['-signkey', 'key.pem'] : ['-CA', 'issuer.pem', '-CAkey', 'issuer-key.pem'];
    const days = ['-days', isExpired ? '-1' : '7'];
    const output = ['-extfile', 'extensions.cnf', '-set_serial', String(Date.now()), '-out', 'certificate.pem'];
    openssl('x509', '-req', '-in', 'request.pem', ...signer, ...days, ...output);
    return {
      certificate: readFileSync(file('certificate.pem'), 'utf8'),
      key: readFileSync(file('key.pem'), 'utf8'),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
