import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Dialogue, openDialogue } from './smtp-dialogue.ts';
import { createSmtpPlan, type SmtpPlan } from './smtp-plan.ts';

/** A message that was answered with 250. */
export interface SinkMail {
  readonly from: string;
  readonly to: readonly string[];
  /** The message as sent, with dots unstuffed. */
  readonly raw: string;
  /** Unix time in milliseconds when the final dot had arrived. */
  readonly atMs: number;
}

/**
 * Our own mail server. It accepts everything, keeps every message that it answered with 250, and can act when a command
 * arrives or a reply has been sent.
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
    socket.on('error', () => undefined); // the scenarios kill clients at any moment
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
