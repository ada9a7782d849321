import type { Closers } from '../../src/composition/lifecycle.ts';
import { openChild } from './child.ts';

/** A mail server in a process of its own that takes everything. */
export interface SmtpSink {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  /** Messages taken so far. */
  count(): Promise<number>;
  /** How many of them were signed by RSA since this was last asked. */
  takeSigned(): Promise<number>;
  /** Milliseconds since the epoch when the next message is answered 250. */
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
