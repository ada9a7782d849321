import { z } from 'zod';

/** Address of a name server. */
export interface NameServer {
  /** IPv4 or IPv6. */
  readonly address: string;
  readonly port: number;
}

const PORT = 53;
/** An IPv6 address with a port must be in brackets. */
const WITH_PORT = /^(?:\[([^[\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/;
const ADDRESS = z.union([z.ipv4(), z.ipv6()]);

/** Reads `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. The address itself is not validated. */
export const readNameServer = (text: string): NameServer => {
  const [, bracketed, plain, port = PORT] = WITH_PORT.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: Number(port) };
};

export const isNameServer = (text: string): boolean => {
  const { address, port } = readNameServer(text);
  return ADDRESS.safeParse(address).success && port > 0 && port <= 65_535;
};
