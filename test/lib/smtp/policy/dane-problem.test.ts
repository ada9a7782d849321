import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { certificateKey, daneProblem, peerChain } from '../../../../src/lib/smtp/policy/dane.ts';
import { type IssuedCertificate, issueCertificate } from '../../../support/certificates.ts';

const MISMATCH = 'the certificate of the server matches none of the TLSA records';
const names = ['example.test', 'mx.test', 'mx.mail.test'];

const root = issueCertificate({ subject: 'Root' });
const middle = issueCertificate({ subject: 'Middle', issuer: root });
const leaf = issueCertificate({ names: ['mx.test'], issuer: middle, algorithm: 'rsa' });
const stranger = issueCertificate({ subject: 'Root' });

const der = ({ certificate }: IssuedCertificate): Buffer => new X509Certificate(certificate).raw;

type Part = 'certificate' | 'key';
type Digest = 'full' | 'sha256' | 'sha512';

const tlsa = (usage: number, issued: IssuedCertificate, part: Part, digest: Digest) => {
  const { raw, publicKey } = new X509Certificate(issued.certificate);
  const bytes = part === 'certificate' ? raw : publicKey.export({ type: 'spki', format: 'der' });
  return {
    usage,
    selector: part === 'certificate' ? 0 : 1,
    matchingType: { full: 0, sha256: 1, sha512: 2 }[digest],
    data: digest === 'full' ? bytes.toString('hex') : createHash(digest).update(bytes).digest('hex'),
  };
};

/** The chain that a real server presents to a real client. */
const shown = async (own: IssuedCertificate, ...above: readonly IssuedCertificate[]): Promise<readonly Buffer[]> => {
  const cert = [own, ...above].map(({ certificate }) => certificate).join('');
  const server = createServer({ cert, key: own.key }, (socket) => socket.on('error', () => undefined));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, servername: 'mx.test' });
  await once(socket, 'secureConnect');
  const chain = peerChain(socket.getPeerCertificate(true));
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  return chain;
};

const problem = (chain: readonly Buffer[], ...records: ReturnType<typeof tlsa>[]) =>
  daneProblem({ records, chain, names, nowMs: Date.now() });

const PARTS = (['certificate', 'key'] as const).flatMap((part) =>
  (['full', 'sha256', 'sha512'] as const).map((digest) => [part, digest] as const),
);

describe('the chain of a server', () => {
  test('is read in order, and not beyond its end', async () => {
    expect(await shown(leaf, middle, root)).toEqual([der(leaf), der(middle), der(root)]);
    expect(await shown(leaf)).toEqual([der(leaf)]);
  });

  test('of a server without certificates is empty', () => {
    expect(peerChain(undefined)).toEqual([]);
    expect(daneProblem({ records: [tlsa(3, leaf, 'key', 'sha256')], chain: [], names, nowMs: 0 })).toMatch(
      /no certificate/,
    );
  });
});

describe.each(PARTS)('a record of the %s (%s)', (part, digest) => {
  test('of the end entity concerns only the certificate of the server', async () => {
    const chain = await shown(leaf, middle, root);
    expect(problem(chain, tlsa(3, leaf, part, digest))).toBeNull();
    expect(problem(chain, tlsa(3, stranger, part, digest), tlsa(3, leaf, part, digest))).toBeNull();
    expect(problem(chain, tlsa(3, middle, part, digest))).toBe(MISMATCH);
  });

  test('of a trust anchor concerns those that have signed it', async () => {
    const chain = await shown(leaf, middle, root);
    expect(problem(chain, tlsa(2, root, part, digest))).toBeNull();
    expect(problem(chain, tlsa(2, middle, part, digest))).toBeNull();
    expect(problem(chain, tlsa(2, leaf, part, digest))).toBe(MISMATCH);
    expect(problem(chain, tlsa(2, stranger, part, digest))).toBe(MISMATCH);
  });
});

