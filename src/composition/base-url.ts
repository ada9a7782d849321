import type { Config } from '../config.ts';

/** An IPv6 address stands in brackets (RFC 3986 §3.2.2). */
const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Where clients and recipients reach the API, without a slash at its end. @param port that the API listens on. */
export const baseUrlOf = ({ publicUrl, host }: Config, port: number): string =>
  publicUrl ?? `http://${hostInUrl(host)}:${port}`;
