import type { SMTPServerAddress, SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import { withTimeout } from '../async/with-timeout.ts';
import { isWithin, parseRange } from '../domain/address-ranges.ts';
import { parseMailbox } from '../domain/email-address.ts';
import { errorAnswer } from '../http/errors/error-response.ts';
import { authRefusal, messageRefusal, SmtpRefusal } from './smtp-refusal.ts';
import {
  authenticateKey,
  authorizeMessage,
  MESSAGE_BYTES_MAX,
  type Principal,
  receiveMessage,
  type SubmissionContext,
  submitMessage,
} from './submit-message.ts';
import { RECIPIENTS_MAX } from './submitted-body.ts';

export interface SubmissionOptions {
  /** false: clients of this machine alone are served. */
  readonly hasTls: boolean;
  /** What it calls itself; this machine's name when absent. */
  readonly name?: string | undefined;
  /** Networks from which a key may come without TLS: this machine, unless a test says otherwise. */
  readonly plainFrom?: readonly string[];
  /** Shorter for tests alone. */
  readonly times?: { readonly authMs?: number; readonly dataMs?: number };
}

/** The connections of the listener. */
interface Connections {
  /** The client has given a key: it may stay. */
  welcome(session: SMTPServerSession): void;
  /** Ends it at once, whatever it does. */
  end(session: SMTPServerSession): void;
}

/** What the listener needs. */
export interface Submission {
  readonly bounds: { readonly perNeighbour: number; readonly strangerMs: number; readonly durationMs: number };
  serve(connections: Connections): SMTPServerOptions;
}

const THIS_MACHINE = ['127.0.0.0/8', '::1'];
/** A pool of a busy program; more lets one client take the places of all others. */
const CONNECTIONS_PER_NEIGHBOUR_MAX = 100;
/** Until there is a key. Longer lets strangers hold places, shorter refuses clients behind slow lines. */
const AUTH_MS_MAX = 60_000;
/** A pool opens another one; what never ends would outlive every other bound. */
const CONNECTION_MS_MAX = 3_600_000;
/** Each costs some kilobytes, and what it sends is bounded by bytes. */
const CLIENTS_MAX = 500;
/** RFC 5321 §4.5.3.2.7 asks for five minutes; a client that says nothing for one has gone, and pools open another. */
const IDLE_MS = 60_000;
/** 25 MB at 0.7 Mbit/s. Longer lets slow clients hold memory that others wait for. */
const DATA_MS_MAX = 300_000;
/** As long as HTTP takes; RFC 5321 §4.5.3.2.6 has clients wait ten minutes. */
const DEADLINE_MS = 15_000;
/** What is in hand at the end is answered within it. */
const CLOSE_MS = 5_000;
/** RFC 5321 §4.5.3.1.4 asks for 512 octets; a key in base64 and long addresses fit many times. */
const COMMAND_BYTES_MAX = 4_096;
/** Jests of another time. */
const JESTS = ['WIZ', 'SHELL', 'KILL'];

/** RFC 4954 §6, its enhanced code with it. */
const AUTHENTICATION_REQUIRED = '5.7.0 Authentication required';

type Callback = (error?: Error | null) => void;

/** What SMTP has callbacks for, as promises; what fails is a reply. */
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

/** Whose room a message takes. */
const organizationOf = ({ user, remoteAddress }: SMTPServerSession): string =>
  user !== undefined && user !== false ? (user as Principal).organizationId : remoteAddress;

/** `SIZE` of RFC 1870, which the server has checked; null: there is none. */
const declaredBytes = ({ envelope: { mailFrom } }: SMTPServerSession): number | null => {
  const { SIZE: size } = (mailFrom === false ? false : mailFrom.args) || {};
  return size === undefined ? null : Number(size);
};

const requireMailbox = ({ address }: SMTPServerAddress): string => {
  const parsed = parseMailbox(address);
  if (typeof parsed === 'string') throw new SmtpRefusal(553, `5.1.3 not an email address: ${parsed}`);
  return parsed.address;
};

/** A key never travels in clear beyond this machine: AUTH is neither offered nor taken before TLS. */
const greet = (session: SMTPServerSession, options: SubmissionOptions): void => {
  const ranges = (options.plainFrom ?? THIS_MACHINE).map(parseRange).filter((range) => range !== null);
  if (isWithin(ranges, session.remoteAddress)) return;
  if (!options.hasTls) {
    throw new SmtpRefusal(554, '5.7.0 only clients of this machine are served: this service has no TLS certificate');
  }
  session.disabledCommands = [...JESTS, 'AUTH'];
};

/**
 * What clients of this service send by (RFC 6409): the same keys, limits, checks and command as
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
          connections.welcome(session);
          callback(null, { user });
        },
        (error: unknown) => callback(authRefusal(error)),
      );
    };

  const take =
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
    bounds: {
      perNeighbour: CONNECTIONS_PER_NEIGHBOUR_MAX,
      strangerMs: options.times?.authMs ?? AUTH_MS_MAX,
      durationMs: CONNECTION_MS_MAX,
    },
    serve: (connections) => ({
      ...(options.name === undefined ? {} : { name: options.name }),
      banner: 'Outbox',
      disabledCommands: JESTS,
      allowInsecureAuth: true, // where it is offered at all, see `greet`
      authMethods: ['PLAIN', 'LOGIN'],
      authRequiredMessage: AUTHENTICATION_REQUIRED,
      size: MESSAGE_BYTES_MAX,
      maxRecipients: RECIPIENTS_MAX,
      maxClients: CLIENTS_MAX,
      maxCommandLength: COMMAND_BYTES_MAX,
      socketTimeout: IDLE_MS,
      closeTimeout: CLOSE_MS,
      onConnect: (session, callback) => answer((async () => greet(session, options))(), callback, messageRefusal),
      onSecure: (_socket, session, callback) => {
        session.disabledCommands = JESTS;
        callback();
      },
      onAuth: authenticate(connections),
      onMailFrom: (_address, session, callback) =>
        answer((async () => authorizeMessage(auth, principalOf(session)))(), callback, refusalOf),
      onRcptTo: (address, _session, callback) => answer((async () => requireMailbox(address))(), callback, refusalOf),
      onData: take(connections),
    }),
  };
};
