import { serveParent } from '../harness/serve-parent.ts';
import { drive } from '../load/drive.ts';
import type { Extent } from '../load/pace.ts';

export interface HttpLoad {
  /** URL of the API. */
  readonly baseUrl: string;
  readonly key: string;
  /** Path of the requests. Default: single sends. */
  readonly path?: string;
  /** Sent in rotation. */
  readonly bodies: readonly string[];
  readonly connections: number;
  readonly extent: Extent;
}

export interface HttpLoadResult {
  /** Number of 202 responses. */
  readonly accepted: number;
  /** Number of other responses, which must be 0 for the figures to be meaningful. */
  readonly failed: number;
  /** Number of responses by status. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of this process per response, in microseconds. */
  readonly cpuMicros: number;
}

const SEND = '/v1/messages/send';
const ACCEPTED = 202;
const SECOND_MS = 1000;

const requestOf = (url: URL, key: string, body: string): Buffer =>
  Buffer.from(
    [
      `POST ${url.pathname} HTTP/1.1`,
      `host: ${url.host}`,
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );

const run = async ({ baseUrl, key, path = SEND, bodies, connections, extent }: HttpLoad): Promise<HttpLoadResult> => {
  const url = new URL(path, baseUrl);
  const requests = bodies.map((body) => requestOf(url, key, body));
  const before = process.cpuUsage();
  const { statuses, times, elapsedMs } = await drive({ url, requests, connections, extent });
  const { user, system } = process.cpuUsage(before);
  const answers = statuses.values().reduce((sum, count) => sum + count, 0);
  const accepted = statuses.get(ACCEPTED) ?? 0;
  return {
    accepted,
    failed: answers - accepted,
    statuses: Object.fromEntries(statuses),
    perSecond: (accepted * SECOND_MS) / elapsedMs,
    p50Ms: times.quantile(0.5),
    p99Ms: times.quantile(0.99),
    cpuMicros: (user + system) / Math.max(1, answers),
  };
};

await serveParent(async () => ({ facts: {}, answers: { run }, close: async () => undefined }));
