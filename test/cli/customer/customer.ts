import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { format } from 'node:util';
import { afterAll, beforeAll, beforeEach, onTestFinished, vi } from 'vitest';
import type { Result, ServiceCommand, Values } from '../../../src/cli/command.ts';
import { createService, type Service } from '../../../src/cli/customer/service.ts';
import { type Program, runProgram } from '../../../src/cli/run.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';
import { bounce } from '../../http/support/bounced.ts';
import { type DatabaseService, startDatabaseService } from '../../http/support/database-service.ts';
import { receive } from '../../http/support/received-mail.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Killable {
  kill(signal: NodeJS.Signals): boolean;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Text for standard input, which then ends. Absent: it ends immediately. */
  readonly input?: string;
  onStart?(child: Killable): void;
  /** Called with all output so far. */
  onOutput?(printed: string, child: Killable): void;
}

/** Runs the command as a user does, in a process of its own. */
const start = (
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  { input = '', onStart, onOutput }: RunOptions,
): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['src/cli/main.ts', ...words], { cwd: ROOT, env });
    onStart?.(child);
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      onOutput?.(stdout, child);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
    // A command that has ended does not read its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });

/** The program of `src/cli/main.ts`. */
const PROGRAM: Program = {
  commands: async () => (await import('../../../src/cli/commands.ts')).COMMANDS,
  runForOperator: async (...given) => (await import('../../../src/cli/run-for-operator.ts')).runForOperator(...given),
};

/** Runs the command in this process, with arguments, environment, input and output of its own: loading it again takes half a second. */
const runHere = async (
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  input: string,
): Promise<Ran> => {
  const before = { argv: process.argv, env: process.env, stdin: Object.getOwnPropertyDescriptor(process, 'stdin') };
  const ran = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).flatMap((name) => [
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      ran[name] += String(text);
      return true;
    }),
    vi.spyOn(console, name === 'stdout' ? 'log' : 'error').mockImplementation((...values) => {
      ran[name] += `${format(...values)}\n`;
    }),
    vi.spyOn(process[name], 'on').mockReturnThis(),
  ]);
  process.argv = [process.execPath, 'outbox', ...words];
  process.env = { ...env };
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true });
  process.exitCode = undefined;
  try {
    await runProgram(PROGRAM);
    return { code: Number(process.exitCode ?? 0), ...ran };
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
    process.argv = before.argv;
    process.env = before.env;
    if (before.stdin !== undefined) Object.defineProperty(process, 'stdin', before.stdin);
  }
};

let running: Promise<unknown> = Promise.resolve();

/** Runs the command `outbox …` without a terminal, one after another. It has a process of its own if the test sends it signals. */
export const outbox = (words: readonly string[], options: RunOptions = {}): Promise<Ran> => {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', LANG: 'C.UTF-8', ...options.env };
  if (options.onStart !== undefined || options.onOutput !== undefined) return start(words, env, options);
  const ran = running.then(() => runHere(words, env, options.input ?? ''));
  running = ran.catch(() => undefined);
  return ran;
};

/** A folder for profiles that is removed after the test. */
export const configFolder = async (): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), 'outbox-config-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
};

/** A terminal that records the output of a command. */
export interface TestTerminal extends Terminal {
  readonly printed: object[];
  readonly texts: string[];
  readonly notes: string[];
  end(): void;
}

export const testTerminal = (options: Partial<Terminal> = {}): TestTerminal => {
  const end = new AbortController();
  const [printed, texts, notes]: [object[], string[], string[]] = [[], [], []];
  return {
    json: true,
    columns: 80,
    unicode: true,
    canAsk: false,
    signal: end.signal,
    print: (value, text) => {
      printed.push(value);
      texts.push(text());
    },
    note: (text) => void notes.push(text),
    progress: () => ({ at: () => undefined, end: () => undefined }),
    ask: () => Promise.reject(new Error('no terminal to ask')),
    ...options,
    printed,
    texts,
    notes,
    end: () => end.abort(new Error('ended by the test')),
  };
};

/** A service with the answers that a test defines. */
export const startDouble = async (
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<string> => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    answer(request, response, Buffer.concat(chunks).toString());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => void server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** A client of a service at a URL. */
export const clientOf = (url: string, key: string, terminal = testTerminal()): Service =>
  createService({ target: { url, key, profile: null }, signal: terminal.signal, note: terminal.note });

/** A running service for the commands. Each test has its own organization, domain and admin key. */
export const useCustomer = () => {
  let service: DatabaseService;
  let organizations = 0;
  const now = { url: '', key: '', domain: '', domainId: '', organizationId: '' };

  beforeAll(async () => {
    service = await startDatabaseService();
    now.url = await service.server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => {
    // Aborted commands leave connections in their client's pool.
    service.server.server.closeAllConnections();
    return service.close();
  });
  beforeEach(async () => {
    organizations += 1;
    now.organizationId = await service.makeOrganization();
    now.domain = `customer-${organizations}.test`;
    now.domainId = await service.makeDomain(now.organizationId, now.domain);
    now.key = (await service.makeKey(now.organizationId, now.domainId)).value;
  });

  return {
    now,
    env: () => ({ OUTBOX_URL: now.url, OUTBOX_API_KEY: now.key }),
    keyFor: (more: Parameters<DatabaseService['makeKey']>[2]) =>
      service.makeKey(now.organizationId, now.domainId, more),
    revoke: (keyId: string) =>
      service.request({ method: 'POST', url: `/v1/api-keys/${keyId}/revoke`, key: now.key, payload: {} }),
    /** Sends a mail through the API. @returns its id. */
    send: async (more: object = {}): Promise<string> => {
      const payload = { from: `shop@${now.domain}`, to: 'ann@example.net', subject: 'Hello', text: 'Hello', ...more };
      const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key: now.key, payload });
      if (answer.statusCode !== 202) throw new Error(answer.body);
      return answer.json().id;
    },
    bounce: (id: string) => bounce(service, id),
    /** Receives a mail. @returns its id. */
    receive: (to: string): Promise<string> => {
      const { organizationId, domainId } = now;
      return receive(service.deps.context, { organizationId, environment: 'live', domainId, to });
    },
    addDomain: (name: string) => service.makeDomain(now.organizationId, name),
    suppress: (address: string) =>
      service.request({ method: 'POST', url: '/v1/suppressions', key: now.key, payload: { address } }),
    messages: async () => (await service.request({ method: 'GET', url: '/v1/messages', key: now.key })).json().data,
    run: (
      command: ServiceCommand,
      values: Values = {},
      positionals: readonly string[] = [],
      terminal = testTerminal(),
    ): Promise<Result | undefined> =>
      command.run(clientOf(now.url, now.key, terminal), { values, positionals }, terminal),
  };
};
