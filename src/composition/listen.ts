import type { Config } from '../config.ts';
import { StartRefused } from '../domain/start-refused.ts';

/** An IPv6 address stands in brackets (RFC 3986 §3.2.2). */
const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** The URL at which clients and recipients reach the API, without a trailing slash. @param port that the API listens on. */
export const baseUrlOf = ({ publicUrl, host }: Config, port: number): string =>
  publicUrl ?? `http://${hostInUrl(host)}:${port}`;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** The setting of the port. */
  readonly variable: 'PORT' | 'METRICS_PORT' | 'SUBMISSION_PORT' | 'SUBMISSION_TLS_PORT' | 'BOUNCE_PORT';
}

/** Turns a `listen` error into a sentence that says what to change; other errors pass through. */
export const listenRefused = (error: unknown, { host, port, variable }: ListenAddress): unknown => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new StartRefused(`port ${port} of ${host} is in use: stop what uses it, or set ${variable}`);
  if (code === 'EACCES')
    return new StartRefused(`this user may not listen on port ${port}: set ${variable} to a port above 1023`);
  if (code === 'EADDRNOTAVAIL') return new StartRefused(`${host} is not an address of this machine: correct HOST`);
  return error;
};
