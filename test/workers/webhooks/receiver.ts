import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface ReceivedPost {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly bytes: Buffer;
  /** An empty object if the post is a form. */
  readonly json: { readonly type: string; readonly id: string; readonly data: Record<string, unknown> };
  readonly at: number;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface Receiver {
  readonly url: string;
  readonly posts: readonly ReceivedPost[];
  /** Types of the received events, in order. */
  types(): readonly string[];
  close(): Promise<void>;
}

/** A customer's endpoint: a real HTTP server that records its requests. */
export const openReceiver = async (
  answer: (post: ReceivedPost, count: number) => Promise<Answer> | Answer = () => ({ status: 204 }),
): Promise<Receiver> => {
  const posts: ReceivedPost[] = [];
  const server = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      const bytes = await buffer(request);
      const body = bytes.toString();
      const isForm = request.headers['content-type']?.startsWith('multipart/') ?? false;
      const json = isForm ? {} : JSON.parse(body);
      const post = { headers: request.headers, body, bytes, json, at: performance.now() };
      posts.push(post);
      const { status, headers = {}, body: said = '' } = await answer(post, posts.length);
      response.writeHead(status, headers).end(said);
    };
    handle().catch(() => response.destroy());
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', () => listening.resolve());
  await listening.promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    posts,
    types: () => posts.map(({ json }) => json.type),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
