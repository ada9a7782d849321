import { createTransport } from 'nodemailer';
import { createInboundLimits } from '../../../src/adapters/inbound/inbound-limits.ts';
import { createInboundReader } from '../../../src/adapters/inbound/inbound-reader.ts';
import { createInboundMail } from '../../../src/adapters/inbound/receive-inbound.ts';
import {
  createInboundReportReader,
  createInboundReportTask,
} from '../../../src/adapters/inbound-reports/receive-inbound-reports.ts';
import { createInMemoryRateLimiter } from '../../../src/adapters/rate-limit/in-memory.ts';
import { type CommandContext, internalOrigin } from '../../../src/commands/execute.ts';
import { type ReceiveResult, receiveMail } from '../../../src/commands/inbound/receive-mail.ts';
import { createOrganization, updateOrganization } from '../../../src/commands/organization.ts';
import { changeDomain, registerDomain } from '../../../src/commands/sending-domain/change-domain.ts';
import { findRecipient } from '../../../src/composition/open-inbound.ts';
import { readForwardReturnAddress } from '../../../src/domain/inbound/return-address.ts';
import { clientNetworkOf } from '../../../src/domain/kernel/addresses.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { categoryOf, type EventStore, LOG_START, type RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { InboundBody, InboundRaw } from '../../../src/domain/ports/contents.ts';
import type { Authentication } from '../../../src/domain/ports/inbound.ts';
import { createBodyBudget } from '../../../src/lib/http/http.ts';
import { startSmtpListener } from '../../../src/lib/smtp/smtp.ts';
import { createInboundRoutes } from '../../../src/workers/domains/inbound-routes.ts';
import { createSendingDomains } from '../../../src/workers/domains/sending-domains.ts';
import { createRecordInboundReport, type ReturnedOutcome } from '../../../src/workers/record-inbound-report.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemoryDkimKeys } from '../../support/in-memory/dkim-keys.ts';
import { createInMemoryResolver } from '../../support/in-memory/dns.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { silentLogger } from '../../support/logger.ts';
import { TRACKING_KEYS } from '../../support/tracking-keys.ts';
import { createShiftableSystem } from '../shiftable-system.ts';

export const PASSED: Authentication = {
  verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
  dmarcPolicy: 'reject',
};
export const FAILED: Authentication = { ...PASSED, verdicts: { ...PASSED.verdicts, dmarc: 'fail' } };

export type ReceivedEvent = RecordedEvent & { readonly type: 'InboundReceived' };

export const RETURN_SECRETS = [TRACKING_KEYS[0].bytes] as const;

interface Options {
  readonly bodies?: Parameters<typeof createBodyBudget>[0];
  /** Wraps the log that mail is recorded in. */
  readonly wrap?: (store: EventStore) => EventStore;
  readonly isReady?: () => boolean;
  readonly limits?: Parameters<typeof createInboundLimits>[1];
}

export const BOUNCE_DOMAIN = 'bounces.service.test';

