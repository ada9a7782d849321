import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { AnyBody } from '../support/api-client.ts';
import { operator } from '../support/operator.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { type Example, LANGUAGES, type Language, readPage, withResponses } from './developer-pages/page.ts';
import { createReadingCopy, type ReadingCopy } from './developer-pages/reading-copy.ts';
import { type Exchange, type Recorder, startRecorder } from './developer-pages/recorder.ts';
import { isMissing, runSnippet } from './developer-pages/snippets.ts';

/**
 * Every example of the pages for developers, run in its language against the service, each language in an organization of
 * its own. The responses of curl are the ones that the pages show: `--update` writes them. Every other language has to
 * make the same requests and get the same responses.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const PAGES = ['sending', 'checking-content', 'responses'];
const path = (page: string): string => join(ROOT, 'docs', `${page}.md`);
const INSTALL_MS_MAX = 300_000;
/** The longest page in five languages at once takes one minute on an idle machine, and three beside other tests. */
const PAGE_MS_MAX = 900_000;
/** The default limit of a key for sending. */
const SENDS_A_MINUTE = 100;

const CAMPAIGN_MAILS = 3;

const run = promisify(execFile);
let folder: string;
let data: Awaited<ReturnType<typeof newDataDir>>;
let program: Program;

/** A PNG of one pixel. */
const LOGO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

beforeAll(async () => {
  data = await newDataDir();
  folder = join(data.path, 'snippets');
  await mkdir(folder);
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: join(ROOT, 'sdk') });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[')));
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', `./${filename}`], { cwd: folder });
  await writeFile(join(folder, 'invoice.pdf'), '%PDF-1.7 not a long one\n');
  await writeFile(join(folder, 'logo.png'), LOGO);
  program = await startProgram({ dataDir: join(data.path, 'data') });
}, INSTALL_MS_MAX);
afterAll(async () => {
  await program.end('SIGTERM');
  await rm(folder, { recursive: true, force: true });
  await data.remove();
});

const api = async (key: string, method: string, url: string, body?: object): Promise<AnyBody> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(program.baseUrl + url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as AnyBody;
};

interface Tenant {
  readonly domain: string;
  makeKey(): Promise<string>;
  /** Waits until no message is accepted or being sent, so that every message has its outcome. */
  settle(): Promise<void>;
}

const makeTenant = async (language: Language): Promise<Tenant> => {
  // A domain belongs to one organization. Its name is as long as the `example.test` of the pages.
  const domainName = `exampl${LANGUAGES.indexOf(language)}.test`;
  const options = { dataDir: join(data.path, 'data') };
  const { organization_id: organization } = await operator(options, 'organizations', 'create', '--name', language);
  const place = ['--organization', organization];
  const { domain_id: domain } = await operator(options, 'domains', 'create', ...place, '--name', domainName);
  const { key: admin } = await operator(
    options,
    'keys',
    'create',
    ...place,
    '--domain',
    domain,
    '--permissions',
    'admin',
  );
  const makeKey = async (): Promise<string> => {
    const wanted = { name: 'pages', domain_id: domain, permissions: ['send', 'read'], environment: 'test' };
    return (await api(admin, 'POST', '/v1/api-keys', wanted)).key;
  };
  const reader = await makeKey();
  return {
    domain: domainName,
    makeKey,
    settle: () =>
      vi.waitFor(
        async () => {
          for (const status of ['accepted', 'sending']) {
            expect((await api(reader, 'GET', `/v1/messages?status=${status}`)).data).toEqual([]);
          }
        },
        { timeout: 120_000, interval: 50 },
      ),
  };
};

const mailsOf = ({ domain }: Tenant, length: number) =>
  Array.from({ length }, () => ({
    from: `hello@${domain}`,
    to: 'delivered@sandbox.outbox.test',
    subject: 'Hello',
    text: 'Hello',
  }));

const tenants = new Map<Language, Promise<Tenant>>();

const tenantOf = (language: Language): Promise<Tenant> => {
  const tenant = tenants.get(language) ?? makeTenant(language);
  tenants.set(language, tenant);
  return tenant;
};

/** Preparations that an example names by `<!-- state: … -->`. @returns the key that the example uses. */
const STATES: Readonly<Record<string, (tenant: Tenant) => Promise<string>>> = {
  'the limit is used up': async (tenant) => {
    const key = await tenant.makeKey();
    await api(key, 'POST', '/v1/messages/batch', { messages: mailsOf(tenant, SENDS_A_MINUTE) });
    return key;
  },
  'a campaign of three': async (tenant) => {
    const key = await tenant.makeKey();
    const tags = [{ name: 'campaign', value: 'spring' }];
    // One after the other, so that they have an order.
    for (const [index, mail] of mailsOf(tenant, CAMPAIGN_MAILS).entries()) {
      await api(key, 'POST', '/v1/messages/send', { ...mail, subject: `Spring sale, day ${index + 1}`, tags });
    }
    await tenant.settle();
    return key;
  },
};

