import { z } from 'zod';

/** Where DNS is asked. */
export interface NameServer {
  /** IPv4 or IPv6. */
  readonly address: string;
  readonly port: number;
}

const PORT = 53;
/** With a port, an IPv6 address stands in brackets. */
const WITH_PORT = /^(?:\[([^[\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/;
const ADDRESS = z.union([z.ipv4(), z.ipv6()]);

/** Of `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; whether it is one is not looked at. */
export const readNameServer = (text: string): NameServer => {
  const [, bracketed, plain, port = PORT] = WITH_PORT.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: Number(port) };
};

export const isNameServer = (text: string): boolean => {
  const { address, port } = readNameServer(text);
  return ADDRESS.safeParse(address).success && port > 0 && port <= 65_535;
};
