import { type Answer, encode, type Packet } from 'dns-packet';
import { FLAGS } from './dns-zone.ts';

/** A wrong way to answer a query. */
export type Misbehaviour =
  | 'silence'
  | 'SERVFAIL'
  | 'REFUSED'
  | 'FORMERR'
  /** TC over UDP, whatever the size. TCP answers correctly. */
  | 'truncated'
  /** TC over UDP. TCP accepts the connection and never answers. */
  | 'silent by tcp'
  | 'wrong id'
  | 'wrong question'
  /** A forged answer with another id arrives before the real one. */
  | 'forged first'
  /** The answer, with records of names that were not queried. */
  | 'spoofed extra'
  /** The right id, followed by noise. */
  | 'garbage'
  /** The answer, truncated in the middle. */
  | 'cut off'
  /** NXDOMAIN together with the records. */
  | 'contradiction'
  | 'referral';

const RCODES = { FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 };

const failure = (packet: Packet, rcode: number): Packet => ({ ...packet, flags: rcode, answers: [], authorities: [] });

const spoofed: Answer[] = [
  { type: 'MX', name: 'elsewhere.test', ttl: 60, data: { preference: 0, exchange: 'evil.test' } },
  { type: 'A', name: 'elsewhere.test', ttl: 60, data: '192.0.2.66' },
  { type: 'TXT', name: 'elsewhere.test', ttl: 60, data: 'evil' },
];

/** Datagrams sent over UDP instead of the correct answer. */
export const BY_UDP: Readonly<Record<Misbehaviour, (right: Packet) => readonly Buffer[]>> = {
  silence: () => [],
  SERVFAIL: (right) => [encode(failure(right, RCODES.SERVFAIL))],
  REFUSED: (right) => [encode(failure(right, RCODES.REFUSED))],
  FORMERR: (right) => [encode({ ...failure(right, RCODES.FORMERR), questions: [] })],
  truncated: (right) => [encode({ ...right, flags: (right.flags ?? 0) | FLAGS.tc, answers: [] })],
  'silent by tcp': (right) => [encode({ ...right, flags: (right.flags ?? 0) | FLAGS.tc, answers: [] })],
  'wrong id': (right) => [encode({ ...right, id: ((right.id ?? 0) + 1) & 0xffff })],
  'wrong question': (right) => [encode({ ...right, questions: [{ name: 'elsewhere.test', type: 'A' }] })],
  'forged first': (right) => [
    encode({ ...failure(right, RCODES.NXDOMAIN), id: ((right.id ?? 0) + 1) & 0xffff }),
    encode(right),
  ],
  'spoofed extra': (right) => [
    encode({ ...right, answers: [...spoofed, ...(right.answers ?? [])], additionals: spoofed }),
  ],
  garbage: (right) => {
    const message = Buffer.alloc(64, 0xfe);
    message.writeUInt16BE(right.id ?? 0);
    return [message];
  },
  'cut off': (right) => {
    const message = encode(right);
    return [message.subarray(0, message.length - 5)];
  },
  contradiction: (right) => [encode({ ...right, flags: (right.flags ?? 0) | RCODES.NXDOMAIN })],
  referral: (right) => [
    encode({ ...failure(right, 0), authorities: [{ type: 'NS', name: 'test', ttl: 60, data: 'ns.elsewhere.test' }] }),
  ],
};
