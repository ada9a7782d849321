import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request of an example and the response of the service. */
export interface Exchange {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly requestHeaders: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly requestBody: string;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface Recorder {
  readonly url: string;
  /** Exchanges since the last call. */
  take(): readonly Exchange[];
  close(): void;
}

/** A proxy in front of the service that records what passes. */
export const startRecorder = async (baseUrl: string): Promise<Recorder> => {
  let exchanges: Exchange[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const requestBody = Buffer.concat(await request.toArray()).toString();
    const passed = ['authorization', 'content-type', 'idempotency-key', 'if-match'].flatMap((name) =>
      typeof headers[name] === 'string' ? [[name, headers[name]] as [string, string]] : [],
    );
    const answer = await fetch(baseUrl + url, { method, headers: passed, ...(requestBody && { body: requestBody }) });
    const body = await answer.text();
    const { status, statusText } = answer;
    exchanges.push({
      method,
      path: url,
      requestHeaders: headers,
      requestBody,
      status,
      statusText,
      headers: answer.headers,
      body,
    });
    const kept = [...answer.headers].filter(([name]) => !['connection', 'keep-alive', 'date'].includes(name));
    response.writeHead(status, kept.flat()).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take: () => {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
