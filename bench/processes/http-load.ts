import autocannon from 'autocannon';
import { serveParent } from '../harness/serve-parent.ts';

export interface HttpLoad {
  /** Of the API. */
  readonly baseUrl: string;
  readonly key: string;
  /** Where to. Default: single sends. */
  readonly path?: string;
  /** Sent in turns. */
  readonly bodies: readonly string[];
  readonly connections: number;
  /** How long, or how many. */
  readonly extent: { readonly seconds: number } | { readonly amount: number };
}

export interface HttpLoadResult {
  /** Answered 202. */
  readonly accepted: number;
  /** Answered otherwise, or not at all: their number must be 0 for the figures to mean anything. */
  readonly failed: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const SEND = '/v1/messages/send';
const ACCEPTED = 202;
const SECOND_MS = 1000;

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

/** autocannon's own histogram knows whole milliseconds only, so times are taken from its events. */
const run = async ({ baseUrl, key, path = SEND, bodies, connections, extent }: HttpLoad): Promise<HttpLoadResult> => {
  const times: number[] = [];
  let refused = 0;
  const beganMs = performance.now();
  let endedMs = beganMs;
  const { promise: ended, resolve, reject } = Promise.withResolvers<autocannon.Result>();
  const options: autocannon.Options = {
    url: `${baseUrl}${path}`,
    connections,
    ...('seconds' in extent ? { duration: extent.seconds } : { amount: extent.amount }),
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    requests: bodies.map((body) => ({ body })),
  };
  const running = autocannon(options, (error: Error | null, result) =>
    error === null ? resolve(result) : reject(error),
  );
  running.on('response', (_client, status, _bytes, ms) => {
    endedMs = performance.now();
    if (status === ACCEPTED) times.push(ms);
    else refused += 1;
  });
  const { errors } = await ended;
  const sorted = times.toSorted((a, b) => a - b);
  return {
    accepted: times.length,
    failed: refused + errors,
    perSecond: (times.length * SECOND_MS) / (endedMs - beganMs),
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  };
};

await serveParent(async () => ({ facts: {}, answers: { run }, close: async () => undefined }));