interface Walk {
  readonly tenant: Tenant;
  readonly recorder: Recorder;
  readonly key: string;
  readonly copy: ReadingCopy;
}

/** Commands of a shell run one by one, because a command can use what the one before was answered. */
const partsOf = (language: Language, code: string): readonly string[] =>
  language === 'sh' ? code.split(/^(?=curl )/m) : [code];

const runExample = async (
  language: Language,
  setup: string,
  { code, state }: Example,
  { tenant, recorder, key, copy }: Walk,
): Promise<readonly Exchange[]> => {
  await tenant.settle();
  const ready = state === null ? key : await STATES[state]?.(tenant);
  if (ready === undefined) throw new Error(`nothing prepares '${state}'`);
  const exchanges: Exchange[] = [];
  for (const part of partsOf(language, code[language] ?? '')) {
    const snippet = copy.toRun(part);
    await runSnippet(language, { setup, snippet }, { folder, url: recorder.url, key: ready });
    const passed = recorder.take();
    for (const exchange of passed) copy.learn(exchange);
    exchanges.push(...passed);
  }
  return exchanges;
};

/** All pages use the setup of the first one. A shell has none: its variables are set for the test. */
const setupOf = async (language: Language): Promise<string> =>
  language === 'sh' ? '' : (readPage(await readFile(path('sending'), 'utf8')).setup[language] ?? '');

const walkPage = async (
  language: Language,
  page: string,
  visit: (example: Example, seen: readonly Exchange[], copy: ReadingCopy) => void,
) => {
  const tenant = await tenantOf(language);
  const recorder = await startRecorder(program.baseUrl);
  const copy = createReadingCopy(tenant.domain);
  const setup = await setupOf(language);
  const { examples } = readPage(await readFile(path(page), 'utf8'));
  try {
    const key = await tenant.makeKey();
    for (const example of examples) {
      visit(example, await runExample(language, setup, example, { tenant, recorder, key, copy }), copy);
    }
  } finally {
    recorder.close();
  }
};

describe.each(PAGES)('docs/%s.md', (page) => {
  const asked: unknown[][] = [];

  test.skipIf(isMissing('sh'))(
    'shows what the service answers to curl',
    async () => {
      const texts: string[] = [];
      await walkPage('sh', page, ({ heading, responses }, seen, copy) => {
        expect([heading, seen.length]).toEqual([heading, responses.length]);
        asked.push(seen.map((exchange) => copy.request(exchange)));
        for (const [index, shown] of responses.entries()) texts.push(copy.response(seen[index] as Exchange, shown));
      });
      expect(texts.length).toBeGreaterThan(1);
      const written = withResponses(await readFile(path(page), 'utf8'), texts);
      await expect(written).toMatchFileSnapshot(path(page));
    },
    PAGE_MS_MAX,
  );

  for (const language of LANGUAGES.filter((one) => one !== 'sh')) {
    test.skipIf(isMissing('sh') || isMissing(language)).concurrent(
      `gets the same responses by the same requests in ${language}`,
      async () => {
        const requests: unknown[][] = [];
        await walkPage(language, page, ({ heading, code, responses }, seen, copy) => {
          expect([heading, code[language]]).not.toEqual([heading, undefined]);
          requests.push(seen.map((exchange) => copy.request(exchange)));
          const texts = responses.map((shown, index) => copy.response(seen[index] as Exchange, shown));
          expect([heading, ...texts]).toEqual([heading, ...responses.map(({ text }) => text)]);
        });
        expect(requests).toEqual(asked);
      },
      PAGE_MS_MAX,
    );
  }

  test('has TypeScript that compiles strictly', async () => {
    const setup = await setupOf('ts');
    const { examples } = readPage(await readFile(path(page), 'utf8'));
    const names = examples.map((_, index) => `${page}-${index}.mts`);
    for (const [index, { code }] of examples.entries()) {
      await writeFile(join(folder, names[index] ?? ''), setup + (code.ts ?? ''));
    }
    const options = ['--noEmit', '--ignoreConfig', '--strict', '--target', 'es2022', '--module', 'nodenext'];
    options.push('--lib', 'es2022,dom', '--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types'));
    const compiling = run(process.execPath, [TSC, ...options, ...names], { cwd: folder });
    expect(await compiling.catch(({ stdout }: { stdout: string }) => ({ stdout }))).toMatchObject({ stdout: '' });
  });
});
