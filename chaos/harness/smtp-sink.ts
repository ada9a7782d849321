import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Dialogue, openDialogue } from './smtp-dialogue.ts';
import { createSmtpPlan, type SmtpPlan } from './smtp-plan.ts';

/** A message that was answered 250. */
export interface SinkMail {
  readonly from: string;
  readonly to: readonly string[];
  /** As sent, with dots unstuffed. */
  readonly raw: string;
  /** Milliseconds since the epoch when the final dot had arrived. */
  readonly atMs: number;
}

/**
 * A mail server of our own: it takes everything, keeps what it answered 250 for, and can be told to
 * do something when a command has arrived or a reply has been sent.
 */
export interface SmtpSink extends SmtpPlan {
  readonly url: string;
  readonly mails: readonly SinkMail[];
  close(): Promise<void>;
}

export const openSmtpSink = async (): Promise<SmtpSink> => {
  const mails: SinkMail[] = [];
  const plan = createSmtpPlan();
  const sockets = new Set<Socket>();

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined); // clients are killed at any moment: that is the test
    socket.on('close', () => sockets.delete(socket));
    const dialogue: Dialogue = openDialogue({ socket, plan, onMail: (mail) => mails.push(mail) });
    socket.on('data', dialogue.take);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    at: plan.at,
    whenever: plan.whenever,
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
};
