import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

interface SinkMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
}

/** An SMTP reply. null: accepted. */
type DomainError = { readonly code: number; readonly text: string } | null;

export interface SmtpSink {
  readonly url: string;
  readonly mails: readonly SinkMail[];
  close(): Promise<void>;
}

export interface SmtpSinkOptions {
  onRcpt?(address: string): Promise<DomainError> | DomainError;
  /** Runs before the reply to the final dot. */
  onData?(mail: SinkMail): Promise<DomainError>;
}

const asError = ({ code, text: message }: NonNullable<DomainError>): Error =>
  Object.assign(new Error(message), { responseCode: code });

/** A real SMTP server that stores the mail that it accepts. */
export const openSmtpSink = async (options: SmtpSinkOptions = {}): Promise<SmtpSink> => {
  const mails: SinkMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    logger: false,
    onRcptTo: ({ address }, _session, callback) => {
      Promise.resolve(options.onRcpt?.(address) ?? null).then(
        (refusal) => callback(refusal === null ? null : asError(refusal)),
        (error: Error) => callback(error),
      );
    },
    onData: (stream, { envelope }, callback) => {
      const take = async (): Promise<DomainError> => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const mail = { from, to: envelope.rcptTo.map(({ address }) => address), raw: await text(stream) };
        const refusal = (await options.onData?.(mail)) ?? null;
        if (refusal === null) mails.push(mail);
        return refusal;
      };
      take().then(
        (refusal) => callback(refusal === null ? null : asError(refusal)),
        (error: Error) => callback(error),
      );
    },
  });
  server.on('error', () => undefined); // a client that disconnected in the middle
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', () => listening.resolve());
  await listening.promise;
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    mails,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};