/** A service that receives mail for domains over SMTP. Its domains are verified by capture. */
export const openReceivingMail = async ({
  bodies,
  wrap = (same) => same,
  isReady = () => true,
  limits = { perOrganization: 10_000, perSender: 10_000 },
}: Options = {}) => {
  const system = createShiftableSystem();
  const contents = createInMemoryContents();
  const store = createInMemoryEventStore({ codec: eventCodec, system, contents });
  const context: CommandContext = {
    store,
    contents,
    system,
    secrets: createInMemorySecrets(),
    resolver: createInMemoryResolver(),
    dkimKeys: createInMemoryDkimKeys(),
    capturing: true,
    webhookTarget: { problemWith: async () => null, post: () => Promise.reject(new Error()), close: async () => {} },
  };
  const domains = createSendingDomains({ secrets: context.secrets, capturing: true });
  const routes = createInboundRoutes();
  const authentication = { is: PASSED };
  const results: ReceiveResult[] = [];
  const reports: unknown[] = [];
  const outcomes: ReturnedOutcome[] = [];

  const logged = async (): Promise<readonly RecordedEvent[]> =>
    (await store.readAll({ from: LOG_START, filter: {}, limit: 100_000 })).events;
  let applied = 0;
  /** Applies what has changed about domains, as the worker that follows the log does. */
  const follow = async (): Promise<void> => {
    const events = await logged();
    for (const event of events.slice(applied)) {
      if (categoryOf(event.stream) === 'domain') domains.apply(event);
      if (categoryOf(event.stream) === 'inboundRoute') routes.apply(event);
    }
    applied = events.length;
  };
  const originOf = (organizationId: string) => internalOrigin({ actor: 'operator', organizationId, causeId: 'test' });

  const counts: Record<string, number> = {};
  const count = (outcome: string): void => {
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  };
  const reader = closedAfterTest(createInboundReader());
  const receiving = { ...context, store: wrap(store), reader, authenticate: async () => authentication.is, count };
  const inbound = createInboundMail({
    bodies: createBodyBudget(bodies),
    isReady,
    overLimit: createInboundLimits(createInMemoryRateLimiter({ system }), limits),
    onDeferred: count,
    find: findRecipient(() => ({ ...domains, ...routes }), 'shop.test'),
    receive: async (mail) => {
      const origin = internalOrigin({
        actor: 'worker:receive-mail',
        organizationId: mail.organizationId,
        causeId: 'test',
      });
      const result = await receiveMail(receiving, origin, { ...mail, environment: 'live' });
      results.push(result);
      return result.outcome;
    },
  });
  const countReport = (each: ReturnedOutcome) => outcomes.push(each);
  const record = createRecordInboundReport({ context, system, logger: silentLogger, count: countReport });
  const task = createInboundReportTask({
    domain: BOUNCE_DOMAIN,
    take: async (report) => {
      reports.push(report);
      await record(report);
    },
    forwardedBy: (localPart) => readForwardReturnAddress(RETURN_SECRETS, localPart, system.now()),
    reader: closedAfterTest(createInboundReportReader()),
    inbound,
    logger: silentLogger,
  });
  const listener = closedAfterTest(
    await startSmtpListener(task, { host: '127.0.0.1', port: 0, networkOf: clientNetworkOf, logger: silentLogger }),
  );

  return {
    context,
    port: listener.port,
    results,
    /** Returned mail for the service itself. */
    reports,
    logged,
    /** Mails by outcome. */
    counts,
    outcomes,
    domains,
    system,
    follow,
    originOf,
    /** Verdicts on the sender of the next mail. */
    authenticated: (as: Authentication): void => {
      authentication.is = as;
    },
    /** A domain that receives mail. */
    makeDomain: async (organizationId: string, name: string): Promise<string> => {
      const { domain } = await registerDomain(context, originOf(organizationId), { name });
      await changeDomain(context, originOf(organizationId), {
        domainId: domain.domainId,
        settings: { inbound: { mx: true } },
      });
      await follow();
      return domain.domainId;
    },
    stopReceiving: async (organizationId: string, domainId: string): Promise<void> => {
      await changeDomain(context, originOf(organizationId), { domainId, settings: { inbound: { mx: false } } });
      await follow();
    },
    makeOrganization: () => createOrganization(context, { name: 'Test', ceilings: null }),
    setPolicy: (organizationId: string, inboundDmarc: 'accept' | 'mark' | 'refuse') =>
      updateOrganization(context, originOf(organizationId), {
        // The other settings stay as they are.
        changes: { inboundDmarc } as Parameters<typeof updateOrganization>[2]['changes'],
      }),
    /** Delivers a mail as another server would. @returns the reply. */
    bring: async (to: string | readonly string[], raw: string | Buffer, from = 'ann@example.net'): Promise<string> => {
      const transport = createTransport({ host: '127.0.0.1', port: listener.port, ignoreTLS: true });
      try {
        const { response, rejected } = await transport.sendMail({ envelope: { from, to: [to].flat() }, raw });
        return rejected.length > 0 ? `partly ${response}` : response;
      } catch (error) {
        return (error as { readonly response?: string }).response ?? String(error);
      } finally {
        transport.close();
      }
    },
    events: async (): Promise<readonly ReceivedEvent[]> =>
      (await logged()).filter((event): event is ReceivedEvent => event.type === 'InboundReceived'),
    bodyOf: async ({ data }: ReceivedEvent): Promise<InboundBody> =>
      (await contents.get([data.contentId])).get(data.contentId) as InboundBody,
    rawOf: async ({ data }: ReceivedEvent): Promise<Buffer> =>
      Buffer.from(((await contents.get([data.rawId])).get(data.rawId) as InboundRaw).content, 'base64'),
  };
};

export type ReceivingMail = Awaited<ReturnType<typeof openReceivingMail>>;
