import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { TestCertificate } from './certificate.ts';
import type { Copy, Stage, Write } from './scripted-server.ts';

interface Conversation {
  readonly replyTo: (stage: Stage, line: string) => string;
  readonly write: Write;
  /** The conversation fills `lines`, `messages` and `copies`. */
  readonly lines: string[];
  readonly messages: string[];
  readonly copies: Copy[];
  readonly certificate: TestCertificate | undefined;
  readonly strict: boolean;
}

/** The client's current input: commands, or a message up to its final dot. */
type Mode = 'commands' | 'message';

const isYes = (reply: string): boolean => /^2\d\d(?![\s\S]*\n[45])/.test(reply);

/** Serves one connection: reads commands and messages, and answers with the script. */
export const serveConversation = (plain: Socket, conversation: Conversation): void => {
  const { replyTo, write, lines, messages, copies, certificate, strict } = conversation;
  let socket: Socket = plain;
  let buffer = '';
  let mode: Mode = 'commands';
  let to: string[] = [];
  let hasSender = false;

  /** Replies that depend on the server's options and state, and override the script. */
  const ownReply = (stage: Stage): string | null => {
    const needs: Partial<Record<Stage, boolean>> = { RCPT: hasSender, DATA: to.length > 0 };
    return strict && needs[stage] === false ? '503 5.5.1 Not now' : null;
  };

  const answer = (stage: Stage, line: string): string => {
    const reply = ownReply(stage) ?? replyTo(stage, line);
    if (reply === 'drop') socket.destroy();
    else if (reply === 'silence') socket.removeAllListeners('data');
    else write(socket, `${reply}\r\n`);
    return reply;
  };

  const endMessage = (content: string): void => {
    messages.push(content);
    const recipients = to;
    to = [];
    if (isYes(answer('dot', '.'))) copies.push({ to: recipients, content });
  };

  const takeMessage = (): boolean => {
    const end = `\r\n${buffer}`.indexOf('\r\n.\r\n');
    if (end < 0) return false;
    const content = buffer.slice(0, Math.max(end - 2, 0));
    buffer = buffer.slice(end + 3);
    mode = 'commands';
    endMessage(content);
    return true;
  };

  const startTls = (): void => {
    if (certificate === undefined) return;
    buffer = '';
    plain.removeAllListeners('data');
    socket = new TLSSocket(plain, { isServer: true, ...certificate });
    listen();
  };

  const after: Partial<Record<Stage, (line: string, reply: string) => void>> = {
    MAIL: (_, reply) => {
      hasSender = isYes(reply);
      to = [];
    },
    RCPT: (line, reply) => {
      if (isYes(reply)) to.push(/<(.*?)>/.exec(line)?.[1] ?? line);
    },
    DATA: (_, reply) => {
      if (reply.startsWith('3')) mode = 'message';
    },
    STAR: (_, reply) => {
      if (reply.startsWith('220')) startTls();
    },
    QUIT: () => void socket.end(),
  };

  const takeLine = (): boolean => {
    const end = buffer.indexOf('\r\n');
    if (end < 0) return false;
    const line = buffer.slice(0, end);
    buffer = buffer.slice(end + 2);
    lines.push(line);
    const stage = line.slice(0, 4).toUpperCase() as Stage;
    const reply = answer(stage, line);
    after[stage]?.(line, reply);
    return true;
  };

  const take = (): boolean => (mode === 'commands' ? takeLine() : takeMessage());

  const listen = (): void => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      buffer += chunk.toString('latin1');
      while (socket.listenerCount('data') > 0 && take());
    });
  };
  listen();
  answer('connect', '');
};
