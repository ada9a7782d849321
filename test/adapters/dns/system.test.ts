import { createSocket } from 'node:dgram';
import { afterEach, describe, expect, test } from 'vitest';
import { createSystemResolver } from '../../../src/adapters/dns/system.ts';
import { ResolverUnavailable } from '../../../src/domain/resolver.ts';

const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

interface DnsAnswer {
  /** RFC 1035 §4.1.1: 0 no error, 2 server failure, 3 no such name. */
  readonly rcode: number;
  /** Each record's strings. */
  readonly txt?: readonly (readonly string[])[];
}

const TXT = 16;
const HEADER_BYTES = 12;

const record = (strings: readonly string[]): Buffer => {
  const data = Buffer.concat(strings.map((each) => Buffer.concat([Buffer.from([each.length]), Buffer.from(each)])));
  const head = Buffer.from([0xc0, HEADER_BYTES, 0, TXT, 0, 1, 0, 0, 0, 60, data.length >> 8, data.length & 0xff]);
  return Buffer.concat([head, data]);
};

const reply = (query: Buffer, { rcode, txt = [] }: DnsAnswer): Buffer => {
  const questionEnd = query.indexOf(0, HEADER_BYTES) + 5;
  const header = Buffer.from(query.subarray(0, HEADER_BYTES));
  header.writeUInt16BE(0x8180 | rcode, 2);
  header.writeUInt16BE(txt.length, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, questionEnd), ...txt.map(record)]);
};

/** A name server of our own: what it says to any question; null: nothing. */
const nameServer = async (answer: DnsAnswer | null): Promise<string> => {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    if (answer !== null) socket.send(reply(query, answer), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  closers.push(() => socket.close());
  return `127.0.0.1:${socket.address().port}`;
};

const ask = async (answer: DnsAnswer | null): Promise<readonly string[]> =>
  (await createSystemResolver({ servers: [await nameServer(answer)] }).txt('_outbox.example.com')).records;

describe('TXT records of a name', () => {
  test('are returned with the strings of each joined', async () => {
    expect(await ask({ rcode: 0, txt: [['outbox-', 'verification=1'], ['v=spf1 -all']] })).toEqual([
      ...['outbox-verification=1', 'v=spf1 -all'],
    ]);
  });

  test('are none where the name does not exist or has no such record', async () => {
    expect(await ask({ rcode: 3 })).toEqual([]);
    expect(await ask({ rcode: 0 })).toEqual([]);
  });

  test('are unknown, which is not none, where the server fails or is silent', async () => {
    await expect(ask({ rcode: 2 })).rejects.toThrow(ResolverUnavailable);
    await expect(ask(null)).rejects.toThrow(ResolverUnavailable);
  });
});
