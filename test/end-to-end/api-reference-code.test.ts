import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDocument } from '../../src/http/docs/document.ts';
import { type PlacedOperation, samplesOf } from '../../src/http/docs/operations.ts';
import { LANGUAGES, type SampleRequest } from '../../src/http/docs/snippets.ts';
import { startService } from '../http/support/service.ts';

/**
 * The code of the API reference, run: every example of every operation, in every language, against a server that records
 * the requests. Each has to make the request of its example.
 */

interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const KEY = 'ob_test_of_the_examples';
const SDK = new URL('../../sdk/src/index.ts', import.meta.url).pathname;
const TSC = new URL('../../node_modules/typescript/bin/tsc', import.meta.url).pathname;
const ANSWER = '{"object":"list","data":[],"has_more":false,"next_cursor":null}';

const received: ReceivedRequest[] = [];
const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  received.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
  response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
});

let folder: string;
let samples: readonly { readonly what: string; readonly request: SampleRequest }[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outbox-code-'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service = await startService({ publicUrl: url });
  const document = readDocument((await service.request({ url: '/openapi.json' })).json());
  await service.close();
  const placed = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]): PlacedOperation => ({ method: method.toUpperCase(), path, operation }),
    ),
  );
  samples = placed.flatMap((one) =>
    samplesOf(one, url).map(({ summary, request }) => ({ what: `${one.operation.operationId} ${summary}`, request })),
  );
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

const write = (request: SampleRequest, id: string): string =>
  LANGUAGES.find(([language]) => language === id)?.[2](request) ?? '';

type Files = Readonly<Record<string, string>>;

/** One program of all snippets of a language, so that it starts once. */
const PROGRAMS: Readonly<
  Record<
    string,
    { readonly command: readonly [string, ...string[]]; readonly files: (all: readonly string[]) => Files }
  >
> = {
  curl: {
    command: ['bash', 'all.sh'],
    files: (all) => ({ 'all.sh': ['set -euo pipefail', ...all.map((one) => `${one} >/dev/null`)].join('\n') }),
  },
  typescript: {
    command: [process.execPath, 'all.mts'],
    files: (all) => ({
      ...Object.fromEntries(
        all.map((one, index) => [`s${index}.mts`, `${one.replace("'outbox-sdk'", `'${SDK}'`)}\nexport {};\n`]),
      ),
      'all.mts': all.map((_, index) => `await import('./s${index}.mts');`).join('\n'),
    }),
  },
  python: {
    command: ['python3', 'all.py'],
    files: (all) => ({
      ...Object.fromEntries(all.map((one, index) => [`s${index}.py`, one])),
      'all.py': `import runpy\nfor index in range(${all.length}):\n    runpy.run_path(f's{index}.py')\n`,
    }),
  },
  php: {
    command: ['php', '-d', 'error_reporting=-1', '-d', 'display_errors=stderr', 'all.php'],
    files: (all) => ({ 'all.php': `<?php\n${all.join('\n')}\n` }),
  },
  go: {
    command: ['go', 'run', '.'],
    files: (all) => ({
      ...Object.fromEntries(
        all.map((one, index) => [`s${index}.go`, one.replace('func main()', `func snippet${index}()`)]),
      ),
      'main.go': `package main\n\nfunc main() {\n${all.map((_, index) => `\tsnippet${index}()`).join('\n')}\n}\n`,
      'go.mod': 'module examples\n\ngo 1.19\n',
    }),
  },
  ruby: {
    command: ['ruby', 'all.rb'],
    files: (all) => ({
      ...Object.fromEntries(all.map((one, index) => [`s${index}.rb`, one])),
      'all.rb': `${all.length}.times { |index| load "./s#{index}.rb", true }\n`,
    }),
  },
};

const isMissing = (program: string): boolean => {
  try {
    execFileSync('bash', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return false;
  } catch {
    return process.env.CI_ENGINES !== 'required';
  }
};

/** A body as its values. */
const valueIn = ({ headers, body }: Pick<ReceivedRequest, 'headers' | 'body'>): unknown => {
  if (body === '') return undefined;
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  return isForm ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body);
};

const wantedOf = ({ method, path, needsKey, isIdempotent, body }: SampleRequest) => ({
  method,
  url: decodeURIComponent(path),
  key: needsKey ? `Bearer ${KEY}` : undefined,
  idempotencyKey: isIdempotent ? 'order-1' : undefined,
  body: body?.value,
});

const gotOf = ({ method, url, headers, body }: ReceivedRequest) => ({
  method,
  url: decodeURIComponent(url),
  key: headers.authorization,
  idempotencyKey: headers['idempotency-key'],
  body: valueIn({ headers, body }),
});

describe.each(LANGUAGES.map(([id]) => id))('the examples of the API reference in %s', (id) => {
  const { command, files } = PROGRAMS[id] ?? { command: ['false'] as const, files: () => ({}) };
  test.skipIf(isMissing(command[0]))(
    'make the requests that they stand for',
    async () => {
      const place = join(folder, id);
      await mkdir(place);
      const all: Files = files(samples.map(({ request }) => write(request, id)));
      for (const [name, text] of Object.entries(all)) await writeFile(join(place, name), text);
      received.splice(0);
      const [program, ...args] = command;
      const { stderr } = await promisify(execFile)(program, args, {
        cwd: place,
        maxBuffer: 50_000_000,
        env: {
          PATH: process.env.PATH,
          HOME: place,
          LANG: 'C.UTF-8',
          GOFLAGS: '',
          GOCACHE: join(folder, '.go-build'),
          NODE_NO_WARNINGS: '1',
          OUTBOX_API_KEY: KEY,
        },
      });
      expect(stderr).toBe('');
      const pairs = samples.map(({ what, request }, index) => {
        const one = received[index];
        return { what, wanted: wantedOf(request), got: one === undefined ? undefined : gotOf(one) };
      });
      for (const { what, wanted, got } of pairs) expect({ what, ...got }).toEqual({ what, ...wanted });
      expect(received).toHaveLength(samples.length);
    },
    300_000,
  );
});

test('the TypeScript of the API reference has the types of the SDK', async () => {
  const place = join(folder, 'types');
  await mkdir(place);
  const all = samples
    .filter(({ request }) => request.sdk !== undefined)
    .map(({ request }) => write(request, 'typescript'));
  expect(all.length).toBeGreaterThan(100);
  for (const [index, text] of all.entries())
    await writeFile(join(place, `s${index}.ts`), `${text.replace("'outbox-sdk'", `'${SDK}'`)}\nexport {};\n`);
  const compilerOptions = {
    target: 'es2024',
    module: 'nodenext',
    lib: ['es2024', 'dom', 'dom.iterable'],
    types: [],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  };
  await writeFile(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await writeFile(join(place, 'package.json'), '{ "type": "module" }');
  const compiled = await promisify(execFile)(process.execPath, [TSC, '-p', place]).catch(
    (error: { stdout: string }) => error,
  );
  expect(compiled.stdout).toBe('');
}, 180_000);
