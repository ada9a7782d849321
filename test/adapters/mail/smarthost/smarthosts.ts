import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';

/** A smarthost that accepts `user` with `secret`. Its certificate is self-signed and expired. @returns its port. */
export const startSmarthost = async (options: SMTPServerOptions = {}): Promise<number> => {
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    onAuth: ({ username, password }, _session, callback) =>
      username === 'user' && password === 'secret'
        ? callback(null, { user: username })
        : callback(Object.assign(new Error(`5.7.8 wrong password for ${username}`), { responseCode: 535 })),
    onData: (stream, _session, callback) => stream.resume().on('end', () => callback()),
    ...options,
  });
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (listening.address() as AddressInfo).port;
};

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

/** A server that only sends a greeting. @returns its port. */
export const startSaying = async (greeting: string): Promise<number> => {
  const server = createServer((socket) => socket.on('error', () => undefined).write(greeting));
  const port = await listen(server);
  onTestFinished(() => void server.close());
  return port;
};

/** A port on which no process listens. */
export const deadPort = async (): Promise<number> => {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
};
