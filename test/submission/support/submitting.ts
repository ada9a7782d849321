import { createTransport, type SendMailOptions } from 'nodemailer';
import { buildMimeMessage } from '../../../src/adapters/mail/compose.ts';
import { clientNetworkOf } from '../../../src/domain/kernel/addresses.ts';
import { LOG_START } from '../../../src/domain/kernel/event-store.ts';
import type { MessageBody } from '../../../src/domain/ports/contents.ts';
import { createMailParser } from '../../../src/lib/mime/mime.ts';
import { startSmtpListener, type TlsPair } from '../../../src/lib/smtp/smtp.ts';
import { createSubmission, type SubmissionOptions } from '../../../src/submission/submission.ts';
import { outgoingMail } from '../../adapters/mail/outgoing-mail.ts';
import { type Overrides, type Service, startService } from '../../http/support/service.ts';
import { plain, type SmtpTalk, talkSmtp } from './smtp-talk.ts';

/** An accepted message as returned by the API. */
export interface SubmissionState {
  readonly id: string;
  readonly recipients: readonly { readonly address: string; readonly kind: string }[];
  readonly [field: string]: unknown;
}

type Options = Omit<SubmissionOptions, 'hasTls'> & {
  readonly tls?: TlsPair;
  readonly tlsBegins?: 'implicit' | 'asked';
};

/** The API with an organization that sends from `example.test`, and an SMTP listener for its mail. */
export const startSubmitting = async (
  { tls, tlsBegins, ...options }: Options = {},
  overrides: Overrides = {},
  check?: Parameters<typeof startService>[1],
) => {
  const service: Service = await startService(overrides, check);
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  const makeKey = (more: Parameters<Service['makeKey']>[2] = {}) => service.makeKey(organizationId, domainId, more);
  const { value: key } = await makeKey();
  const mailParser = createMailParser();
  const context = { deps: service.deps, ...service.server.shared, mailParser };
  const listener = await startSmtpListener(createSubmission(context, { ...options, hasTls: tls !== undefined }), {
    host: '127.0.0.1',
    port: 0,
    tls,
    networkOf: clientNetworkOf,
    logger: service.deps.logger,
    ...(tlsBegins === undefined ? {} : { tlsBegins }),
  });
  const { port } = listener;

  const idIn = (reply: string): string | undefined => /msg_\w+/.exec(reply)?.[0];

  /** Stored content of the message that a reply names. */
  const stored = async (reply: string): Promise<MessageBody> => {
    const { context } = service.deps;
    const [event] = await context.store.readStream(`message-${idIn(reply)}`);
    const { contentId } = (event as unknown as { data: { contentId: string } }).data;
    const body = (await context.contents.get([contentId])).get(contentId);
    if (body?.kind !== 'message') throw new Error(`nothing is kept of ${reply}`);
    return body;
  };

  const get = async (url: string) => (await service.request({ url, key })).json();

  return {
    service,
    port,
    key,
    organizationId,
    domainId,
    makeKey,
    stored,
    /** The message as sent, but unsigned. */
    composed: async (reply: string): Promise<Buffer> => {
      const body = await stored(reply);
      return Buffer.concat([
        ...buildMimeMessage(outgoingMail(body), body.text ?? '')
          .headed('')
          .chunks(),
      ]);
    },
    bodies: service.server.shared.bodies,
    /** Sends through a real client. @returns its last reply. @throws the client's error. */
    send: async (mail: SendMailOptions, by = key): Promise<string> => {
      const transport = createTransport({
        host: '127.0.0.1',
        port,
        ignoreTLS: true,
        auth: { user: 'outbox', pass: by },
      });
      return (await transport.sendMail({ from: 'Ann <ann@example.test>', subject: 'Hello', text: 'Hi', ...mail }))
        .response;
    },
    /** Opens an authenticated session, before `MAIL`. */
    talk: async (by = key): Promise<SmtpTalk> => {
      const talk = await talkSmtp(port);
      await talk.ask('EHLO client.test\r\n');
      await talk.ask(plain(by));
      return talk;
    },
    /** Sends one raw message after its envelope. @returns the last reply. */
    sendRaw: async (
      message: string | Buffer,
      to: readonly string[] = ['bob@example.org'],
      by = key,
    ): Promise<string> => {
      const talk = await talkSmtp(port);
      await talk.ask('EHLO client.test\r\n');
      await talk.ask(plain(by));
      await talk.ask('MAIL FROM:<bounces@elsewhere.test>\r\n');
      for (const address of to) await talk.ask(`RCPT TO:<${address}>\r\n`);
      await talk.ask('DATA\r\n');
      const reply = await talk.ask(Buffer.concat([Buffer.from(message), Buffer.from('\r\n.\r\n')]));
      talk.close();
      return reply;
    },
    /** The message that a reply names as queued. */
    shown: async (reply: string): Promise<SubmissionState> => {
      const id = idIn(reply);
      return { ...(await get(`/v1/messages/${id}`)), ...(await get(`/v1/messages/${id}/content`)), id: id ?? '' };
    },
    /** Number of messages in the log. */
    accepted: async (): Promise<number> => {
      const { events } = await service.deps.context.store.readAll({
        from: LOG_START,
        limit: 1_000,
        filter: { categories: ['message'] },
      });
      return events.filter(({ type }) => type === 'MessageAccepted').length;
    },
    close: async () => {
      await listener.close();
      await mailParser.close();
      await service.close();
    },
  };
};

export type Submitting = Awaited<ReturnType<typeof startSubmitting>>;
