import { Writable } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createLogger } from '../../src/adapters/system.ts';

const capture = () => {
  const chunks: string[] = [];
  const destination = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  return { destination, text: () => chunks.join('') };
};

const logged = (fields: object, sentence = 'said'): string => {
  const { destination, text } = capture();
  createLogger({ level: 'debug', destination }).info(fields, sentence);
  return text();
};

test('a log line is one line of JSON with level, time and message', () => {
  expect(JSON.parse(logged({ requestId: 'req_1' }))).toMatchObject({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    requestId: 'req_1',
    msg: 'said',
  });
});

test('nothing is logged below the level', () => {
  const { destination, text } = capture();
  const logger = createLogger({ level: 'warn', destination });
  logger.info({}, 'quiet');
  logger.debug({}, 'quieter');
  expect(text()).toBe('');
});

test('fields that hold secrets, addresses or bodies are censored', () => {
  const line = logged({
    to: ['ann@example.test'],
    request: { headers: { authorization: 'Bearer x' }, body: { html: 'dear Ann' } },
    password: 'hunter2',
    mail: { subject: 'your results', from: 'bob@example.test' },
  });
  for (const secret of ['ann@', 'Bearer', 'dear Ann', 'hunter2', 'results', 'bob@']) expect(line).not.toContain(secret);
});

test('keys, credentials and addresses are censored wherever a text quotes them', () => {
  const key = `ob_live_${'a'.repeat(49)}`;
  const secret = `whsec_${'A'.repeat(32)}`;
  const text = `${key} ${secret} postgres://outbox:hunter2@db.example.test/outbox <ann.o'neil+x@bücher.example>`;
  const line = logged({ err: new Error(text) }, text);
  for (const secretPart of ['aaaaaaa', 'AAAAAAA', 'hunter2', 'neil', 'bücher']) expect(line).not.toContain(secretPart);
  expect(line).toContain('db.example.test/outbox');
});

test.each(['"john doe"@example.test', 'ann@[192.0.2.1]', 'ann@localhost', 'ann+x@xn--bcher-kva'])(
  'the address %s is censored, in a sentence and in an error',
  (address) => {
    const line = logged({ err: new Error(`550 <${address}> unknown`) }, `no mail to ${address} now`);
    for (const part of ['john', 'ann', '192.0.2.1', 'bcher']) expect(line).not.toContain(part);
    expect(line).toContain('no mail to [redacted] now');
  },
);

test('a package with a scope is readable in a stack', () => {
  const line = logged({}, 'at file:///srv/node_modules/@eventstore/db-client/dist/index.js:1:2');
  expect(line).toContain('node_modules/@eventstore/db-client/dist');
});

test('an error is logged with its cause and code, without what else its client attached to it', () => {
  const cause = Object.assign(new Error('duplicate'), {
    code: '23505',
    detail: 'Key (address)=(ann)',
    where: 'row of ann',
  });
  const { err } = JSON.parse(logged({ err: new Error('failed', { cause }) })) as { err: { cause: object } };
  expect(err).toMatchObject({ type: 'Error', message: 'failed', cause: { message: 'duplicate', code: '23505' } });
  expect(Object.keys(err.cause).sort()).toEqual(['code', 'message', 'stack', 'type']);
});

test('lines for people are in words, and censored alike', () => {
  const { destination, text } = capture();
  createLogger({ level: 'info', pretty: true, destination }).info({ port: 3000 }, 'hello ann@example.test');
  expect(text()).toMatch(/INFO.*hello \[redacted\]/);
  expect(text()).toMatch(/port.*3000/);
});

test('a line of a megabyte without a space takes time in proportion to its length', () => {
  const began = process.cpuUsage();
  logged({ base64: 'aB+/'.repeat(250_000), dotted: 'a.'.repeat(100_000), at: '@' });
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1_000).toBeLessThan(3_000);
});

describe('similar warnings and errors', () => {
  afterEach(() => vi.useRealTimers());
  const lines = (text: string) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));

  test('are logged one by one at first, then counted', () => {
    vi.useFakeTimers();
    const { destination, text } = capture();
    const logger = createLogger({ level: 'info', destination });
    const refused = (port: number) => Object.assign(new Error(`no answer at port ${port}`), { code: 'ECONNREFUSED' });
    for (let number = 0; number < 850; number += 1) logger.error({ err: refused(number), number }, 'it failed');
    expect(lines(text()).map(({ number }) => number)).toEqual([0, 1, 2]);
    vi.advanceTimersByTime(30_000);
    expect(lines(text()).slice(3)).toMatchObject([{ msg: 'it failed', alike: 847 }]);
    logger.error({ err: refused(1), number: 'next' }, 'it failed');
    expect(lines(text())).toHaveLength(5);
  });

  test('are not those with another sentence, error or level, and informational lines are not limited', () => {
    const { destination, text } = capture();
    const logger = createLogger({ level: 'info', destination });
    for (let number = 0; number < 10; number += 1) {
      logger.error({ err: new Error(`row ${number} is wrong`) }, 'it failed');
      logger.error({ err: new Error('the disk is full') }, 'it failed');
      logger.error({}, 'it failed otherwise');
      logger.warn({}, 'it failed otherwise');
      logger.info({}, 'an attempt ended');
    }
    expect(lines(text())).toHaveLength(3 + 3 + 3 + 3 + 10);
  });

  test('are bounded in memory: beyond a few hundred kinds, each is logged', () => {
    const { destination, text } = capture();
    const logger = createLogger({ level: 'info', destination });
    for (let number = 0; number < 600; number += 1) logger.warn({}, `sentence ${'x'.repeat(number)}`);
    expect(lines(text())).toHaveLength(600);
  });
});
