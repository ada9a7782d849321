import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export type Stage = 'connect' | 'EHLO' | 'STAR' | 'MAIL' | 'RCPT' | 'DATA' | 'dot' | 'RSET' | 'QUIT';

/** What to answer: a reply, nothing at all, or the end of the connection. */
type Answer = string | 'silence' | 'drop';

/** Answers for the stages that shall not go well; the command line and how often its stage came before tell them apart. */
export type Script = Partial<Record<Stage, (line: string, times: number) => Answer | undefined>>;

const USUAL: Readonly<Record<Stage, string>> = {
  connect: '220 scripted',
  EHLO: '250-scripted\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 ENHANCEDSTATUSCODES',
  STAR: '454 4.7.0 TLS is not available',
  MAIL: '250 2.1.0 Ok',
  RCPT: '250 2.1.5 Ok',
  DATA: '354 Go on',
  dot: '250 2.0.0 Ok: queued as 1',
  RSET: '250 2.0.0 Ok',
  QUIT: '221 2.0.0 Bye',
};

/** How the bytes of a reply leave. */
export type Write = (socket: Socket, text: string) => void;

const writeAtOnce: Write = (socket, text) => void socket.write(text);

/** A server that does what a test tells it, and writes down what it was told. */
export const startScriptedServer = async (script: Script = {}, write: Write = writeAtOnce) => {
  const sockets = new Set<Socket>();
  const lines: string[] = [];
  const messages: string[] = [];
  const counts = new Map<Stage, number>();
  let connections = 0;

  const answer = (socket: Socket, stage: Stage, line: string): boolean => {
    const times = counts.get(stage) ?? 0;
    counts.set(stage, times + 1);
    const reply = script[stage]?.(line, times) ?? USUAL[stage];
    if (reply === 'drop') socket.destroy();
    else if (reply === 'silence') socket.removeAllListeners('data');
    else write(socket, `${reply}\r\n`);
    return reply.startsWith('354');
  };

  const server = createServer((socket) => {
    connections += 1;
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    let buffer = '';
    let isData = false;
    const takeMessage = (): boolean => {
      const end = `\r\n${buffer}`.indexOf('\r\n.\r\n');
      if (end < 0) return false;
      messages.push(buffer.slice(0, Math.max(end - 2, 0)));
      buffer = buffer.slice(end + 3);
      isData = false;
      answer(socket, 'dot', '.');
      return true;
    };
    const takeLine = (): boolean => {
      const end = buffer.indexOf('\r\n');
      if (end < 0) return false;
      const line = buffer.slice(0, end);
      buffer = buffer.slice(end + 2);
      lines.push(line);
      const stage = line.slice(0, 4).toUpperCase() as Stage;
      isData = answer(socket, stage, line);
      if (stage === 'QUIT') socket.end();
      return true;
    };
    socket.on('data', (chunk) => {
      buffer += chunk.toString('latin1');
      while (socket.listenerCount('data') > 0 && (isData ? takeMessage() : takeLine()));
    });
    answer(socket, 'connect', '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    lines,
    messages,
    connections: () => connections,
    /** Says what nobody asked for, on every session. */
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
