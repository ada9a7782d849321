import { isUtf8 } from 'node:buffer';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { readAtMost, type System } from '../../lib/async/async.ts';
import {
  ADD_CHECKPOINT,
  type Answer,
  MalformedNote,
  REQUEST_BYTES_MAX,
  readRequest,
  type VerifierKey,
} from '../../lib/transparency/transparency.ts';
import type { CosignedCheckpoints } from './cosigned-checkpoints.ts';

/** Serves the witness over HTTP. Requests are limited in size, time and number. */

export interface ServeWitness {
  /** Keys of the logs it cosigns for. A key's name is the origin of its log. */
  readonly logs: readonly VerifierKey[];
  readonly cosigned: CosignedCheckpoints;
  readonly system: Pick<System, 'now'>;
  /** Called on faults, after which nothing was cosigned. */
  onFault(error: unknown): void;
}

/** Higher: more memory when many connect at once. Lower: rejects logs that connect at the same time. */
const CONNECTIONS_MAX = 128;
const REQUEST_MS_MAX = 15_000;

const answerOf = (status: number, text: string): Answer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: `${text}\n`,
});

export const createWitnessServer = ({ logs, cosigned, system, onFault }: ServeWitness): Server => {
  const cosign = async (body: Buffer): Promise<Answer> => {
    const shown = readRequest(body.toString(), logs);
    return 'status' in shown ? shown : cosigned.cosign(shown, Math.floor(system.now().getTime() / 1000));
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    if (request.url !== ADD_CHECKPOINT) return answerOf(404, 'a witness answers POST /add-checkpoint');
    if (request.method !== 'POST') return answerOf(405, 'use POST');
    const body = await readAtMost(request, REQUEST_BYTES_MAX);
    if (body === null) return answerOf(413, `a request has ${REQUEST_BYTES_MAX} bytes at most`);
    return isUtf8(body) ? cosign(body) : answerOf(400, 'the request is not UTF-8');
  };

  const failed = (error: unknown): Answer => {
    if (error instanceof MalformedNote) return answerOf(400, error.message);
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') onFault(error);
    return answerOf(500, 'nothing was cosigned');
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, contentType, body } = await answer(request).catch(failed);
    if (status === 413) response.setHeader('connection', 'close');
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  };

  const server = createServer(
    { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX },
    (request, response) => {
      void serve(request, response);
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  return server;
};
