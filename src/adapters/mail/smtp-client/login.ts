import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { NO_AUTHENTICATION, NO_PASSWORD_AUTHENTICATION } from '../smarthost/problems.ts';
import type { SessionTarget } from './session-target.ts';

/** `lastServerResponse` would be the refusal of STARTTLS where there was one. @returns none after HELO. */
export const ehloLines = (
  connection: SMTPConnection & { readonly _ehloLines?: readonly string[] },
): readonly string[] => connection._ehloLines ?? [];

/** Mechanisms for user and password, in the order in which they are taken: the fewest round trips first. */
const MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5'] as const;
/** RFC 4954 §3; some write `AUTH=`, as drafts of it did. */
const AUTH = /^AUTH[ =]+(.*)$/i;

/** Logs in, by a mechanism that the server offers; without credentials it does nothing. */
export const login = (connection: SMTPConnection, { credentials }: SessionTarget): Promise<void> =>
  new Promise((resolve, reject) => {
    if (credentials === null) return resolve();
    const offered = ehloLines(connection).flatMap((line) => AUTH.exec(line)?.[1]?.toUpperCase().split(/ +/) ?? []);
    // Not only what the EHLO says: where STARTTLS was dropped, no login is given in clear.
    if (!connection.allowsAuth || offered.length === 0) return reject(new Error(NO_AUTHENTICATION));
    const method = MECHANISMS.find((each) => offered.includes(each));
    if (method === undefined) return reject(new Error(NO_PASSWORD_AUTHENTICATION));
    connection.login({ ...credentials, method }, (error) => (error === null ? resolve() : reject(error)));
  });
