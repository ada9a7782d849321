import type { Config } from '../config.ts';
import { StartRefused } from '../domain/start-refused.ts';

/** An IPv6 address stands in brackets (RFC 3986 §3.2.2). */
const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Where clients and recipients reach the API, without a slash at its end. @param port that the API listens on. */
export const baseUrlOf = ({ publicUrl, host }: Config, port: number): string =>
  publicUrl ?? `http://${hostInUrl(host)}:${port}`;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Of the configuration, where the port comes from. */
  readonly variable: 'PORT' | 'METRICS_PORT' | 'SUBMISSION_PORT' | 'SUBMISSION_TLS_PORT' | 'BOUNCE_PORT';
}

/** What `listen` failed with, as a sentence for whoever can mend it; any other fault as it is. */
export const listenRefused = (error: unknown, { host, port, variable }: ListenAddress): unknown => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new StartRefused(`port ${port} of ${host} is in use: stop what uses it, or set ${variable}`);
  if (code === 'EACCES')
    return new StartRefused(`this user may not listen on port ${port}: set ${variable} to one above 1023`);
  if (code === 'EADDRNOTAVAIL') return new StartRefused(`${host} is no address of this machine: correct HOST`);
  return error;
};
