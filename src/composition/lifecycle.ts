import type { Config } from '../config.ts';
import { type Logger, StartRefused } from '../lib/async/async.ts';

/** Closes parts in reverse order of opening, so that nothing is closed before what uses it. */
export interface Closers {
  add(name: string, close: () => Promise<void>): void;
  /** Adds what a part does to close. @returns the part. */
  keep<Part extends { close(): Promise<void> }>(name: string, part: Part): Part;
  /** Closes everything once. A failure is logged and the rest is closed anyway. */
  closeAll(): Promise<void>;
}

export const createClosers = (logger: Logger): Closers => {
  const open: { readonly name: string; readonly close: () => Promise<void> }[] = [];
  const add = (name: string, close: () => Promise<void>): void => {
    open.push({ name, close });
  };
  return {
    add,
    keep: (name, part) => {
      add(name, () => part.close());
      return part;
    },
    closeAll: async () => {
      for (let last = open.pop(); last !== undefined; last = open.pop()) {
        const { name, close } = last;
        await close().catch((error: unknown) =>
          logger.error({ err: error, part: name }, 'a component failed to close'),
        );
      }
    },
  };
};

/** A running role. `stop` finishes or hands back its work. */
export interface RunningRole {
  stop(): Promise<void>;
}

/** How a role reports to the process. */
export interface RoleEvents {
  /** The role cannot continue and a restart alone does not help: the process must end with this error. */
  onFatal(error: unknown): void;
}

/** Puts an IPv6 address in brackets (RFC 3986 §3.2.2). */
export const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

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
    return new StartRefused(`port ${port} on ${host} is in use: stop the other program, or set ${variable}`);
  if (code === 'EACCES')
    return new StartRefused(`this user may not listen on port ${port}: set ${variable} to a port above 1023`);
  if (code === 'EADDRNOTAVAIL') return new StartRefused(`${host} is not an address of this machine: correct HOST`);
  return error;
};
