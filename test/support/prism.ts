import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/**
 * Prism as a validating proxy between tests and the service, if `PRISM_CLI` names its program (`.ci/openapi` does). It
 * checks requests and responses against the document with a validator that is not ours.
 *
 * A server before it sends requests that Prism cannot carry straight to the service, and reads the violations that
 * Prism found. A violation in a response is always a finding. A violation in a request is a finding if the service
 * accepted it, because the document then rejects requests that the service accepts.
 */

/** Number of requests by route taken. */
type Counts = Record<string, number>;

export interface Front {
  /** Base URL for clients. */
  readonly url: string;
  /** Violations so far, each with its request. */
  readonly findings: readonly string[];
  close(): Promise<void>;
}

interface Violation {
  readonly location: readonly string[];
  readonly message: string;
}

const PRISM_CLI = process.env.PRISM_CLI;
const READY_MS = 120_000;
/** Prism does not parse larger bodies. */
const BODY_BYTES_MAX = 10_000_000;
const BAD_REQUEST = 400;
/** Prism never finishes some responses, for example an empty one declared as JSON. */
const ANSWER_MS_MAX = 60_000;

const wholeBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
};

const parses = (parse: () => unknown): boolean => {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
};

const isJson = ({ headers }: IncomingMessage): boolean => headers['content-type']?.includes('json') === true;

/**
 * The reason why Prism cannot carry a request: it never answers a body that it cannot parse, and waits for the end of a
 * stream.
 */
const tooMuchForPrism = (asked: IncomingMessage, body: Buffer): string | null => {
  if (asked.headers.accept?.includes('text/event-stream')) return 'a stream of events';
  if (body.length > BODY_BYTES_MAX) return 'a large body';
  if (asked.headers['content-encoding'] !== undefined) return 'a packed body';
  if (isJson(asked) && body.length > 0 && !parses(() => JSON.parse(body.toString()))) return 'a body that is no JSON';
  return parses(() => decodeURIComponent(asked.url ?? '')) ? null : 'an invalid path';
};

const violationsIn = (header: string): readonly Violation[] =>
  header.startsWith('[') ? JSON.parse(header) : [{ location: ['response'], message: header }];

const startPrism = async (upstream: string, folder: string): Promise<{ child: ChildProcess; url: string }> => {
  const document = join(folder, 'openapi.json');
  await writeFile(document, await (await fetch(`${upstream}/openapi.json`)).text());
  const port = await freePort();
  const options = ['proxy', document, upstream, '--no-cors', '--host', '127.0.0.1', '--port', `${port}`];
  const child = spawn(process.execPath, [PRISM_CLI ?? '', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  // Prism does not survive a failed test run.
  process.once('exit', () => child.kill('SIGKILL'));
  child.unref();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Prism does not listen within ${READY_MS} ms`)), READY_MS);
    child.stdout.on('data', (chunk: Buffer) => {
      if (!chunk.toString().includes('Prism is listening')) return;
      clearTimeout(timer);
      resolve();
    });
    child.once('exit', (code) => reject(new Error(`Prism ended with ${code}`)));
  });
  return { child, url: `http://127.0.0.1:${port}` };
};

const pass = (asked: IncomingMessage, body: Buffer, target: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { method, url, headers } = asked;
    const options = { method, headers: { ...headers, host: new URL(target).host } };
    const onward = request(target + url, options, (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    const timer = setTimeout(() => onward.destroy(new Error(`no answer within ${ANSWER_MS_MAX} ms`)), ANSWER_MS_MAX);
    onward.once('error', reject).end(body);
  });

const findingsOf = (asked: IncomingMessage, answer: IncomingMessage): readonly string[] => {
  const { statusCode = 0, headers } = answer;
  const violations = violationsIn([headers['sl-violations'] ?? '[]'].flat().join());
  return violations
    .filter(({ location: [side] }) => side === 'response' || statusCode < BAD_REQUEST)
    .map(({ location, message }) => `${asked.method} ${asked.url} ${statusCode}: ${location.join('.')} ${message}`);
};

/** Starts Prism before a service. Returns the service itself without `PRISM_CLI`. */
export const prismBefore = async (upstream: string): Promise<Front> => {
  if (PRISM_CLI === undefined) return { url: upstream, findings: [], close: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'outbox-prism-'));
  const prism = await startPrism(upstream, folder);
  const counts: Counts = {};
  const findings: string[] = [];

  const handle = async (asked: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const body = await wholeBody(asked);
    const reason = tooMuchForPrism(asked, body);
    const way = reason ?? 'through Prism';
    counts[way] = (counts[way] ?? 0) + 1;
    const answer = await pass(asked, body, reason === null ? prism.url : upstream);
    findings.push(...findingsOf(asked, answer));
    const { 'sl-violations': _, ...headers } = answer.headers;
    reply.writeHead(answer.statusCode ?? 0, headers);
    answer.pipe(reply);
  };

  const server = createServer((asked, reply) => {
    handle(asked, reply).catch((error: unknown) => {
      findings.push(`${asked.method} ${asked.url}: ${error}`);
      reply.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    findings,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      prism.child.kill('SIGKILL');
      await rm(folder, { recursive: true });
      process.stdout.write(`prism: ${JSON.stringify(counts)}, ${findings.length} findings\n`);
    },
  };
};
