import { describe, expect, test } from 'vitest';
import { createForwardedMails } from '../../../src/adapters/inbound/forwarded-mails.ts';
import { createSmtpTransport } from '../../../src/adapters/mail/smarthost.ts';
import { claimForward, loadForward } from '../../../src/commands/inbound/forward.ts';
import {
  confirmForward,
  createInboundRoute,
  deleteInboundRoute,
  findForwardQuestion,
} from '../../../src/commands/inbound/route.ts';
import { organizationSecret } from '../../../src/commands/organization.ts';
import { addressDigest, addSuppressions } from '../../../src/commands/suppression.ts';
import { forwardToken } from '../../../src/domain/inbound/forward-link.ts';
import { forwardReturnAddress } from '../../../src/domain/inbound/return-address.ts';
import type { ExistingInboundRoute } from '../../../src/domain/inbound/route.ts';
import { inboundStream } from '../../../src/domain/kernel/streams.ts';
import { createOrganizations } from '../../../src/workers/in-memory-projections.ts';
import { type ForwardMail, forwardMail } from '../../../src/workers/inbound/forward-mail.ts';
import { FORWARDS_PER_HOUR } from '../../../src/workers/inbound/forward-rates.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { silentLogger } from '../../support/logger.ts';
import { deliveryReport } from '../inbound-reports/receiving.ts';
import { openSmtpSink, type SmtpSinkOptions } from '../smtp-sink.ts';
import { BOUNCE_DOMAIN, FAILED, openReceivingMail, RETURN_SECRETS } from './receiving-mail.ts';

const RAW = 'From: ann@example.net\r\nSubject: Hello\r\nMessage-ID: <1@example.net>\r\n\r\nHello\r\n';
const TO = 'ann@home.test';
/** Longer than a busy machine needs to load the libraries of the first mail. */
const TIMES = { attemptMs: 60_000, leaseMs: 120_000 };

/** A shop whose mail for support is forwarded to a real SMTP server. */
const openForwarding = async ({ isConfirmed = true, ...answers }: SmtpSinkOptions & { isConfirmed?: boolean } = {}) => {
  const shop = await openReceivingMail();
  const { context, system } = shop;
  const organizationId = await shop.makeOrganization();
  const domainId = await shop.makeDomain(organizationId, 'shop.test');
  const origin = shop.originOf(organizationId);
  const sink = closedAfterTest(await openSmtpSink(answers));
  const transport = closedAfterTest(createSmtpTransport({ url: sink.url, ehloName: 'outbox.test', system }));
  const { organizations } = createOrganizations();
  let asked: ExistingInboundRoute | undefined;
  const { route } = await createInboundRoute(context, origin, {
    ...{ domainId, match: 'support', action: 'forward', webhookId: null, order: 0 },
    forward: {
      address: TO,
      askToConfirm: async (after) => {
        asked = after;
      },
    },
  });
  const confirm = async (): Promise<void> => {
    const secret = await organizationSecret(context.secrets, organizationId);
    const link = { routeId: route.routeId, addressId: asked?.forwardTo?.addressId ?? '' };
    await confirmForward(context, await findForwardQuestion(context, forwardToken(secret, link, system.now())), origin);
  };
  if (isConfirmed) await confirm();
  await shop.follow();

  const forwards = async () =>
    (await shop.logged()).filter(({ type }) => type.startsWith('InboundForward') && !type.endsWith('Confirmed'));
  const due = async (): Promise<readonly string[]> => (await shop.events()).map(({ data: { inboundId } }) => inboundId);
  const worker = (more: Partial<ForwardMail> = {}): ForwardMail => ({
    ...{ store: context.store, contents: context.contents, system, logger: silentLogger, times: TIMES },
    transports: { live: transport, test: transport },
    sendingDomains: shop.domains,
    organizations,
    destinationLimits: {
      destinationOf: async (domain) => domain,
      concurrencyOf: () => 1,
      waitMsOf: () => 0,
      isSuspendedFor: () => false,
      started: () => undefined,
    },
    leadership: { isLeader: () => true },
    caughtUp: Promise.resolve(),
    forwarding: { due, mails: createForwardedMails(), secrets: RETURN_SECRETS },
    bounceDomain: BOUNCE_DOMAIN,
    ...more,
  });
  /** One look for what is due. @returns the events about forwarding. */
  const run = async (more: Partial<ForwardMail> = {}) => {
    const ended = new AbortController();
    await forwardMail(worker(more))(ended.signal, () => ended.abort());
    return forwards();
  };
  const mapped = async (more: Partial<ForwardMail> = {}) =>
    (await run(more)).map(({ type, data }) => [type, 'reason' in data ? data.reason : null]);
  const bring = async (raw: string | Buffer = RAW, from = 'ann@example.net'): Promise<string> => {
    expect(await shop.bring('support@shop.test', raw, from)).toMatch(/^250/);
    return (await due()).at(-1) ?? '';
  };
  const bringTo = (to: string, raw: string): Promise<string> => shop.bring(to, raw, '');
  return {
    ...shop,
    organizationId,
    domainId,
    origin,
    sink,
    route,
    confirm,
    forwards,
    worker,
    run,
    mapped,
    bring,
    bringTo,
  };
};

