import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient } from '../support/api-client.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

/**
 * The number of product files to read in order to follow a request, counted at run time: files whose functions were
 * called, without what an idle service calls too. Lower a number when a change lowers it, and raise none without a
 * decision record. Files of `src/lib` are listed but have no budget: a reader stops at their doors.
 */
const FILES_MAX = { message: 110, rotation: 67, statistics: 43 };

/** Read twice a second, long enough for every timer of an idle service to have fired. */
const IDLE_READINGS = 16;
const READING_MS = 500;
/** A request has ended when this many readings in a row show nothing new. */
const QUIET_READINGS = 3;

const PROBE = fileURLToPath(new URL('../support/entered-files-probe.ts', import.meta.url));

type Calls = Readonly<Record<string, readonly string[]>>;

describe('the files that a request enters', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let api: ApiClient;
  const idle = new Set<string>();

  const namesOf = (calls: Calls): readonly string[] =>
    Object.entries(calls).flatMap(([file, functions]) => functions.map((name) => `${file} ${name}`));

  /** Functions called since the previous reading. */
  const takeCalls = async (): Promise<readonly string[]> => {
    const printed = (): RegExpExecArray[] => [...program.output().matchAll(/^entered-files (.+)$/gm)];
    const before = printed().length;
    program.child.kill('SIGUSR2');
    for (;;) {
      const last = printed().slice(before).at(-1);
      if (last !== undefined) return namesOf(JSON.parse(last[1] ?? '') as Calls);
      await sleep(5);
    }
  };

  /** Files entered since the previous reading, other than by idle work. */
  const takeFiles = async (): Promise<readonly string[]> => {
    const calls = await takeCalls();
    return calls.filter((call) => !idle.has(call)).map((call) => call.split(' ')[0] ?? '');
  };

  const filesEnteredBy = async (request: () => Promise<unknown>): Promise<readonly string[]> => {
    await takeCalls();
    await request();
    const files = new Set<string>();
    for (let quiet = 0; quiet < QUIET_READINGS; quiet += 1) {
      await sleep(READING_MS);
      const before = files.size;
      for (const file of await takeFiles()) files.add(file);
      if (files.size > before) quiet = 0;
    }
    return [...files].sort();
  };

  const productFiles = (what: string, files: readonly string[]): readonly string[] => {
    const product = files.filter((file) => !file.startsWith('src/lib/'));
    process.stdout.write(`${what}: ${product.length} files of the product, ${files.length - product.length} of lib\n`);
    return product;
  };

  const send = () =>
    api.post('/v1/messages/send', {
      from: 'hello@example.test',
      to: 'you@example.net',
      subject: 'One message',
      html: '<p>It works.</p>',
    });

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path, env: { NODE_OPTIONS: `--import=${PROBE}` } });
    api = apiClient(program.baseUrl, program.keys.live);
    await send(); // the first message also fills caches
    await sleep(IDLE_READINGS * READING_MS);
    await takeCalls();
    for (let reading = 0; reading < IDLE_READINGS; reading += 1) {
      await sleep(READING_MS);
      for (const call of await takeCalls()) idle.add(call);
    }
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  test('a message enters few files, from the request to the recorded 250', async () => {
    const attempts = (): number => program.output().split('an attempt ended').length;
    const before = attempts();
    const [first = [], ...others] = [await filesEnteredBy(send), await filesEnteredBy(send)];
    expect(attempts()).toBe(before + 2);
    // A rare background job may run during one of them.
    const files = productFiles(
      'message',
      first.filter((file) => others.every((other) => other.includes(file))),
    );
    expect(files).toContain('src/workers/delivery/deliver.ts');
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(FILES_MAX.message);
  });

  test('the rotation of a key enters few files', async () => {
    const domain = (await api.get('/v1/domains')).body.data[0].id;
    const key = { name: 'rotated', domain_id: domain, permissions: ['send'] };
    const { id } = (await api.post('/v1/api-keys', key)).body;
    await filesEnteredBy(async () => undefined);
    const rotate = () => api.post(`/v1/api-keys/${id}/rotate`, { grace_period_minutes: 10 });
    const files = productFiles('rotation', await filesEnteredBy(rotate));
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(FILES_MAX.rotation);
  });

  test('statistics enter few files', async () => {
    const files = productFiles('statistics', await filesEnteredBy(() => api.get('/v1/stats')));
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(FILES_MAX.statistics);
  });
});
