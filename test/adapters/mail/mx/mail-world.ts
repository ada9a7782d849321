import { once } from 'node:events';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { createDirectTransport, type DirectTransportOptions } from '../../../../src/adapters/mail/mx/mx.ts';
import { createMxRoutes } from '../../../../src/adapters/mail/mx/routes.ts';
import { createSystem } from '../../../../src/adapters/system.ts';
import type { MailTransport, RecipientOutcome } from '../../../../src/domain/ports/mail.ts';
import { createStubResolver } from '../../../../src/lib/smtp/smtp.ts';
import { freePort } from '../../../support/free-port.ts';
import { startNameServer } from '../../../support/name-server.ts';
import {
  type Script,
  type ScriptedServerOptions,
  startScriptedServer,
} from '../../../support/scripted-smtp-server/scripted-server.ts';
import { createRecordingLogger } from '../../../workers/recording-logger.ts';
import { type MailParts, outgoingMail } from '../outgoing-mail.ts';

export const system = createSystem();

/** A message that a server on loopback received. */
interface TakenPort {
  readonly to: readonly string[];
  readonly secure: boolean;
  /** Source IP address. */
  readonly from: string;
}

/**
 * Mail servers with separate addresses and one port, as on the Internet, with DNS records and transports that deliver
 * to them.
 */
export const createMailWorld = async () => {
  const port = await freePort();
  const closing: (() => Promise<void>)[] = [];
  const dns = await startNameServer();
  const resolver = createStubResolver({ system, servers: [{ address: dns.address, port: dns.port }], timeoutMs: 300 });
  closing.push(dns.close, resolver.close);

  const transport = (options: Partial<DirectTransportOptions> = {}): MailTransport => {
    const ehloName = options.ehloName ?? 'sender.a.test';
    const opened = createDirectTransport({
      routes: createMxRoutes({ resolver, system, ehloName }),
      resolver,
      system,
      logger: createRecordingLogger(),
      ehloName,
      port,
      sourceAddresses: [],
      allowPrivate: true,
      connectMs: 2_000,
      security: { ofDomain: async () => async () => ({ tls: { required: false, check: 'none' }, key: '' }) },
      ...options,
    });
    closing.push(opened.close);
    return opened;
  };

  return {
    port,
    dns,
    resolver,
    transport,

    /** A server that accepts all mail, unless `options` say otherwise. */
    startServer: async (address: string, options: SMTPServerOptions = {}) => {
      const taken: TakenPort[] = [];
      let connections = 0;
      const server = new SMTPServer({
        authOptional: true,
        disableReverseLookup: true,
        closeTimeout: 100,
        onConnect: (_session, callback) => {
          connections += 1;
          callback();
        },
        onData: (stream, { envelope, secure, remoteAddress }, callback) => {
          const to = envelope.rcptTo.map((rcpt) => rcpt.address);
          stream.resume().on('end', () => {
            taken.push({ to, secure, from: remoteAddress });
            callback();
          });
        },
        ...options,
      });
      server.on('error', () => undefined);
      await once(server.listen(port, address), 'listening');
      const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
      closing.push(close);
      return { taken, connections: () => connections, close };
    },

    startScripted: async (address: string, script: Script, more: ScriptedServerOptions = {}) => {
      const server = await startScriptedServer(script, { host: address, port, ...more });
      closing.push(server.close);
      return server;
    },

    close: async (): Promise<void> => {
      for (const close of closing.splice(0).reverse()) await close();
    },
  };
};

export type MailWorld = Awaited<ReturnType<typeof createMailWorld>>;

/** Sends a message and returns the outcome for each recipient. */
export const send = (
  transport: MailTransport,
  parts: MailParts = {},
  waitMs = 10_000,
): Promise<readonly RecipientOutcome[]> =>
  transport.send(outgoingMail(parts), { deadlineMs: system.monotonicMs() + waitMs });

/** An error in the format of `smtp-server`. */
export const refusal = (responseCode: number, text: string): Error => Object.assign(new Error(text), { responseCode });
