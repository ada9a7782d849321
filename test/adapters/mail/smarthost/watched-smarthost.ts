import type { ConnectionOptions } from 'node:tls';
import { expect, onTestFinished } from 'vitest';
import { createSmarthostWatch, createSmtpTransport, parseSmarthost } from '../../../../src/adapters/mail/smarthost.ts';
import { createSystem } from '../../../../src/adapters/system.ts';
import { createRecordingLogger } from '../../../workers/recording-logger.ts';
import { outgoingMail } from '../outgoing-mail.ts';

const SEND_MS = 5_000;

/** A transport to a smarthost, with the log that it writes. */
export const openWatched = (url: string, tls?: ConnectionOptions) => {
  const system = createSystem();
  let aheadMs = 0;
  const logger = createRecordingLogger();
  const { host, port } = parseSmarthost(url);
  const clock = { monotonicMs: () => system.monotonicMs() + aheadMs };
  const watch = createSmarthostWatch({ host, port, system: clock, logger });
  const transport = createSmtpTransport({ url, ehloName: 'x.test', system, watch, ...(tls && { tls }) });
  onTestFinished(transport.close);
  const send = async () => {
    const [outcome] = await transport.send(outgoingMail(), { deadlineMs: system.monotonicMs() + SEND_MS });
    return outcome?.outcome;
  };
  const wait = (ms: number): void => {
    aheadMs += ms;
  };
  return { send, logger, wait };
};

/** The logged error after a failed attempt. */
export const complaintOf = async (url: string, tls?: ConnectionOptions): Promise<string> => {
  const { send, logger } = openWatched(url, tls);
  expect(await send()).toBe('deferred');
  const said = logger.said('error');
  expect(said).toHaveLength(1);
  return said[0] ?? '';
};