const STARTED = ['InboundForwardStarted', null];
const FORWARDED = ['InboundForwarded', null];
const failedBy = (reason: string) => ['InboundForwardFailed', reason];
const deferredBy = (reason: string) => ['InboundForwardDeferred', reason];

describe('a received mail is forwarded', () => {
  test('with its own bytes, from a return address that names it', async () => {
    const shop = await openForwarding();
    const inboundId = await shop.bring();
    expect(await shop.mapped()).toEqual([STARTED, FORWARDED]);
    const [mail] = shop.sink.mails;
    expect(mail?.to).toEqual([TO]);
    expect(mail?.from).toBe(`${forwardReturnAddress(RETURN_SECRETS, inboundId, new Date())}@${BOUNCE_DOMAIN}`);
    expect(mail?.raw.endsWith(RAW)).toBe(true);
    expect(mail?.raw).toMatch(/^ARC-Seal: /);
    expect(await shop.mapped()).toEqual([STARTED, FORWARDED]);
    expect(shop.sink.mails).toHaveLength(1);
  });

  test('without a return path if it has none', async () => {
    const shop = await openForwarding();
    await shop.bring(RAW, '');
    await shop.run();
    expect(shop.sink.mails.map(({ from }) => from)).toEqual(['']);
  });

  test('with eight-bit bytes, which are not encoded', async () => {
    const shop = await openForwarding();
    await shop.bring(Buffer.from(RAW.replace('Hello\r\n', 'Grüße\r\n')));
    await shop.run();
    expect(shop.sink.mails[0]?.raw).toContain('Grüße');
  });

  test('from an address of its domain if the service has no domain for bounces', async () => {
    const shop = await openForwarding();
    await shop.bring();
    await shop.run({ bounceDomain: undefined });
    expect(shop.sink.mails.map(({ from }) => from)).toEqual(['support@shop.test']);
  });

  test('once the address has confirmed, and not what came before', async () => {
    const shop = await openForwarding({ isConfirmed: false });
    await shop.bring();
    expect(await shop.mapped()).toEqual([failedBy('not_confirmed')]);
    await shop.confirm();
    await shop.bring(`${RAW}Again\r\n`);
    expect(await shop.mapped()).toEqual([failedBy('not_confirmed'), STARTED, FORWARDED]);
    expect(shop.sink.mails).toHaveLength(1);
  });
});

