import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DecodedPacket, decode, encode, type Packet, type Question } from 'dns-packet';
import { BY_UDP, type Misbehaviour } from './dns-misbehaviours.ts';
import { FLAGS, type NameData, rightAnswer, type Zone } from './dns-zone.ts';

interface AskedQuestion {
  readonly name: string;
  readonly type: string;
  readonly by: 'udp' | 'tcp';
  readonly id: number;
  /** Source port of the query. */
  readonly port: number;
  readonly wantsAuthentication: boolean;
  readonly edns: boolean;
}

/** A name server on loopback. It answers like a resolver for the names in its zone, and for no others. */
export interface TestNameServer {
  readonly address: '127.0.0.1';
  /** UDP and TCP. */
  readonly port: number;
  /** The address in the format of `DNS_SERVERS`. */
  readonly text: string;
  /** Every query so far, answered or not. */
  readonly asked: readonly AskedQuestion[];
  /** Replaces the data of these names and leaves the others unchanged. null: the name no longer exists. */
  change(names: Readonly<Record<string, NameData | null>>): void;
  close(): Promise<void>;
}

/** Limit for clients that do not announce a larger one (RFC 1035 §2.3.4). */
const UDP_BYTES_PLAIN = 512;

const framed = (message: Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
};

/** Binds UDP and TCP to one port. Another process may have bound the TCP port in between. */
const bindBoth = async () => {
  for (;;) {
    const udp = createSocket('udp4');
    const tcp = createServer();
    udp.bind(0, '127.0.0.1');
    await once(udp, 'listening');
    try {
      const listening = once(tcp, 'listening');
      tcp.listen(udp.address().port, '127.0.0.1');
      await listening;
      return { udp, tcp, port: (tcp.address() as AddressInfo).port };
    } catch {
      udp.close();
    }
  }
};

/**
 * Starts a name server. `close` may be called more than once.
 * @example
 * const server = await startNameServer({ 'example.test': { MX: [[10, 'mx.test']] }, 'bad.test': { wrong: 'SERVFAIL' } });
 * const resolver = createStubResolver({ system, servers: [server] });
 * server.change({ 'example.test': { TXT: ['v=spf1 -all'], authenticated: true } });
 */
export const startNameServer = async (names: Zone = {}): Promise<TestNameServer> => {
  const zone = new Map(Object.entries(names));
  const asked: AskedQuestion[] = [];
  const counts = new Map<string, number>();
  const open = new Set<Socket>();
  const closing = new AbortController();
  const { udp, tcp, port } = await bindBoth();

  const after = async (ms: number): Promise<void> => {
    if (ms > 0) await sleep(ms, undefined, { signal: closing.signal });
  };

  const note = (
    query: DecodedPacket,
    { name, type }: Question,
    by: 'udp' | 'tcp',
    from: number,
  ): Misbehaviour | null => {
    const key = `${type} ${name.toLowerCase()}`;
    const nth = counts.get(key) ?? 0;
    counts.set(key, nth + 1);
    const wantsAuthentication = ((query.flags ?? 0) & FLAGS.ad) !== 0;
    const edns = (query.additionals ?? []).some((record) => record.type === 'OPT');
    asked.push({ name: name.toLowerCase(), type, by, id: query.id ?? 0, port: from, wantsAuthentication, edns });
    const wrong = zone.get(name.toLowerCase())?.wrong;
    return typeof wrong === 'function' ? wrong(nth, type) : (wrong ?? null);
  };

  const fitting = (query: DecodedPacket, right: Packet): Buffer => {
    const message = encode(right);
    const opt = (query.additionals ?? []).find((record) => record.type === 'OPT');
    return message.length <= (opt?.udpPayloadSize ?? UDP_BYTES_PLAIN)
      ? message
      : encode({ ...right, flags: (right.flags ?? 0) | FLAGS.tc, answers: [] });
  };

  const byUdp = (query: DecodedPacket, right: Packet, wrong: Misbehaviour | null): readonly Buffer[] =>
    wrong === null ? [fitting(query, right)] : BY_UDP[wrong](right);

  const byTcp = (right: Packet, wrong: Misbehaviour | null): readonly Buffer[] => {
    if (wrong === 'silent by tcp') return [];
    return wrong === null || wrong === 'truncated' ? [encode(right)] : BY_UDP[wrong](right);
  };

  const answer = async (received: Buffer, by: 'udp' | 'tcp', from: number): Promise<readonly Buffer[]> => {
    const query = decode(received);
    const [question] = query.questions ?? [];
    if (question === undefined) return [];
    const wrong = note(query, question, by, from);
    await after(zone.get(question.name.toLowerCase())?.delayMs ?? 0);
    const right = rightAnswer(zone, query, question);
    return by === 'tcp' ? byTcp(right, wrong) : byUdp(query, right, wrong);
  };

  // Queries that are still pending when the server closes are never answered.
  const send = (messages: Promise<readonly Buffer[]>, write: (message: Buffer) => void): void => {
    messages.then(
      (all) => {
        if (!closing.signal.aborted) for (const message of all) write(message);
      },
      () => undefined,
    );
  };

  udp.on('message', (received, from) =>
    send(answer(received, 'udp', from.port), (message) => udp.send(message, from.port, from.address)),
  );
  tcp.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    // A query is small, and arrives in one chunk on loopback.
    socket.on('data', (chunk) =>
      send(answer(chunk.subarray(2), 'tcp', socket.remotePort ?? 0), (message) => socket.write(framed(message))),
    );
  });

  return {
    address: '127.0.0.1',
    port,
    text: `127.0.0.1:${port}`,
    asked,
    change: (changed) => {
      for (const [name, data] of Object.entries(changed)) {
        if (data === null) zone.delete(name);
        else zone.set(name, data);
      }
    },
    close: async () => {
      if (closing.signal.aborted) return;
      closing.abort();
      for (const socket of open) socket.destroy();
      udp.close();
      await new Promise((resolve) => tcp.close(resolve));
    },
  };
};
