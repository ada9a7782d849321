import { createTransport } from 'nodemailer';
import {
  createInboundReportReader,
  createInboundReportTask,
  type Postmaster,
} from '../../../src/adapters/inbound-reports/receive-inbound-reports.ts';
import { clientNetworkOf } from '../../../src/domain/kernel/addresses.ts';
import { startSmtpListener, type TlsPair } from '../../../src/lib/smtp/smtp.ts';
import {
  createRecordInboundReport,
  type ReturnedOutcome,
  type TakeReturnedMail,
} from '../../../src/workers/record-inbound-report.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import type { Delivering } from '../delivering.ts';

export const BOUNCE_DOMAIN = 'bounces.example.test';

export interface Receiving {
  readonly port: number;
  /** Outcome of each received mail, in order. */
  readonly outcomes: readonly ReturnedOutcome[];
  /** Delivers a mail as another server would. @returns the code of the reply. */
  bring(to: string | readonly string[], raw: string | Buffer): Promise<number>;
}

/** A listener on a free port for reports about the messages of a service. */
export const openReceiving = async (
  { context, system, logger }: Pick<Delivering, 'context' | 'system' | 'logger'>,
  parts: Partial<TakeReturnedMail['context']> = {},
  { tls, postmaster }: { readonly tls?: TlsPair; readonly postmaster?: Postmaster } = {},
): Promise<Receiving> => {
  const outcomes: ReturnedOutcome[] = [];
  const reader = closedAfterTest(createInboundReportReader());
  const take = createRecordInboundReport({
    context: { ...context, ...parts },
    system,
    logger,
    count: (each) => outcomes.push(each),
  });
  const task = createInboundReportTask({ domain: BOUNCE_DOMAIN, take, reader, logger, postmaster });
  const listener = closedAfterTest(
    await startSmtpListener(task, { host: '127.0.0.1', port: 0, tls, networkOf: clientNetworkOf, logger }),
  );
  return {
    port: listener.port,
    outcomes,
    bring: async (to, raw) => {
      const transport = createTransport({ host: '127.0.0.1', port: listener.port, ignoreTLS: true });
      try {
        const { response } = await transport.sendMail({ envelope: { from: '', to: [to].flat() }, raw });
        return Number(response.slice(0, 3));
      } catch (error) {
        return (error as { readonly responseCode?: number }).responseCode ?? 0;
      } finally {
        transport.close();
      }
    },
  };
};

export interface FailedDelivery {
  readonly address: string;
  readonly action?: string;
  readonly status?: string;
  readonly diagnostic?: string;
}

const recipientOf = ({ address, action = 'failed', status = '5.1.1', diagnostic }: FailedDelivery): string =>
  `Final-Recipient: rfc822; ${address}
Action: ${action}
Status: ${status}
Remote-MTA: dns; mx.example.org
Diagnostic-Code: ${diagnostic ?? `smtp; 550 5.1.1 <${address}>: User unknown`}
`;

const part = (type: string, text: string): string => `--B\nContent-Type: ${type}\n\n${text}\n`;

const report = (kind: string, ...parts: readonly string[]): string =>
  `From: MAILER-DAEMON@mx.example.org
Subject: Undelivered Mail
MIME-Version: 1.0
Content-Type: multipart/report; report-type=${kind}; boundary=B

${parts.join('')}--B--
`.replaceAll('\n', '\r\n');

/** A delivery report (RFC 3464). */
export const deliveryReport = (...failed: readonly FailedDelivery[]): string =>
  report(
    'delivery-status',
    part('text/plain', 'It could not be delivered.'),
    part('message/delivery-status', `Reporting-MTA: dns; mx.example.org\n\n${failed.map(recipientOf).join('\n')}`),
  );

/** A complaint (RFC 5965). @param quoted header lines of the reported message. */
export const complaintReport = (quoted: string, named = ''): string =>
  report(
    'feedback-report',
    part('message/feedback-report', `Feedback-Type: abuse\nVersion: 1\nUser-Agent: Test/1\n${named}`),
    part('text/rfc822-headers', quoted),
  );
