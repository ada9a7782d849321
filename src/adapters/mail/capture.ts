import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { domainToASCII } from 'node:url';
import { SMTPServer, type SMTPServerAddress, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import type { Environment } from '../../domain/kernel/environment.ts';
import { SANDBOX_DOMAIN, type SandboxAddress, sandboxAddress } from '../../domain/message/attempt.ts';
import type {
  Inbox,
  MailTransport,
  OutgoingMail,
  RecipientOutcome,
  Reply,
  SendOptions,
} from '../../domain/ports/mail.ts';
import { type Logger, type System, withTurns } from '../../lib/async/async.ts';

interface CaptureServerOptions {
  readonly inbox: Inbox;
  /** Environment whose mail is captured. Default: `live`. */
  readonly environment?: Environment;
  readonly system: System;
  readonly logger: Logger;
  /** 0 picks a free one. */
  readonly port?: number;
}

export interface CaptureServer {
  readonly port: number;
  /** `smtp://127.0.0.1:port`, for the transport. */
  readonly url: string;
  close(): Promise<void>;
}

/** Loopback only: any client that reaches it can fill the inbox. */
const HOST = '127.0.0.1';
/** The largest encoded message that the API accepts, with some room for its headers. */
const MESSAGE_BYTES_MAX = 26_500_000;
/** Concurrent clients, each of which may hold a message in memory. */
const CLIENTS_MAX = 100;
const IDLE_MS = 60_000;
const CLOSE_MS = 2_000;

class SmtpRefusal extends Error {
  readonly responseCode: number;
  constructor(responseCode: number, text: string) {
    super(text);
    this.responseCode = responseCode;
  }
}

const bytesOf = async (stream: SMTPServerDataStream): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of withTurns(stream as AsyncIterable<Buffer>)) {
    // The rest of an oversized message is read, as the protocol requires, but not kept.
    if (!stream.sizeExceeded) chunks.push(chunk);
  }
  if (stream.sizeExceeded) throw new SmtpRefusal(552, '5.3.4 the message is too large');
  return Buffer.concat(chunks);
};

/** The server shows domains in Unicode, although they were sent in A-labels. */
const asSent = ({ address }: SMTPServerAddress): string => {
  const at = address.lastIndexOf('@') + 1;
  return address.slice(0, at) + (domainToASCII(address.slice(at)) || address.slice(at));
};

/**
 * The built-in server that receives mail when it must not leave the machine. It speaks real SMTP (8BITMIME, SMTPUTF8,
 * PIPELINING, SIZE) and answers once the message is stored.
 */
export const startCaptureServer = async (options: CaptureServerOptions): Promise<CaptureServer> => {
  const { inbox, system, logger, environment = 'live' } = options;

  const keep = async (stream: SMTPServerDataStream, { envelope }: SMTPServerSession): Promise<string> => {
    const raw = await bytesOf(stream);
    const from = envelope.mailFrom === false ? '' : asSent(envelope.mailFrom);
    await inbox.store({ environment, from, to: envelope.rcptTo.map(asSent), raw, receivedAt: system.now() });
    return '2.0.0 Ok: captured';
  };

  const refusal = (error: unknown): Error => {
    if (error instanceof SmtpRefusal) return error;
    logger.error({ err: error }, 'could not store captured mail');
    return new SmtpRefusal(451, '4.3.0 the message could not be stored');
  };

  const server = new SMTPServer({
    name: 'capture.localhost',
    banner: 'captures mail',
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    size: MESSAGE_BYTES_MAX,
    maxClients: CLIENTS_MAX,
    socketTimeout: IDLE_MS,
    closeTimeout: CLOSE_MS,
    onData: (stream, session, callback) => {
      keep(stream, session).then(
        (text) => callback(null, text),
        (error: unknown) => callback(refusal(error)),
      );
    },
  });
  server.on('error', (error) => logger.debug({ err: error }, 'lost a session with the capturing mail server'));
  const listening = server.listen(options.port ?? 0, HOST);
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  return {
    port,
    url: `smtp://${HOST}:${port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

const ORDINARY: SandboxAddress = { fate: 'delivered', retryAfterSeconds: null };

const said = (recipientId: string, code: number, enhanced: string, text: string): Reply => ({
  recipientId,
  code,
  enhanced,
  mx: SANDBOX_DOMAIN,
  tls: null,
  text,
});

const simulate = (recipientId: string, address: string, attempt: number): RecipientOutcome => {
  const { fate, retryAfterSeconds } = sandboxAddress(address) ?? ORDINARY;
  const accepted = said(recipientId, 250, '2.0.0', 'simulated: accepted');
  switch (fate) {
    case 'delivered':
      return { outcome: 'delivered', ...accepted };
    case 'complained':
      return { outcome: 'delivered', complained: true, ...accepted };
    case 'bounced':
      return { outcome: 'bounced', ...said(recipientId, 550, '5.1.1', 'simulated: no such mailbox') };
    case 'suppressed':
      return { outcome: 'suppressed', ...said(recipientId, 0, '5.7.1', 'simulated: the address is suppressed') };
    case 'deferred': {
      if (attempt > 1) return { outcome: 'delivered', ...accepted };
      const deferred = said(recipientId, 451, '4.3.0', 'simulated: try again later');
      return { outcome: 'deferred', ...deferred, ...(retryAfterSeconds !== null && { retryAfterSeconds }) };
    }
    default:
      return fate satisfies never;
  }
};

/**
 * The transport of test keys. Nothing is sent: ordinary recipients are delivered, and sandbox addresses select their
 * outcome.
 * @param capture receives delivered mail, so that it can be inspected.
 */
export const createSimulatedTransport = (capture?: MailTransport): MailTransport => {
  /** Returns the simulated outcomes. If capturing fails, its outcome replaces them, and the message is retried. */
  const captured = async (
    capturing: MailTransport,
    mail: OutgoingMail,
    simulated: readonly RecipientOutcome[],
    options: SendOptions,
  ): Promise<readonly RecipientOutcome[]> => {
    const delivered = new Set(simulated.filter(({ outcome }) => outcome === 'delivered').map((one) => one.recipientId));
    if (delivered.size === 0) return simulated;
    const to = mail.envelope.to.filter(({ recipientId }) => delivered.has(recipientId));
    const told = await capturing.send({ ...mail, envelope: { ...mail.envelope, to } }, options);
    const failed = new Map(told.filter(({ outcome }) => outcome !== 'delivered').map((one) => [one.recipientId, one]));
    return simulated.map((one) => failed.get(one.recipientId) ?? one);
  };

  return {
    send: async (mail, options) => {
      const { envelope, attempt } = mail;
      const simulated = envelope.to.map(({ recipientId, address }) => simulate(recipientId, address, attempt));
      return capture === undefined ? simulated : captured(capture, mail, simulated, options);
    },
    close: async () => capture?.close(),
  };
};
