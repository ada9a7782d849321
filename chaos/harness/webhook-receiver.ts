import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A post that was answered 2xx. */
export interface ReceivedPost {
  /** `webhook-id`. */
  readonly id: string;
  readonly body: string;
  /** It has `webhook-replay`. */
  readonly isReplayed: boolean;
  readonly atMs: number;
}

export type ReceiverMoment = 'arrived' | 'replied';

/** A customer's endpoint that keeps what it took, and can be told to do something when a post arrives or was answered. */
export interface WebhookReceiver {
  readonly url: string;
  readonly posts: readonly ReceivedPost[];
  /** Once, the n-th time from now. */
  at(moment: ReceiverMoment, act: () => Promise<void> | void, nth?: number): void;
  /** Status of the answers from now on. */
  answer(status: number): void;
  close(): Promise<void>;
}

interface Planned {
  readonly moment: ReceiverMoment;
  readonly act: () => Promise<void> | void;
  left: number;
}

export const openWebhookReceiver = async (): Promise<WebhookReceiver> => {
  const posts: ReceivedPost[] = [];
  let planned: readonly Planned[] = [];
  let status = 200;

  const reach = async (moment: ReceiverMoment): Promise<void> => {
    const concerned = planned.filter((item) => item.moment === moment);
    for (const item of concerned) item.left -= 1;
    const due = concerned.filter(({ left }) => left <= 0);
    planned = planned.filter((item) => !due.includes(item));
    for (const { act } of due) await act();
  };

  const server = createServer(async (request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('error', () => undefined);
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    await once(request, 'end').catch(() => undefined);
    await reach('arrived');
    const { 'webhook-id': id, 'webhook-replay': replay } = request.headers;
    if (status < 300) posts.push({ id: String(id), body, isReplayed: replay !== undefined, atMs: Date.now() });
    response.writeHead(status).end();
    await reach('replied');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    posts,
    at: (moment, act, nth = 1) => {
      planned = [...planned, { moment, act, left: nth }];
    },
    answer: (next) => {
      status = next;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
