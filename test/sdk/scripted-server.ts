import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApiError } from '../../sdk/src/index.ts';

/** A completely received request. */
export interface ScriptedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Script = (response: ServerResponse, asked: ScriptedRequest) => void;

/** Answers each request with the next script, and all later ones with the last. */
export interface ScriptedServer {
  readonly url: string;
  readonly asked: ScriptedRequest[];
  script(...scripts: readonly Script[]): void;
  close(): Promise<void>;
}

const wholeBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

export const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Script =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** An error response in the service's format. */
export const refusal = (status: number, code: string, more: object = {}): Script =>
  json(status, { error: { message: `refused: ${code}`, code, ...more } }, { 'x-request-id': `req_${status}` });

/** The error with which a request fails. */
export const failureOf = async (promise: PromiseLike<unknown>): Promise<ApiError> => {
  const outcome = await Promise.resolve(promise).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome as ApiError;
  throw new Error('it did not fail');
};

export const startScriptedServer = async (): Promise<ScriptedServer> => {
  const asked: ScriptedRequest[] = [];
  let scripts: readonly Script[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    // A request that is cut off does not count.
    const body = await wholeBody(request).catch(() => null);
    if (body === null) return;
    const one = { method, url, headers, body };
    asked.push(one);
    (scripts[asked.length - 1] ?? scripts.at(-1))?.(response, one);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    script: (...next) => {
      asked.length = 0;
      scripts = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
