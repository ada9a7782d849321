import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A post that was answered with a 2xx status. */
export interface ReceivedPost {
  /** Value of `webhook-id`. */
  readonly id: string;
  readonly body: string;
  /** True if the post has `webhook-replay`. */
  readonly isReplayed: boolean;
  readonly atMs: number;
}

type ReceiverMoment = 'arrived' | 'replied';

/** A customer's endpoint. It keeps accepted posts and can act when a post arrives or has been answered. */
export interface WebhookReceiver {
  readonly url: string;
  readonly posts: readonly ReceivedPost[];
  /** Acts once, at the n-th occurrence from now. */
  at(moment: ReceiverMoment, act: () => Promise<void> | void, nth?: number): void;
  /** Sets the status of later responses. */
  answer(status: number): void;
  close(): Promise<void>;
}

interface PlannedAct {
  readonly moment: ReceiverMoment;
  readonly act: () => Promise<void> | void;
  left: number;
}

export const openWebhookReceiver = async (): Promise<WebhookReceiver> => {
  const posts: ReceivedPost[] = [];
  let planned: readonly PlannedAct[] = [];
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
