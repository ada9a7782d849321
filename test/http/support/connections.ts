import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Service } from './service.ts';

type Serving = Pick<Service, 'server'>;

/** Makes the server listen on a free port. */
export const listen = async ({ server }: Serving): Promise<number> => {
  await server.listen({ host: '127.0.0.1', port: 0 });
  return (server.server.address() as AddressInfo).port;
};

/** A connection that stays open when the server closes its side. */
export const openConnection = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
};

/** All bytes that arrive until the server ends the connection. */
export const allOf = (socket: Socket): Promise<string> => text(socket);

export const statusesIn = (answers: string): readonly string[] =>
  [...answers.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status as string);

/** Number of open connections of the server. */
export const countConnections = ({ server }: Serving): Promise<number> =>
  new Promise((resolve, reject) => {
    server.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
