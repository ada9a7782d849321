import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer, type SMTPServerAddress, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import type { Logger } from '../../async/async.ts';
import { type Bounding, boundConnections, type ConnectionBounds, type Connections, NEW_TLS_MS } from './connections.ts';

/** A negative reply as `smtp-server` expects it. @param text begins with the enhanced code (RFC 3463). */
export const smtpAnswer = (responseCode: number, text: string): Error =>
  Object.assign(new Error(text), { responseCode });

/** PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Behaviour of a listener's connections. */
export interface SmtpTask {
  /**
   * `RCPT TO:a@b` means `RCPT TO:<a@b>`, as devices and scripts write it. Absent: it is a syntax error (RFC 5321
   * §4.1.1.3).
   */
  readonly acceptsBareAddresses?: true;
  readonly bounds: ConnectionBounds;
  /** Name, limits and the handler of each command. */
  serve(connections: Pick<Connections, 'authenticated' | 'end'>): SMTPServerOptions;
}

export interface SmtpListenerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Absent: STARTTLS is not offered. */
  readonly tls?: TlsPair | undefined;
  /** `implicit`: from the first byte on (RFC 8314 §3), which needs a pair; otherwise by STARTTLS (RFC 3207). */
  readonly tlsBegins?: 'implicit' | 'asked';
  /** The network to which a client's address is counted. */
  networkOf(address: string): string;
  readonly logger: Logger;
}

export interface SmtpListener {
  readonly port: number;
  /** Takes effect from the next connection on. */
  useTls(tls: TlsPair): void;
  /** Stops accepting connections, and ends the open ones within the task's `closeTimeout`. */
  close(): Promise<void>;
}

type Envelopes = Pick<SMTPServerOptions, 'onMailFrom' | 'onRcptTo' | 'onData'>;
type Handlers = Pick<SMTPServerOptions, 'onConnect' | 'onMailFrom' | 'onRcptTo' | 'onData'>;

/** Rejects connections beyond the bounds, and records which ones are idle. */
const counted = (task: Handlers, connections: () => Connections): Handlers => ({
  onConnect: (session, callback) => {
    const refusal = connections().enter(session);
    if (refusal !== null) return callback(smtpAnswer(421, refusal));
    if (task.onConnect === undefined) return callback();
    task.onConnect(session, callback);
  },
  onMailFrom: (address, session, callback) => {
    connections().used(session);
    task.onMailFrom?.(address, session, callback);
  },
  onRcptTo: (address, session, callback) => {
    connections().used(session);
    task.onRcptTo?.(address, session, callback);
  },
  ...(task.onData === undefined
    ? {}
    : {
        onData: (stream, session, callback) => {
          const ended = connections().receives(session);
          task.onData?.(stream, session, (...reply) => {
            ended();
            callback(...reply);
          });
        },
      }),
});

/** Parameters of the offered extensions (RFC 1870, 3461, 4954, 6152, 6531, 8689). Their values are checked later. */
const MAIL_PARAMETERS = new Set(['SIZE', 'BODY', 'SMTPUTF8', 'RET', 'ENVID', 'AUTH', 'REQUIRETLS']);
const RCPT_PARAMETERS = new Set(['NOTIFY', 'ORCPT']);

/** RFC 5321 §4.1.1.11: ignoring an unknown parameter would ignore the client's request. */
const unknownParameter = ({ args }: SMTPServerAddress, known: ReadonlySet<string>): Error | null => {
  const unknown = Object.keys(args || {}).find((name) => !known.has(name));
  if (unknown === undefined) return null;
  return smtpAnswer(555, `5.5.4 the parameter ${unknown.replace(/[^!-~]/g, '?').slice(0, 100)} is not supported`);
};

/** Printable ASCII in quotes, per RFC 5321 §4.1.2. */
const QUOTED_LOCAL = /^"(?:[ !#-;=?-[\]-~]|\\[ -;=?-~])+"$/;
const QUOTED_PATH = /^((?:rcpt[ \t]+to|mail[ \t]+from)[ \t]*:[ \t]*<)("(?:[ !#-;=?-[\]-~]|\\[ -;=?-~])+")(@[^@]*)$/is;
/** Replacement within a command: no atom contains a backslash. */
const STAND_IN = /^\\((?:[\da-f]{2})+)(?=@)/;

/** The command with a quoted local part as digits: for `smtp-server`, a space or an `@` in it ends the address. */
const withStandIn = (command: string): string =>
  command.replace(
    QUOTED_PATH,
    (_, before: string, local: string, after: string) =>
      `${before}\\${Buffer.from(local, 'latin1').toString('hex')}${after}`,
  );

