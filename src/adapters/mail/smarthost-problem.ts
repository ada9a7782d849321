import type { SmtpConnectFailed } from './smtp-session.ts';

/** Why no session with the smarthost came about, or nothing could be sent over it. */
export type SmarthostProblem =
  | 'unknown_name'
  | 'unreachable'
  | 'silent'
  | 'tls'
  | 'certificate'
  | 'login'
  | 'no_login'
  | 'login_wanted'
  | 'refused';

/** What is wrong, and what to do about it: for whoever set `MAIL_URL`. No secret, and nothing that the server said. */
export const SMARTHOST_REMEDIES: Readonly<Record<SmarthostProblem, string>> = {
  unknown_name: 'its name is not known: correct the host in MAIL_URL, or the resolver of this machine',
  unreachable: 'nothing answers there: correct host and port in MAIL_URL, or open the way to it',
  silent:
    'it says nothing that is SMTP: correct port and scheme in MAIL_URL (TLS from the first byte on, as on 465, is `smtps:`)',
  tls: 'TLS with it fails: `smtps:` in MAIL_URL is for TLS from the first byte on, as on 465, and `smtp:` for STARTTLS, as on 587, which a login needs',
  certificate:
    'its certificate is not trusted: name it in MAIL_URL as the certificate does, or have it renewed, or give its authority by NODE_EXTRA_CA_CERTS',
  login: 'it refuses the login: correct user and password in MAIL_URL (percent-encoded: `@` is `%40`)',
  no_login: 'it offers no login there: set its port for submission (587, or 465 with `smtps:`), or no user in MAIL_URL',
  login_wanted: 'it takes mail after a login only: set user and password in MAIL_URL',
  refused: 'it refuses the session: ask whoever runs it whether it takes mail from this machine',
};

/** What nodemailer says of an error beside its sentence, and OpenSSL (`reason`). */
interface SetupError {
  readonly code?: string;
  readonly command?: string;
  readonly syscall?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Said by us of a server that was given credentials for nothing. */
export const NO_AUTHENTICATION = 'the server offers no authentication';

const CERTIFICATE = /certificate|altnames|self.signed/i;

type Sign = (error: SetupError, failed: SmtpConnectFailed) => boolean;

/** The first that holds. */
const SIGNS: readonly (readonly [SmarthostProblem, Sign])[] = [
  ['unknown_name', ({ syscall }) => syscall === 'getaddrinfo'],
  ['unreachable', ({ syscall }) => syscall === 'connect'],
  ['login', ({ command = '' }, { reply }) => command.startsWith('AUTH') || reply.code === 535],
  ['no_login', ({ message = '' }) => message === NO_AUTHENTICATION],
  ['certificate', ({ message = '', reason }) => reason === undefined && CERTIFICATE.test(message)],
  ['tls', ({ code, reason }, { isTlsBroken }) => code === 'ETLS' || reason !== undefined || isTlsBroken],
  ['refused', (_, { reply }) => reply.code > 0],
];

export const smarthostProblem = (failed: SmtpConnectFailed): SmarthostProblem => {
  const error = (failed.cause ?? {}) as SetupError;
  return SIGNS.find(([, holds]) => holds(error, failed))?.[0] ?? 'silent';
};
