import type { SMTPServerAddress, SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import { isWithin, parseRange } from '../domain/kernel/addresses.ts';
import { errorAnswer } from '../http/errors.ts';
import { withTimeout } from '../lib/async/async.ts';
import { parseMailbox } from '../lib/mime/mime.ts';
import {
  authenticateKey,
  authorizeMessage,
  authRefusal,
  MESSAGE_BYTES_MAX,
  messageRefusal,
  type Principal,
  receiveMessage,
  SmtpRefusal,
  type SubmissionContext,
  submitMessage,
} from './submit-message.ts';
import { RECIPIENTS_MAX } from './submitted-body.ts';

export interface SubmissionOptions {
  /** false: only clients on loopback are accepted. */
  readonly hasTls: boolean;
  /** Name in the greeting. Absent: the host name. */
  readonly name?: string | undefined;
  /** Networks from which plaintext AUTH is accepted. Default: loopback; tests set others. */
  readonly plaintextNetworks?: readonly string[];
  /** Shorter in tests. */
  readonly times?: { readonly authMs?: number; readonly dataMs?: number };
}

/** The connections of the listener. */
interface Connections {
  /** Ends the time limit for authentication. @returns why the organization gets no more connections; null: it does. */
  authenticated(session: SMTPServerSession, organizationId: string): string | null;
  /** Closes the connection at once. */
  end(session: SMTPServerSession): void;
}

/** Options of the listener. */
export interface Submission {
  readonly acceptsBareAddresses: true;
  readonly bounds: Readonly<Record<'max' | 'perNetwork' | 'perOrganization' | 'authMs' | 'durationMs', number>>;
  serve(connections: Connections): SMTPServerOptions;
}

const LOOPBACK = ['127.0.0.0/8', '::1'];
/** Each costs some kilobytes. More: memory and file descriptors. Fewer: clients of busy hours lose idle connections. */
const CONNECTIONS_MAX = 500;
/** Not authenticated. More: strangers hold more of all. Fewer: programs behind one address that connect together are cut off. */
const CONNECTIONS_PER_NETWORK_MAX = 100;
/** Pools of several busy programs. More: less is left for others. Fewer: one with many programs waits for its own. */
const CONNECTIONS_PER_ORGANIZATION_MAX = 200;
/** Time to authenticate. Longer lets unauthenticated clients hold connections, shorter refuses clients on slow lines. */
const AUTH_MS_MAX = 60_000;
/** Pools reconnect. Without it a busy connection would never end. */
const CONNECTION_MS_MAX = 3_600_000;
/** RFC 5321 §4.5.3.2.7 asks for five minutes; a client that is silent for one has mostly gone, and pools reconnect. */
const IDLE_MS = 60_000;
/** 25 MB at 0.7 Mbit/s. Longer lets slow clients hold memory that others wait for. */
const DATA_MS_MAX = 300_000;
/** The same as for HTTP. Clients wait ten minutes (RFC 5321 §4.5.3.2.6). */
const DEADLINE_MS = 15_000;
/** Time for messages in flight to be answered on shutdown. */
const CLOSE_MS = 5_000;
/** RFC 5321 §4.5.3.1.4 asks for 512 octets; a key in base64 and long addresses fit several times. */
const COMMAND_BYTES_MAX = 4_096;
/** Joke commands of `smtp-server`. */
const JOKE_COMMANDS = ['WIZ', 'SHELL', 'KILL'];

/** RFC 4954 §6, its enhanced code with it. */
const AUTHENTICATION_REQUIRED = '5.7.0 Authentication required';

type Callback = (error?: Error | null) => void;

/** Passes the result of a promise to a callback of `smtp-server`; an error becomes a reply. */
const answer = (work: Promise<unknown>, callback: Callback, refuse: (error: unknown) => SmtpRefusal): void => {
  work.then(
    () => callback(),
    (error: unknown) => callback(refuse(error)),
  );
};

const principalOf = ({ user, secure }: SMTPServerSession): Principal => {
  if (user !== undefined && user !== false) return user as Principal;
  // RFC 3207 §4, RFC 4954 §6.
  throw new SmtpRefusal(530, secure ? AUTHENTICATION_REQUIRED : '5.7.0 Must issue a STARTTLS command first');
};

/** Owner of the bytes that a message reserves. */
const organizationOf = ({ user, remoteAddress }: SMTPServerSession): string =>
  user !== undefined && user !== false ? (user as Principal).organizationId : remoteAddress;

/** `SIZE` (RFC 1870), checked by the server; null: absent. */
const declaredBytes = ({ envelope: { mailFrom } }: SMTPServerSession): number | null => {
  const { SIZE: size } = (mailFrom === false ? false : mailFrom.args) || {};
  return size === undefined ? null : Number(size);
};

const requireMailbox = ({ address }: SMTPServerAddress): string => {
  const parsed = parseMailbox(address);
  if (typeof parsed === 'string') throw new SmtpRefusal(553, `5.1.3 not an email address: ${parsed}`);
  return parsed.address;
};

/** Plaintext AUTH is accepted on loopback only. Other clients are offered AUTH after STARTTLS. */
const restrictPlaintext = (session: SMTPServerSession, options: SubmissionOptions): void => {
  const ranges = (options.plaintextNetworks ?? LOOPBACK).map(parseRange).filter((range) => range !== null);
  if (isWithin(ranges, session.remoteAddress)) return;
  if (!options.hasTls) {
    throw new SmtpRefusal(
      554,
      '5.7.0 only clients on this machine are accepted, because the service has no TLS certificate',
    );
  }
  session.disabledCommands = [...JOKE_COMMANDS, 'AUTH'];
};

/**
 * Message submission (RFC 6409), with the same keys, limits, checks and command as
 * `POST /v1/messages/send`. Uses the API's key cache, which must be ready before this listens.
 */
export const createSubmission = (submission: SubmissionContext, options: SubmissionOptions): Submission => {
  const { auth, bodies, deps } = submission;
  const { context, logger } = deps;

  const refusalOf = (error: unknown, requestId: string | null = null): SmtpRefusal => {
    if (error instanceof SmtpRefusal) return error;
    if (errorAnswer(error).fault) logger.error({ err: error, requestId }, 'a submission failed');
    return messageRefusal(error);
  };

  const authenticate =
    (connections: Connections): Required<SMTPServerOptions>['onAuth'] =>
    ({ password }, session, callback) => {
      authenticateKey(auth, password ?? '', session.remoteAddress).then(
        (user) => {
          const refusal = connections.authenticated(session, user.organizationId);
          if (refusal === null) callback(null, { user });
          else callback(new SmtpRefusal(421, refusal));
        },
        (error: unknown) => callback(authRefusal(error)),
      );
    };

  const receive =
    (connections: Connections): Required<SMTPServerOptions>['onData'] =>
    (stream, session, callback) => {
      const requestId = `req_${context.system.uuid().replaceAll('-', '')}`;
      const tooSlow = setTimeout(() => connections.end(session), options.times?.dataMs ?? DATA_MS_MAX);
      const late = new AbortController();
      const accept = async (): Promise<string> => {
        const receiving = { bodies, organizationId: organizationOf(session), declaredBytes: declaredBytes(session) };
        const { chunks, reservation } = await receiveMessage(stream, receiving).finally(() => clearTimeout(tooSlow));
        const submit = async (): Promise<string> => {
          const principal = principalOf(session);
          const envelope = session.envelope.rcptTo.map(requireMailbox);
          return submitMessage(submission, { principal, requestId, envelope, chunks, late: late.signal });
        };
        try {
          return await withTimeout({ ms: DEADLINE_MS }, submit().finally(reservation.release));
        } catch (error) {
          late.abort(error);
          throw error;
        }
      };
      accept().then(
        (id) => callback(null, `2.0.0 Ok: queued as ${id}`),
        (error: unknown) => callback(refusalOf(error, requestId)),
      );
    };

  return {
    acceptsBareAddresses: true,
    bounds: {
      max: CONNECTIONS_MAX,
      perOrganization: CONNECTIONS_PER_ORGANIZATION_MAX,
      perNetwork: CONNECTIONS_PER_NETWORK_MAX,
      authMs: options.times?.authMs ?? AUTH_MS_MAX,
      durationMs: CONNECTION_MS_MAX,
    },
    serve: (connections) => ({
      ...(options.name === undefined ? {} : { name: options.name }),
      banner: 'Outbox',
      disabledCommands: JOKE_COMMANDS,
      lenientAddressParsing: true, // `requireMailbox` is strict, and knows whose addresses have odd dots
      allowInsecureAuth: true, // `restrictPlaintext` decides who is offered it
      authMethods: ['PLAIN', 'LOGIN'],
      authRequiredMessage: AUTHENTICATION_REQUIRED,
      size: MESSAGE_BYTES_MAX,
      maxRecipients: RECIPIENTS_MAX,
      maxCommandLength: COMMAND_BYTES_MAX,
      socketTimeout: IDLE_MS,
      closeTimeout: CLOSE_MS,
      onConnect: (session, callback) =>
        answer((async () => restrictPlaintext(session, options))(), callback, messageRefusal),
      onSecure: (_socket, session, callback) => {
        session.disabledCommands = JOKE_COMMANDS;
        callback();
      },
      onAuth: authenticate(connections),
      onMailFrom: (_address, session, callback) =>
        answer((async () => authorizeMessage(auth, principalOf(session)))(), callback, refusalOf),
      onRcptTo: (address, _session, callback) => answer((async () => requireMailbox(address))(), callback, refusalOf),
      onData: receive(connections),
    }),
  };
};
