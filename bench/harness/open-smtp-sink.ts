import type { Closers } from '../../src/composition/lifecycle.ts';
import { openChild } from './child.ts';

/** A mail server in its own process that accepts everything. */
export interface SmtpSink {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  /** Number of messages accepted so far. */
  count(): Promise<number>;
  /** Number of RSA-signed messages since the last call. */
  takeSigned(): Promise<number>;
  /** Unix time in milliseconds when the next message gets its 250. */
  next(): Promise<number>;
}

export const openSmtpSink = async (closers: Closers): Promise<SmtpSink> => {
  const child = await openChild<{ readonly port: number }>(closers, { name: 'smtp-sink' });
  const { port } = child.facts;
  return {
    pid: child.pid,
    port,
    url: `smtp://127.0.0.1:${port}`,
    count: () => child.ask<number>('count'),
    takeSigned: () => child.ask<number>('takeSigned'),
    next: () => child.ask<number>('next'),
  };
};
