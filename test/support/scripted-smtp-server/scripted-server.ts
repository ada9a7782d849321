import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TestCertificate } from './certificate.ts';
import { serveConversation } from './conversation.ts';
import { type CutOff, cutOff } from './cut-off.ts';

/** The first four letters of a command. `dot` is the end of a message. */
export type Stage = 'connect' | 'EHLO' | 'HELO' | 'STAR' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'dot' | 'RSET' | 'QUIT';

/** A reply, no answer, or a closed connection. */
type Answer = string | 'silence' | 'drop';

/** Answers for stages that must fail. They can depend on the command line and on how often the stage came before. */
export type Script = Partial<Record<Stage, (line: string, times: number) => Answer | undefined>>;

const USUAL: Readonly<Record<Stage, string>> = {
  connect: '220 scripted',
  EHLO: '250-scripted\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 ENHANCEDSTATUSCODES',
  HELO: '250 scripted',
  STAR: '454 4.7.0 TLS is not available',
  AUTH: '235 2.7.0 Ok',
  MAIL: '250 2.1.0 Ok',
  RCPT: '250 2.1.5 Ok',
  DATA: '354 Go on',
  dot: '250 2.0.0 Ok: queued as 1',
  RSET: '250 2.0.0 Ok',
  QUIT: '221 2.0.0 Bye',
};

/** Writes the bytes of a reply. */
export type Write = (socket: Socket, text: string) => void;

const writeAtOnce: Write = (socket, text) => void socket.write(text);

/** A message that the server answered with 250, whether or not that reply arrived. */
export interface Copy {
  readonly to: readonly string[];
  readonly content: string;
}

export interface ScriptedServerOptions {
  readonly write?: Write;
  /** Certificate for STARTTLS, which is answered with 220 unless the script says otherwise. */
  readonly certificate?: TestCertificate;
  /** Ends each connection after this number of bytes. */
  readonly cut?: CutOff;
  /** Answers 503 to RCPT without a sender and to a message without recipients, whatever the script says. */
  readonly strict?: boolean;
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: a free port. */
  readonly port?: number;
}

/** A server that follows a script and records the client's input. */
export const startScriptedServer = async (
  script: Script = {},
  { write = writeAtOnce, certificate, cut, strict = false, ...at }: ScriptedServerOptions = {},
) => {
  const sockets = new Set<Socket>();
  const lines: string[] = [];
  const messages: string[] = [];
  const copies: Copy[] = [];
  const counts = new Map<Stage, number>();
  let connections = 0;

  const replyTo = (stage: Stage, line: string): string => {
    const times = counts.get(stage) ?? 0;
    counts.set(stage, times + 1);
    const usual = stage === 'STAR' && certificate !== undefined ? '220 Go on' : USUAL[stage];
    return script[stage]?.(line, times) ?? usual ?? '502 5.5.1 Not known';
  };

  const server = createServer((socket) => {
    connections += 1;
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    if (cut !== undefined) cutOff(socket, cut);
    serveConversation(socket, { replyTo, write, lines, messages, copies, certificate, strict });
  });
  server.listen(at.port ?? 0, at.host ?? '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    port,
    lines,
    messages,
    copies,
    connections: () => connections,
    /** Number of open sessions. */
    openConnections: () => sockets.size,
    /** Sends an unsolicited line on every session. */
    say: (text: string): void => {
      for (const socket of sockets) write(socket, `${text}\r\n`);
    },
    dropAll: (): void => {
      for (const socket of sockets) socket.destroy();
    },
    close: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
export type ScriptedServer = Awaited<ReturnType<typeof startScriptedServer>>;
