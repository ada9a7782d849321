import type { Closers } from '../../src/composition/closers.ts';
import { openChild } from './child.ts';

/** A mail server in a process of its own that takes everything. */
export interface SmtpSink {
  readonly port: number;
  readonly url: string;
  /** Messages taken so far. */
  count(): Promise<number>;
  /** Milliseconds since the epoch when the next message is answered 250. */
  next(): Promise<number>;
}

export const openSmtpSink = async (closers: Closers): Promise<SmtpSink> => {
  const child = await openChild<{ readonly port: number }>(closers, { name: 'smtp-sink' });
  const { port } = child.facts;
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    count: () => child.ask<number>('count'),
    next: () => child.ask<number>('next'),
  };
};
