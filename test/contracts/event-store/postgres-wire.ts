import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { ServerSwitch } from './harness.ts';

/** ReadyForQuery (idle), which ends every response of PostgreSQL. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

export interface PostgresWire extends ServerSwitch {
  /** Database URL that goes through this proxy. */
  readonly url: string;
  /** Lets the next call of this statement reach the server, and cuts the connection when the server replies. */
  loseNextAnswerTo(statement: string): void;
  /** Bytes that the server has sent so far. */
  sentBytes(): number;
  close(): Promise<void>;
}

interface Session {
  readonly client: Socket;
  readonly server: Socket;
  cutAtAnswer: boolean;
}

/** A proxy between a store and a real PostgreSQL that can cut, freeze and measure the connection. */
export const openPostgresWire = async (databaseUrl: string): Promise<PostgresWire> => {
  const target = new URL(databaseUrl);
  const sessions = new Set<Session>();
  let losing: string | undefined;
  let frozen = false;
  let bytes = 0;

  const end = (session: Session): void => {
    sessions.delete(session);
    session.client.destroy();
    session.server.destroy();
  };

  const toServer = (session: Session, chunk: Buffer): void => {
    if (losing !== undefined && chunk.includes(losing)) {
      losing = undefined;
      session.cutAtAnswer = true;
    }
    if (!session.server.write(chunk)) {
      session.client.pause();
      session.server.once('drain', () => session.client.resume());
    }
  };

  const toClient = (session: Session, chunk: Buffer): void => {
    if (session.cutAtAnswer) {
      if (chunk.subarray(-READY.length).equals(READY)) end(session);
      return;
    }
    bytes += chunk.length;
    if (!session.client.write(chunk)) {
      session.server.pause();
      session.client.once('drain', () => frozen || session.server.resume());
    }
  };

  const accept = (client: Socket): void => {
    const session = { client, server: connect(Number(target.port), target.hostname), cutAtAnswer: false };
    sessions.add(session);
    client.on('data', (chunk) => toServer(session, chunk));
    session.server.on('data', (chunk) => toClient(session, chunk));
    for (const socket of [client, session.server]) socket.on('close', () => end(session)).on('error', () => {});
    if (frozen) session.server.pause();
  };

  let listener: Server | undefined;
  const listen = async (port: number): Promise<number> => {
    listener = createServer(accept).listen(port, '127.0.0.1');
    await once(listener, 'listening');
    return (listener.address() as AddressInfo).port;
  };
  const port = await listen(0);

  const stop = async (): Promise<void> => {
    const closing = listener;
    listener = undefined;
    closing?.close();
    for (const session of sessions) end(session);
    if (closing !== undefined) await once(closing, 'close');
  };

  return {
    url: Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${port}` }).href,
    stop,
    start: async () => {
      await listen(port);
    },
    freeze: () => {
      frozen = true;
      for (const { server } of sessions) server.pause();
    },
    thaw: () => {
      frozen = false;
      for (const { server } of sessions) server.resume();
    },
    loseNextAnswerTo: (statement) => {
      losing = statement;
    },
    sentBytes: () => bytes,
    close: stop,
  };
};
