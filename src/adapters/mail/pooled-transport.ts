import type { MailTransport } from '../../domain/ports/mail-transport.ts';

/** A transport that keeps its sessions between messages. */
export interface PooledTransport extends MailTransport {
  /** Sessions with mail servers, open or being opened. */
  sessions(): number;
}