describe('a received mail is not forwarded', () => {
  test.each([
    ['a program wrote it', `Auto-Submitted: auto-replied\r\n${RAW}`, 'automatic'],
    ['a list sent it', `Precedence: list\r\n${RAW}`, 'automatic'],
    ['it is a message of this service', RAW.replace('1@example.net', `msg_${'a'.repeat(26)}@shop.test`), 'automatic'],
    [
      'this service has forwarded it',
      `Received: by x.test (Outbox) with ESMTP id inb_${'a'.repeat(26)};\r\n\tWed, 01 Jul 2026 12:00:00 +0000\r\n${RAW}`,
      'loop',
    ],
    ['it has the seal of its domain', `ARC-Seal: i=1; cv=none; d=shop.test; b=\r\n${RAW}`, 'loop'],
  ])('when %s', async (_, raw, reason) => {
    const shop = await openForwarding();
    await shop.bring(raw);
    expect(await shop.mapped()).toEqual([failedBy(reason)]);
    expect(shop.sink.mails).toEqual([]);
  });

  test('when it comes from a return address of this service', async () => {
    const shop = await openForwarding();
    await shop.bring(RAW, `SRS0=a=b=c=d@${BOUNCE_DOMAIN}`);
    expect(await shop.mapped()).toEqual([failedBy('loop')]);
  });

  test('when it fails DMARC', async () => {
    const shop = await openForwarding();
    shop.authenticated(FAILED);
    await shop.bring();
    expect(await shop.mapped()).toEqual([failedBy('dmarc_failed')]);
  });

  test('when its route is deleted', async () => {
    const shop = await openForwarding();
    await shop.bring();
    await deleteInboundRoute(shop.context, shop.origin, { routeId: shop.route.routeId });
    expect(await shop.mapped()).toEqual([failedBy('route_changed')]);
  });

  test('when the address is suppressed', async () => {
    const shop = await openForwarding();
    await shop.bring();
    const { context, origin, organizationId } = shop;
    const digest = addressDigest(await organizationSecret(context.secrets, organizationId), TO);
    expect(digest).toBe(shop.route.forwardTo?.digest);
    await addSuppressions(context, origin, [
      { environment: 'live', address: TO, reason: 'manual', scope: 'all', expiresAt: null, text: null },
    ]);
    expect(await shop.mapped()).toEqual([failedBy('suppressed')]);
  });

  test('when its organization is suspended', async () => {
    const shop = await openForwarding();
    await shop.bring();
    const suspended = { status: 'active', suspension: { reason: 'abuse' } } as never;
    const organizations = new Map([[shop.organizationId, suspended]]);
    expect(await shop.mapped({ organizations })).toEqual([failedBy('organization_suspended')]);
  });

  test('when its domain was deleted', async () => {
    const shop = await openForwarding();
    await shop.bring();
    const sendingDomains = { ...shop.domains, nameOf: () => null };
    expect(await shop.mapped({ sendingDomains })).toEqual([failedBy('domain_removed')]);
  });

  test('when its contents were removed', async () => {
    const shop = await openForwarding();
    await shop.bring();
    const contents = { ...shop.context.contents, get: async () => new Map() };
    expect(await shop.mapped({ contents })).toEqual([failedBy('content_removed')]);
  });

  test('beyond the limit of its route', async () => {
    const shop = await openForwarding();
    const more = 3;
    for (let each = 0; each < more; each += 1) await shop.bring(`${RAW}${each}\r\n`);
    const events = await shop.mapped({ system: shop.system });
    expect(events.filter(([type]) => type === 'InboundForwarded')).toHaveLength(more);
    expect(FORWARDS_PER_HOUR.route).toBeGreaterThan(more);
  });
});

