import { createTransport } from 'nodemailer';
import type { Closers } from '../../src/composition/lifecycle.ts';
import { SENDING_DOMAIN } from '../harness/provision.ts';

/** Same number as the service uses. */
const SESSIONS = 20;

interface Sample {
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly html: string;
}

export interface NodemailerPoolOptions {
  readonly port: number;
  /** RSA key in PEM for nodemailer's own signer; null: no signatures. */
  readonly privateKey: string | null;
}

/** Sends samples over kept sessions, without HTTP, queue or log. Nothing survives a crash. */
export const openNodemailerPool = (
  closers: Closers,
  { port, privateKey }: NodemailerPoolOptions,
): ((samples: readonly string[]) => Promise<void>) => {
  const transport = createTransport({
    pool: true,
    maxConnections: SESSIONS,
    maxMessages: Number.POSITIVE_INFINITY,
    host: '127.0.0.1',
    port,
    secure: false,
    ignoreTLS: true,
    ...(privateKey !== null && { dkim: { domainName: SENDING_DOMAIN, keySelector: 'bench', privateKey } }),
  });
  closers.add('nodemailer', async () => transport.close());
  return async (samples) => {
    const send = async (sample: string): Promise<void> => {
      const { from, to, subject, html } = JSON.parse(sample) as Sample;
      await transport.sendMail({ from, to, subject, html });
    };
    const rest = samples.values();
    const session = async (): Promise<void> => {
      for (const sample of rest) await send(sample);
    };
    await Promise.all(Array.from({ length: 2 * SESSIONS }, session));
  };
};
