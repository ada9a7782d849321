import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type SmtpTask, startSmtpListener } from '../../../../src/lib/smtp/listener/smtp-listener.ts';
import { closedAfterTest } from '../../../support/after-test.ts';
import { silentLogger } from '../../../support/logger.ts';

/** Exim sends QUIT with the final dot, shuts down its side and then waits for the replies. */
test.each([
  ['and QUIT', '.\r\nQUIT\r\n', ['250 stored', '221 Bye']],
  ['without QUIT', '.\r\n', ['250 stored']],
])('a client that ends its side after the final dot %s gets the reply', async (_, last, replies) => {
  const processed = Promise.withResolvers<void>();
  const task: SmtpTask = {
    bounds: { max: 5, perNetwork: 5, durationMs: 30_000 },
    serve: () => ({
      authOptional: true,
      disabledCommands: ['AUTH'],
      closeTimeout: 100,
      onData: (stream, _session, callback) => {
        stream.resume();
        stream.once('end', () => void processed.promise.then(() => callback(null, 'stored')));
      },
    }),
  };
  const options = { host: '127.0.0.1', port: 0, networkOf: (address: string) => address, logger: silentLogger };
  const { port } = closedAfterTest(await startSmtpListener(task, options));
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => void client.destroy());
  let said = '';
  client.setEncoding('latin1').on('data', (text: string) => {
    said += text;
  });
  const heard = async (wanted: string): Promise<void> => {
    while (!said.includes(wanted)) await once(client, 'data');
  };
  await heard('220 ');
  client.write('EHLO a.test\r\n');
  await heard('250 ');
  client.write('MAIL FROM:<a@a.test>\r\nRCPT TO:<b@b.test>\r\nDATA\r\n');
  await heard('354 ');
  said = '';
  client.end(`Subject: x\r\n\r\nText\r\n${last}`);
  const ended = once(client, 'end');
  await once(client, 'finish');
  for (let turn = 0; turn < 20; turn += 1) await nextTurn(); // until the server knows
  processed.resolve();
  await ended;
  expect(said.trim().split('\r\n')).toEqual(replies);
});