describe('a record of the end entity', () => {
  test('requires neither name nor date', async () => {
    const old = issueCertificate({ names: ['elsewhere.test'], isExpired: true });
    expect(problem(await shown(old), tlsa(3, old, 'key', 'sha256'))).toBeNull();
  });

  test.each(['ec', 'rsa', 'ed25519'] as const)('may concern a key of %s', async (algorithm) => {
    const own = issueCertificate({ names: ['mx.test'], algorithm });
    expect(problem(await shown(own), tlsa(3, own, 'key', 'sha256'))).toBeNull();
    expect(problem(await shown(own), tlsa(3, leaf, 'key', 'sha256'))).toBe(MISMATCH);
  });
});

describe('a record of a trust anchor', () => {
  const anchor = tlsa(2, root, 'key', 'sha256');

  test('requires a certificate with one of the names', () => {
    const other = issueCertificate({ names: ['elsewhere.test'], issuer: root });
    const byDomain = issueCertificate({ names: ['example.test'], issuer: root });
    const byWildcard = issueCertificate({ names: ['*.mail.test'], issuer: root });
    expect(problem([der(other), der(root)], anchor)).toBe(MISMATCH);
    expect(problem([der(byDomain), der(root)], anchor)).toBeNull();
    expect(problem([der(byWildcard), der(root)], anchor)).toBeNull();
  });

  test('requires certificates that are in force', () => {
    const old = issueCertificate({ names: ['mx.test'], issuer: root, isExpired: true });
    const oldMiddle = issueCertificate({ subject: 'Middle', issuer: root, isExpired: true });
    const below = issueCertificate({ names: ['mx.test'], issuer: oldMiddle });
    expect(problem([der(old), der(root)], anchor)).toBe(MISMATCH);
    expect(problem([der(below), der(oldMiddle), der(root)], anchor)).toBe(MISMATCH);
    const chain = [leaf, middle, root].map(der);
    expect(problem(chain, anchor)).toBeNull();
    const tooEarly = Date.now() - 7 * 86_400_000;
    expect(daneProblem({ records: [anchor], chain, names, nowMs: tooEarly })).toBe(MISMATCH);
  });

  test('requires signatures, not only the presence of the anchor', () => {
    expect(problem([der(leaf), der(root)], anchor)).toBe(MISMATCH);
    const forged = issueCertificate({ names: ['mx.test'], issuer: stranger });
    expect(problem([der(forged), der(root)], anchor)).toBe(MISMATCH);
  });

  test('requires authorities: one server does not vouch for another', () => {
    const own = issueCertificate({ names: ['good.test'], issuer: root });
    const below = issueCertificate({ names: ['mx.test'], issuer: own });
    expect(problem([der(below), der(own), der(root)], anchor)).toBe(MISMATCH);
  });

  test('with the whole certificate may replace one that the server does not send', async () => {
    const chain = await shown(leaf, middle);
    expect(problem(chain, tlsa(2, root, 'certificate', 'full'))).toBeNull();
    expect(problem(chain, tlsa(2, stranger, 'certificate', 'full'))).toBe(MISMATCH);
    expect(problem(chain, anchor)).toBe(MISMATCH);
  });
});

test('without usable records any certificate is accepted', () => {
  expect(problem([der(stranger)])).toBeNull();
  expect(problem([Buffer.from('nonsense')])).toBeNull();
});

test('an invalid certificate matches nothing, and breaks nothing', () => {
  const records = [
    tlsa(3, leaf, 'key', 'sha256'),
    tlsa(2, root, 'certificate', 'full'),
    tlsa(2, root, 'key', 'sha512'),
  ];
  const whole = der(leaf);
  for (let length = 0; length < whole.length; length += 7) {
    expect(problem([whole.subarray(0, length), der(middle)], ...records)).toBe(MISMATCH);
  }
  expect(problem([Buffer.alloc(10_000_000, 0x30), Buffer.alloc(0)], ...records)).toBe(MISMATCH);
  expect(problem([der(leaf)], { usage: 2, selector: 0, matchingType: 0, data: 'zz' })).toBe(MISMATCH);
  expect(() => certificateKey(Buffer.alloc(40, 0xff))).toThrow(RangeError);
});
