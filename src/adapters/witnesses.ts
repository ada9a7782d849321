import { Agent, request } from 'undici';
import { type WitnessAnswer, type Witnesses, WitnessUnreachable } from '../domain/ports/requests.ts';
import { readAtMost } from '../lib/async/async.ts';

/** Time-out of a whole request. Longer waits for a dead witness, shorter gives up on a distant one. */
const TIMEOUT_MS = 10_000;
/** Connections to one witness, which limits how many logs it is asked about at once. */
const CONNECTIONS = 8;
/** A response has a few lines, of 3.5 kB each with ML-DSA-44. */
const ANSWER_BYTES_MAX = 16_384;

const textOf = async (body: AsyncIterable<Buffer>): Promise<string> => {
  const bytes = await readAtMost(body, ANSWER_BYTES_MAX);
  if (bytes === null) throw new WitnessUnreachable(`its answer has more than ${ANSWER_BYTES_MAX} bytes`);
  return bytes.toString('utf8');
};

const problemOf = (error: unknown): string => {
  const { name, code, message } = error as { name?: unknown; code?: unknown; message?: unknown };
  if (name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`;
  return typeof code === 'string' ? code : String(message);
};

/** Asks witnesses over HTTP. The operator configures them, so any address is allowed. */
export const createHttpWitnesses = (): Witnesses => {
  const agent = new Agent({ connections: CONNECTIONS });

  const send = async (url: string, body: string, signal: AbortSignal): Promise<WitnessAnswer> => {
    const answer = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body,
      dispatcher: agent,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const contentType = String(answer.headers['content-type'] ?? '');
    return { status: answer.statusCode, contentType, body: await textOf(answer.body) };
  };

  return {
    post: async (url, body, signal) => {
      try {
        return await send(url, body, signal);
      } catch (error) {
        if (error instanceof WitnessUnreachable) throw error;
        throw new WitnessUnreachable(problemOf(error));
      }
    },
    // Requests in progress are not waited for.
    close: () => agent.destroy(),
  };
};
