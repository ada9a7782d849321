import { vi } from 'vitest';
import { closedAfterTest } from '../support/after-test.ts';
import { openService, type Parts, type Service } from './service.ts';
import { openSmtpSink, type SmtpSink, type SmtpSinkOptions } from './smtp-sink.ts';

export type Delivering = Service & { readonly sink: SmtpSink };

/** A service and the server that receives its mail. Both are closed after the test. */
export const openDelivering = async (options: SmtpSinkOptions & Parts = {}): Promise<Delivering> => {
  const sink = closedAfterTest(await openSmtpSink(options));
  const service = closedAfterTest(await openService({ ...options, smtpUrl: sink.url }));
  return { ...service, sink };
};

export const until = (check: () => Promise<void> | void): Promise<void> =>
  vi.waitFor(check, { timeout: 15_000, interval: 20 });

export const statuses = async (service: Service, id: string): Promise<readonly string[]> =>
  (await service.message(id)).recipients.map(({ status }) => status);
