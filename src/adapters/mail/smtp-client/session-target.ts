import type { TLSSocket } from 'node:tls';
import type { TlsPolicy } from '../../../domain/ports/mail-transport.ts';

/** How the other side's certificate is judged, before it is given credentials or mail. */
export type CertificateCheck =
  /** Any will do (RFC 7435). */
  | 'none'
  /** Signed by an authority that is trusted, for `host`. */
  | 'ca'
  /** @returns what is wrong with it. */
  | ((socket: TLSSocket) => Error | undefined);

/** One server to open a session with, and what that session is held to. */
export interface SessionTarget {
  /** The name the certificate is for; also where to connect, unless `address` says it. */
  readonly host: string;
  /** IP. */
  readonly address?: string;
  readonly port: number;
  /** TLS from the first byte (RFC 8314 §3), else by STARTTLS. */
  readonly implicitTls: boolean;
  /** Null: no AUTH. */
  readonly credentials: { readonly user: string; readonly pass: string } | null;
  readonly tls: {
    /** No mail in clear; otherwise TLS where it is offered. */
    readonly required: boolean;
    readonly check: CertificateCheck;
    /** What is told; absent: by `required`. */
    readonly policy?: TlsPolicy;
    /** In clear, whatever is offered: for a server whose TLS has just failed. */
    readonly avoided?: boolean;
  };
  /** IP of ours to connect from. */
  readonly localAddress?: string;
}