const asWritten = <Address extends SMTPServerAddress>(read: Address): Address => {
  const digits = STAND_IN.exec(read.address)?.[1];
  const local = digits === undefined ? '' : Buffer.from(digits, 'hex').toString('latin1');
  return QUOTED_LOCAL.test(local) ? { ...read, address: read.address.replace(STAND_IN, () => local) } : read;
};

const sessionAsWritten = (session: SMTPServerSession): SMTPServerSession => {
  const { envelope } = session;
  const mailFrom = envelope.mailFrom === false ? false : asWritten(envelope.mailFrom);
  return { ...session, envelope: { ...envelope, mailFrom, rcptTo: envelope.rcptTo.map(asWritten) } };
};

const understood = ({ onMailFrom, onRcptTo, onData }: SMTPServerOptions): Partial<Envelopes> => ({
  onMailFrom: (address, session, callback) => {
    const unknown = unknownParameter(address, MAIL_PARAMETERS);
    if (unknown !== null || onMailFrom === undefined) return callback(unknown);
    onMailFrom(asWritten(address), session, callback);
  },
  onRcptTo: (address, session, callback) => {
    const unknown = unknownParameter(address, RCPT_PARAMETERS);
    if (unknown !== null || onRcptTo === undefined) return callback(unknown);
    onRcptTo(asWritten(address), session, callback);
  },
  ...(onData && { onData: (stream, session, callback) => onData(stream, sessionAsWritten(session), callback) }),
});

const BARE_PATH = /^((?:rcpt[ \t]+to|mail[ \t]+from)[ \t]*:[ \t]*)([^\s<>]+)(.*)$/is;

/** The command with its address in angle brackets. */
const bracketed = (command: string): string => command.replace(BARE_PATH, '$1<$2>$3');

/** Rewrites commands with addresses on each new connection into a form that `smtp-server` can read. */
const rewriteAddresses = (server: SMTPServer, acceptsBare: boolean): void => {
  const rewritten = (command: Buffer): Buffer => {
    const text = command.toString('latin1');
    return Buffer.from(withStandIn(acceptsBare ? bracketed(text) : text), 'latin1');
  };
  const connect = server.connect.bind(server);
  server.connect = (socket, options) => {
    const before = new Set(server.connections);
    connect(socket, options);
    for (const connection of server.connections) {
      if (before.has(connection)) continue;
      const [mail, rcpt] = [connection.handler_MAIL.bind(connection), connection.handler_RCPT.bind(connection)];
      connection.handler_MAIL = (command, callback) => mail(rewritten(command), callback);
      connection.handler_RCPT = (command, callback) => rcpt(rewritten(command), callback);
    }
  };
};

const createServer = (
  { serve, bounds, acceptsBareAddresses }: SmtpTask,
  { tls, tlsBegins, networkOf, logger }: SmtpListenerOptions,
): SMTPServer => {
  const current = (): Connections => connections;
  const options = serve({
    authenticated: (peer, organizationId) => current().authenticated(peer, organizationId),
    end: (peer) => current().end(peer),
  });
  const disabled = [...(options.disabledCommands ?? []), ...(tls === undefined ? ['STARTTLS'] : [])];
  const server = new SMTPServer({
    ...options,
    ...(tls ?? {}),
    ...(tlsBegins === 'implicit' ? { secure: true } : {}),
    disabledCommands: disabled,
    disableReverseLookup: true,
    logger: false,
    ...counted({ ...options, ...understood(options) }, current),
  });
  rewriteAddresses(server, acceptsBareAddresses === true);
  const dismiss: Bounding['dismiss'] = ({ id }, refusal) => {
    for (const connection of server.connections) if (connection.id === id) connection.send(421, refusal);
  };
  const connections = boundConnections(server.server, bounds, { networkOf, dismiss });
  server.on('error', (error) => logger.debug({ err: error }, 'an SMTP session failed'));
  return server;
};

/** Listens for SMTP. @throws any error of `listen`. */
export const startSmtpListener = async (task: SmtpTask, options: SmtpListenerOptions): Promise<SmtpListener> => {
  const server = createServer(task, options);
  const listening = server.listen(options.port, options.host);
  await once(listening, 'listening');
  return {
    port: (listening.address() as AddressInfo).port,
    useTls: (tls) => server.updateSecureContext(tls),
    close: async () => {
      server.server.close(); // no more connections
      await sleep(NEW_TLS_MS);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
