import { Agent, request } from 'undici';
import { type WitnessAnswer, type Witnesses, WitnessUnreachable } from '../../domain/ports/witnesses.ts';
import { readAtMost } from '../../lib/async/async.ts';

/** Of a whole question and its answer. Longer waits for what is gone, shorter gives up on a witness far away. */
const TIMEOUT_MS = 10_000;
/** To one witness: it is asked about as many logs at once. */
const CONNECTIONS = 8;
/** An answer is a few lines, of 3.5 kB each with ML-DSA-44. */
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

/** Asks witnesses over HTTP. The operator names them, so that any address may be one. */
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
    // A question that is under way is not waited for.
    close: () => agent.destroy(),
  };
};
