import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startNameServer } from '../../test/support/name-server.ts';
import { addressOf, type Conduct, conductOf, domainOf } from '../harness/destinations.ts';
import { serveParent } from '../harness/serve-parent.ts';
import { takeMail } from '../harness/take-mail.ts';

export interface MailExchanges {
  readonly destinations: number;
}

export interface MailExchangesFacts {
  /** Port of all mail servers. */
  readonly port: number;
  /** Value for `DNS_SERVERS`. */
  readonly nameServer: string;
}

const SLOW_MS = 2_000;
const GREETINGS = { closing: '421 4.3.2 come back later\r\n', refusing: '554 5.7.1 go away\r\n' } as const;

let healthy = 0;

/** Replies in order, and delays those to one command or to the end of messages. */
const slowly = (socket: Socket, late: string) => {
  let last = Promise.resolve();
  return (to: string, text: string): void => {
    last = last.then(async () => {
      if (to === late) await sleep(SLOW_MS);
      socket.write(text);
    });
  };
};

const take = (socket: Socket): void =>
  takeMail(socket, {
    reply: (_to, text) => void socket.write(text),
    onMessage: () => {
      healthy += 1;
    },
  });
const takeSlowly = (late: string) => (socket: Socket) =>
  takeMail(socket, { reply: slowly(socket, late), onMessage: () => undefined });
const hangUp = (greeting: string) => (socket: Socket) => {
  socket.on('error', () => undefined);
  socket.end(greeting);
};

const SERVE: Readonly<Record<Exclude<Conduct, 'gone'>, (socket: Socket) => void>> = {
  healthy: take,
  'slow at MAIL': takeSlowly('MAIL'),
  'slow at the end': takeSlowly('.'),
  closing: hangUp(GREETINGS.closing),
  refusing: hangUp(GREETINGS.refusing),
  silent: (socket) => void socket.on('error', () => undefined),
};

const open: Server[] = [];

/** @param port 0: any free port. @returns the port. */
const listen = async (destination: number, port: number): Promise<number> => {
  const conduct = conductOf(destination);
  if (conduct === 'gone') return port;
  const server = createServer(SERVE[conduct]);
  open.push(server);
  server.listen(port, addressOf(destination));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

const zoneOf = (destination: number) => {
  const domain = domainOf(destination);
  return [
    [domain, { MX: [[10, `mx.${domain}`]] as const }],
    [`mx.${domain}`, { A: [addressOf(destination)] }],
  ] as const;
};

/** Mail servers of many domains, some of them bad, and a name server with their records. */
await serveParent(async ({ destinations }: MailExchanges) => {
  const numbers = Array.from({ length: destinations }, (_, number) => number);
  const dns = await startNameServer(Object.fromEntries(numbers.flatMap(zoneOf)));
  let port = 0;
  for (const number of numbers) port = await listen(number, port);
  const facts: MailExchangesFacts = { port, nameServer: dns.text };
  return {
    facts,
    answers: { healthy: () => healthy },
    close: async () => {
      for (const server of open) server.close();
      await dns.close();
    },
  };
});
