import type { SessionTarget } from './session-target.ts';

/** Where and how to submit mail, from `smtp://user:pass@host:port` or `smtps://…`. */
export interface Smarthost {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`); otherwise STARTTLS where it is offered. */
  readonly secure: boolean;
  /** Null: no AUTH. */
  readonly credentials: { readonly user: string; readonly pass: string } | null;
}

/** RFC 6409 §3.1 and RFC 8314 §3.3 with credentials; a relay on the own network listens where servers do. */
const defaultPort = (secure: boolean, hasCredentials: boolean): number => {
  if (secure) return 465;
  return hasCredentials ? 587 : 25;
};

/** @throws {Error} naming what is wrong, without the password. */
export const parseSmarthost = (url: string): Smarthost => {
  const parsed = URL.parse(url);
  if (parsed === null || !/^smtps?:$/.test(parsed.protocol)) throw new Error('a mail URL is smtp://… or smtps://…');
  if (parsed.hostname === '') throw new Error('the mail URL names no host');
  const secure = parsed.protocol === 'smtps:';
  const hasCredentials = parsed.username !== '' && parsed.password !== '';
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? defaultPort(secure, hasCredentials) : Number(parsed.port),
    secure,
    credentials: hasCredentials
      ? { user: decodeURIComponent(parsed.username), pass: decodeURIComponent(parsed.password) }
      : null,
  };
};

/** Credentials go over the wire in clear to this machine alone. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1)$/.test(host);

/** Opportunistic TLS (RFC 7435), but a server that is given credentials or was asked for as `smtps:` proves who it is. */
export const targetOf = ({ host, port, secure, credentials }: Smarthost): SessionTarget => {
  const required = secure || (credentials !== null && !isLoopback(host));
  return { host, port, implicitTls: secure, credentials, tls: { required, check: required ? 'ca' : 'none' } };
};
