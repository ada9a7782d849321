import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerAddress, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import type { ReturnedMail } from '../../domain/bounce/report.ts';
import type { Logger } from '../../domain/logger.ts';
import { type ReturnToken, readReturnPath } from '../../domain/message/return-path.ts';
import { boundConnections } from './bound-connections.ts';
import type { ReturnedMailReader } from './returned-mail-reader.ts';

/** A mail that came back, as its envelope and its parts tell. */
export interface Received {
  /** Of the addresses that it came to; null: the one for feedback loops. */
  readonly tokens: readonly (ReturnToken | null)[];
  readonly mail: ReturnedMail;
}

export interface ReturnedMailListenerOptions {
  /** `BOUNCE_DOMAIN`, lower case. */
  readonly domain: string;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Resolves once what follows from it is in the log, or nothing does. Rejects: it must be brought again. */
  take(received: Received): Promise<void>;
  readonly reader: ReturnedMailReader;
  readonly logger: Logger;
}

export interface ReturnedMailListener {
  readonly port: number;
  close(): Promise<void>;
}

/** The address for feedback loops that mail to one address for all. */
const FEEDBACK_LOCAL_PART = 'fbl';
/** A customer's own return path: a CNAME of ours, `bounces.example.com`. */
const ALIAS_PREFIX = 'bounces.';
/** What of a mail is kept: a report stands before the message that it returns. Less could lose one, more is memory. */
const KEPT_BYTES_MAX = 1_000_000;
/** As long as the largest message we send, encoded and returned with a report; more is not ours. */
const MAIL_BYTES_MAX = 50_000_000;
/** Each may hold what is kept of a mail in memory: 100 MB in all. Fewer makes others wait for slow ones. */
const CLIENTS_MAX = 100;
/** Reports are of one recipient, rarely of several; RFC 5321 §4.5.3.1.8 would have 100. */
const RECIPIENTS_MAX = 20;
/** Of one host: several others can still bring theirs. A large provider brings its reports one after another. */
const CLIENTS_PER_ADDRESS_MAX = 20;
const IDLE_MS = 60_000;
/** However busy: whoever sends a byte a minute has had his time. The largest takes a minute at 1 MB/s. */
const SESSION_MS_MAX = 600_000;
const CLOSE_MS = 2_000;

/** An answer, by its code. */
const answer = (responseCode: number, text: string): Error => Object.assign(new Error(text), { responseCode });

/** All of it is read, as the protocol wants; what follows after the limit is not kept. */
const beginningOf = async (stream: SMTPServerDataStream): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (length >= KEPT_BYTES_MAX) continue;
    chunks.push(chunk.subarray(0, KEPT_BYTES_MAX - length));
    length += chunk.length;
  }
  if (stream.sizeExceeded) throw answer(552, '5.3.4 the message is too large');
  return Buffer.concat(chunks);
};

/** undefined: nothing is received there. */
const tokenOf = ({ address }: Pick<SMTPServerAddress, 'address'>, domain: string): ReturnToken | null | undefined => {
  const at = address.lastIndexOf('@');
  const host = address.slice(at + 1).toLowerCase();
  if (host !== domain && !host.startsWith(ALIAS_PREFIX)) return undefined;
  const localPart = address.slice(0, at).toLowerCase();
  if (localPart === FEEDBACK_LOCAL_PART) return host === domain ? null : undefined;
  return readReturnPath(localPart) ?? undefined;
};

/**
 * Listens where mail comes back: delivery reports, complaints, unsubscriptions. Whatever comes, nothing is ever sent in
 * answer, so that no two machines write to each other. A mail is accepted when what follows from it is in the log.
 */
export const startReturnedMailListener = async (
  options: ReturnedMailListenerOptions,
): Promise<ReturnedMailListener> => {
  const { domain, host, port, reader, take, logger } = options;

  const receive = async (stream: SMTPServerDataStream, { envelope }: SMTPServerSession): Promise<void> => {
    const raw = await beginningOf(stream);
    const tokens = envelope.rcptTo.map((address) => tokenOf(address, domain)).filter((token) => token !== undefined);
    await take({ tokens, mail: await reader.read(raw) });
  };

  const refusal = (error: unknown): Error => {
    if (error instanceof Error && 'responseCode' in error) return error;
    logger.error({ err: error }, 'a mail that came back could not be recorded: it is to be brought again');
    return answer(451, '4.3.0 it could not be recorded: bring it again');
  };

  const server = new SMTPServer({
    name: domain,
    banner: 'receives what comes back, and answers nothing',
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    size: MAIL_BYTES_MAX,
    maxClients: CLIENTS_MAX,
    socketTimeout: IDLE_MS,
    closeTimeout: CLOSE_MS,
    onRcptTo: (address, { envelope }, callback) => {
      if (tokenOf(address, domain) === undefined) return callback(answer(550, '5.1.1 nothing is received there'));
      const isFull = envelope.rcptTo.length >= RECIPIENTS_MAX;
      callback(isFull ? answer(452, '4.5.3 too many recipients') : null);
    },
    onData: (stream, session, callback) => {
      receive(stream, session).then(
        () => callback(null, '2.0.0 Ok'),
        (error: unknown) => callback(refusal(error)),
      );
    },
  });
  server.on('error', (error) => logger.debug({ err: error }, 'a session that brought mail back broke'));
  const listening = server.listen(port, host);
  boundConnections(listening, { perAddress: CLIENTS_PER_ADDRESS_MAX, durationMs: SESSION_MS_MAX });
  await once(listening, 'listening');
  return {
    port: (listening.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};