describe('an attempt to forward', () => {
  test('is repeated by the schedule of mail', async () => {
    let answer: { code: number; text: string } | null = { code: 451, text: '4.7.1 later' };
    const shop = await openForwarding({ onRcpt: () => answer });
    const inboundId = await shop.bring();
    expect(await shop.mapped()).toEqual([STARTED, deferredBy('deferred')]);
    expect(await shop.mapped()).toHaveLength(2);
    answer = null;
    shop.system.shift(70_000);
    expect((await shop.mapped()).slice(2)).toEqual([STARTED, FORWARDED]);
    const found = await loadForward(shop.context, inboundId);
    expect(found?.state.forward).toMatchObject({ status: 'forwarded', attempt: 2, dueAt: null, smtp: { code: 250 } });
  });

  test('that is refused for good is the last one', async () => {
    const shop = await openForwarding({ onRcpt: () => ({ code: 550, text: '5.1.1 no such mailbox' }) });
    await shop.bring();
    expect(await shop.mapped()).toEqual([STARTED, failedBy('rejected')]);
    shop.system.shift(4 * 86_400_000);
    expect(await shop.mapped()).toHaveLength(2);
  });

  test('ends after three days', async () => {
    const shop = await openForwarding({ onRcpt: () => ({ code: 451, text: '4.7.1 later' }) });
    await shop.bring();
    await shop.run();
    shop.system.shift(73 * 3_600_000);
    expect((await shop.mapped()).at(-1)).toEqual(failedBy('expired'));
  });

  test('waits for a destination that is suspended', async () => {
    const shop = await openForwarding();
    await shop.bring();
    const destinations = { providerOf: async (domain: string) => domain };
    const { destinationLimits } = shop.worker();
    const paused = { ...destinationLimits, concurrencyOf: () => 0 };
    expect(await shop.mapped({ destinations, destinationLimits: paused })).toEqual([deferredBy('deferred')]);
    expect(shop.sink.mails).toEqual([]);
    shop.system.shift(70_000);
    expect((await shop.mapped({ destinations })).slice(1)).toEqual([STARTED, FORWARDED]);
  });

  test('is made by one of several processes', async () => {
    const shop = await openForwarding();
    await shop.bring();
    await Promise.all(Array.from({ length: 5 }, () => shop.run()));
    expect((await shop.forwards()).map(({ type }) => type)).toEqual(['InboundForwardStarted', 'InboundForwarded']);
    expect(shop.sink.mails).toHaveLength(1);
  });

  test('of a process that died is recorded as lost when its lease has ended, and repeated', async () => {
    const shop = await openForwarding();
    const known = await loadForward(shop.context, await shop.bring());
    if (known === null) throw new Error('nothing was received');
    expect(await claimForward(shop.context, known, TIMES.leaseMs)).toBe(1);
    expect(await shop.mapped()).toEqual([STARTED]);
    shop.system.shift(TIMES.leaseMs);
    expect(await shop.mapped()).toEqual([STARTED, deferredBy('unknown')]);
    shop.system.shift(70_000);
    expect((await shop.mapped()).slice(2)).toEqual([STARTED, FORWARDED]);
    expect(shop.sink.mails).toHaveLength(1);
  });

  test('that another process has taken in the meantime does not end the message', async () => {
    const shop = await openForwarding();
    await shop.bring();
    const { transports } = shop.worker();
    const live: ForwardMail['transports']['live'] = {
      close: async () => {},
      send: async (mail, options) => {
        shop.system.shift(TIMES.leaseMs);
        await shop.run(); // records the attempt as lost
        return transports.live.send(mail, { ...options, deadlineMs: options.deadlineMs + TIMES.leaseMs });
      },
    };
    await shop.run({ transports: { live, test: live } });
    expect(shop.sink.mails).toEqual([]);
    expect((await shop.forwards()).map(({ type }) => type)).toEqual([
      'InboundForwardStarted',
      'InboundForwardDeferred',
    ]);
  });
});

describe('a report about a forwarded mail', () => {
  const open = async () => {
    const shop = await openForwarding();
    await shop.bring();
    await shop.run();
    return { ...shop, returnPath: shop.sink.mails[0]?.from ?? '' };
  };

  test('is recorded as the failure of the forward, and goes no further', async () => {
    const shop = await open();
    expect(await shop.bringTo(shop.returnPath, deliveryReport({ address: TO }))).toMatch(/^250/);
    expect(await shop.mapped()).toEqual([STARTED, FORWARDED, failedBy('bounced')]);
    await shop.bringTo(shop.returnPath, deliveryReport({ address: TO }));
    expect(await shop.mapped()).toHaveLength(3);
    expect(shop.outcomes).toEqual(['forward_bounced', 'unchanged']);
    expect(shop.sink.mails).toHaveLength(1);
  });

  test('is ignored if it is an automatic reply, or another mail', async () => {
    const shop = await open();
    await shop.bringTo(shop.returnPath, 'Auto-Submitted: auto-replied\r\nSubject: Away\r\n\r\nAway\r\n');
    await shop.bringTo(shop.returnPath.toLowerCase(), RAW);
    expect(await shop.mapped()).toEqual([STARTED, FORWARDED]);
  });

  test.each([
    ['forged', (path: string) => path.replace(/=[0-9a-f]{24}=/, `=${'0'.repeat(24)}=`)],
    ['of a foreign scheme', () => `SRS0=HHH=TT=example.net=ann@${BOUNCE_DOMAIN}`],
  ])('to a %s return address is refused', async (_, change) => {
    const shop = await open();
    expect(await shop.bringTo(change(shop.returnPath), deliveryReport({ address: TO }))).toMatch(/^550 5\.1\.1/);
  });

  test('to an address that has expired is refused', async () => {
    const shop = await open();
    shop.system.shift(22 * 86_400_000);
    expect(await shop.bringTo(shop.returnPath, deliveryReport({ address: TO }))).toMatch(/^550 5\.1\.1/);
  });
});

test('the stream of a message tells what happened to it in order', async () => {
  const shop = await openForwarding();
  const id = await shop.bring();
  await shop.run();
  const types = (await shop.context.store.readStream(inboundStream(id))).map(({ type }) => type);
  expect(types).toEqual(['InboundReceived', 'InboundForwardStarted', 'InboundForwarded']);
});
