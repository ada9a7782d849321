import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { createSmtpTransport } from '../../../../src/adapters/mail/smarthost.ts';
import { createSystem } from '../../../../src/adapters/system.ts';
import { outgoingMail } from '../outgoing-mail.ts';

const ATTEMPT_MS = 400;
const STALL_MS = 1_000;

const system = createSystem();

/** Blocks the event loop, like a request that takes too long. */
const stall = (): void => {
  const endMs = performance.now() + STALL_MS;
  while (performance.now() < endMs);
};

const open = async () => {
  const thread = new Worker(new URL('../../../support/smtp-server-thread.ts', import.meta.url));
  const [{ port }] = (await once(thread, 'message')) as [AddressInfo];
  const transport = createSmtpTransport({ url: `smtp://127.0.0.1:${port}`, ehloName: 'outbox.test', system });
  onTestFinished(async () => {
    await transport.close();
    await thread.terminate();
  });
  return transport;
};

test('a process that stalled past the deadline counts the reply that arrived during the stall', async () => {
  const transport = await open();
  const deadlineMs = system.monotonicMs() + ATTEMPT_MS;
  const mayComplete = (): boolean => {
    setImmediate(stall); // after the final dot was sent
    return true;
  };
  const [outcome] = await transport.send(outgoingMail(), { deadlineMs, mayComplete });
  expect(outcome?.outcome).toBe('delivered');
});

test('a process that stalled before the final dot does not send it', async () => {
  const transport = await open();
  const deadlineMs = system.monotonicMs() + ATTEMPT_MS;
  const mayComplete = async (): Promise<boolean> => {
    stall();
    return true;
  };
  const [outcome] = await transport.send(outgoingMail(), { deadlineMs, mayComplete });
  expect(outcome?.outcome).toBe('deferred');
});
