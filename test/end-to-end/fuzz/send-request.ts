import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import type { FuzzRequest } from './make-request.ts';

export interface FuzzAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly text: string;
}

const readable = (headers: IncomingHttpHeaders): FuzzAnswer['headers'] => ({
  get: (name) => {
    const value = headers[name.toLowerCase()];
    return value === undefined ? null : [value].flat().join(', ');
  },
});

export interface Sender {
  /**
   * Sends a request. For an event stream, which never ends, the answer is the first frame.
   * @throws {Error} after the time limit, or if the connection was closed.
   */
  send(asked: FuzzRequest): Promise<FuzzAnswer>;
  close(): void;
}

export const createSender = (baseUrl: string, connections: number, timeoutMs: number): Sender => {
  const { hostname: host, port } = new URL(baseUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const send = ({ method, path, headers, body }: FuzzRequest): Promise<FuzzAnswer> =>
    new Promise((resolve, reject) => {
      const lengths = body === null ? {} : { 'content-length': body.length };
      const asked = request({ agent, host, port, method, path, headers: { ...headers, ...lengths } }, (answer) => {
        const chunks: Buffer[] = [];
        const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true;
        const end = (): void => {
          clearTimeout(timer);
          const bytes = Buffer.concat(chunks);
          const isPacked = answer.headers['content-encoding'] === 'gzip' && bytes.length > 0; // a 304 has no body
          const text = (isPacked ? gunzipSync(bytes) : bytes).toString();
          resolve({ status: answer.statusCode ?? 0, headers: readable(answer.headers), text });
        };
        answer.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (!isStream) return;
          end();
          asked.destroy();
        });
        answer.once('error', fail);
        answer.once('end', end);
      });
      const fail = (error: Error): void => {
        clearTimeout(timer);
        reject(error);
      };
      const timer = setTimeout(() => asked.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      asked.once('error', fail);
      asked.end(body ?? undefined);
    });
  return { send, close: () => agent.destroy() };
};
