import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMailDestinations, createMxAddresses, createMxRoutes } from '../../../../src/adapters/mail/mx/routes.ts';
import type { SuspendDestination } from '../../../../src/domain/destination/suspension.ts';
import type { ExistingMessage } from '../../../../src/domain/message/message.ts';
import type { MailTransport } from '../../../../src/domain/ports/mail.ts';
import { createTransportSecurity, type StsPolicy, type TransportSecurity } from '../../../../src/lib/smtp/smtp.ts';
import { createDestinationLimits } from '../../../../src/workers/delivery/destination-limits.ts';
import { reportOf } from '../../../../src/workers/delivery/record.ts';
import { issueCertificate } from '../../../support/certificates.ts';
import type { NameData } from '../../../support/dns-zone.ts';
import { silentLogger } from '../../../support/logger.ts';
import { createSteppableSystem } from '../../../support/system.ts';
import { createMailWorld, type MailWorld, refusal, send, system } from './mail-world.ts';

const PROVIDER = '127.0.0.21';
const ATTACKER = '127.0.0.66';
const SILENT = ['127.0.0.67', '127.0.0.68'] as const;
const DOWN = '127.0.0.22';
const NOBODY = '127.0.0.99';
const LONGER_THAN_ANY_PAUSE_MS = 40 * 60_000;
const MESSAGE = { organizationId: 'org_1', accepted: { messageId: 'msg_1' } } as ExistingMessage;

let world: MailWorld;
let provider: Awaited<ReturnType<MailWorld['startServer']>>;

beforeAll(async () => {
  world = await createMailWorld();
  world.dns.change({
    'provider.test': { MX: [[10, 'mx.provider.test']] },
    'customer.test': { MX: [[10, 'mx.provider.test']] },
    'mx.provider.test': { A: [PROVIDER] },
    'odd.provider.test': { A: ['224.0.0.1'] },
    'failing.provider.test': { wrong: 'SERVFAIL' },
    'silent.provider.test': { wrong: 'silence' },
    'alias.provider.test': { CNAME: 'nosuch.provider.test' },
    'customers-machine.provider.test': { A: [ATTACKER] },
    'dead.evil.test': { A: [NOBODY] },
    'own.evil.test': { A: [ATTACKER] },
    'borrowed.evil.test': { A: [PROVIDER] },
    'alias.evil.test': { CNAME: 'mx.provider.test' },
    'nowhere.evil.test': { CNAME: 'nosuch.provider.test' },
    'slow.evil.test': { A: [SILENT[0]] },
    'late.provider.test': { A: [SILENT[1]] },
    'down.test': { MX: [[10, 'mx.down.test']] },
    'down-too.test': { MX: [[10, 'mx.down.test']] },
    'mx.down.test': { A: [DOWN] },
  });
  await world.startScripted(ATTACKER, { connect: () => '421 4.7.0 Too many connections' });
  for (const address of SILENT) await world.startScripted(address, { connect: () => 'silence' });
  const { certificate, key } = issueCertificate({ names: ['mx.provider.test'] });
  provider = await world.startServer(PROVIDER, {
    cert: certificate,
    key,
    onRcptTo: ({ address }, _session, callback) =>
      /@(?:customer|provider)\.test$/.test(address) ? callback() : callback(refusal(550, '5.7.1 relay access denied')),
  });
});
afterAll(() => world.close());

const policy = (...mx: readonly string[]): StsPolicy => ({ mode: 'enforce', mx, maxAgeSeconds: 86_400 });

/** Attempts of one process, with the real transport and the real evaluation of their outcomes. */
const open = ({ policies = {}, security, connectMs = 5_000 }: Partial<Outsider> = {}) => {
  const clock = createSteppableSystem();
  const routes = createMxRoutes({ resolver: world.resolver, system, ehloName: 'sender.a.test' });
  const addressesOf = createMxAddresses({ resolver: world.resolver, system, allowPrivate: true });
  const destinations = createMailDestinations({ routes, addressesOf, system });
  const destinationLimits = createDestinationLimits(clock, silentLogger);
  const suspensions: SuspendDestination[] = [];
  const mtaSts = { policyOf: async (domain: string) => policies[domain] ?? null };
  const transport: MailTransport = world.transport({
    connectMs,
    sessionsPerServerMax: 2,
    security:
      security ??
      createTransportSecurity({ resolver: world.resolver, mtaSts, system, logger: silentLogger, port: world.port }),
  });

  let senders = 0;
  const attempt = async (domain: string, waitMs?: number): Promise<string> => {
    const provider = await destinationLimits.destinationOf(domain, destinations);
    if (destinationLimits.concurrencyOf(provider) === 0) await clock.advance(LONGER_THAN_ANY_PAUSE_MS);
    const beganMs = clock.monotonicMs();
    await clock.advance(1);
    const said = await send(transport, { envelopeTo: [`x@${domain}`] }, waitMs);
    const { outcomes } = reportOf(MESSAGE, said, { ...clock, cutOff: null });
    senders += 1; // failures of a single organization suspend no other mail
    const sender = { domainId: `dom_${senders}`, organizationId: `org_${senders}` };
    suspensions.push(...destinationLimits.report({ sender, provider, domain, outcomes, tookMs: 10, beganMs }));
    return said[0]?.outcome ?? '';
  };
  return { destinationLimits, destinations, attempt, suspensions, clock };
};

interface Outsider {
  readonly connectMs: number;
  readonly policies: Readonly<Record<string, StsPolicy>>;
  readonly security: TransportSecurity;
}

interface Way {
  /** The provider accepts mail for this domain, as for its own ones. */
  readonly isAnswered?: true;
  readonly dns: NameData;
  readonly policy?: StsPolicy;
  readonly security?: TransportSecurity;
}

const mx = (...exchanges: readonly string[]): NameData => ({
  MX: exchanges.map((exchange, at) => [10 * (at + 1), exchange] as const),
});

/** A certificate that matches no TLSA record. */
const UNDER_TLSA: TransportSecurity = {
  ofDomain: async (domain) => async () =>
    /evil/.test(domain)
      ? { key: 'dane', tls: { required: true, check: () => new Error('DANE: no record matches'), policy: 'dane' } }
      : { key: '', tls: { required: false, check: 'none' } },
};

const WAYS: Readonly<Record<string, Way>> = {
  'a host that does not exist': { dns: mx('nosuch.provider.test') },
  'a host that does not exist, in capitals and with a dot': { dns: mx('NOSUCH.Provider.TEST') },
  'hosts of which none exists': { dns: mx('a.provider.test', 'b.provider.test', 'c.provider.test') },
  'an alias to a host that does not exist': { dns: mx('alias.provider.test') },
  'an alias of its own to a host that does not exist': { dns: mx('nowhere.evil.test') },
  'a host with a reserved address': { dns: mx('odd.provider.test') },
  'a host whose DNS fails': { dns: mx('failing.provider.test') },
  'a host whose DNS is silent': { dns: mx('silent.provider.test') },
  'the provider, as an alias of the domain': { dns: { CNAME: 'provider.test' }, isAnswered: true },
  'the provider, which does not know the domain': { dns: mx('mx.provider.test'), isAnswered: true },
  'the provider, by an alias of its own': { dns: mx('alias.evil.test') },
  'the provider, by its address': { dns: mx('borrowed.evil.test') },
  'the provider, by its address and under a policy for its own name': {
    dns: mx('borrowed.evil.test'),
    policy: policy('borrowed.evil.test'),
  },
  'the provider, under a policy that does not name it': { dns: mx('mx.provider.test'), policy: policy('mx.evil.test') },
  'the provider, under a policy that its certificate does not meet': {
    dns: mx('mx.provider.test'),
    policy: policy('mx.provider.test'),
  },
  'the provider, under TLSA records that its certificate does not meet': {
    dns: mx('mx.provider.test'),
    security: UNDER_TLSA,
  },
  'a dead host of its own before the provider': { dns: mx('dead.evil.test', 'mx.provider.test') },
  'the provider before a dead host of its own, under a policy for that': {
    dns: mx('mx.provider.test', 'dead.evil.test'),
    policy: policy('dead.evil.test'),
  },
  'a host of the provider that does not exist before its own': { dns: mx('nosuch.provider.test', 'own.evil.test') },
  'the provider before its own, under a policy for that': {
    dns: mx('mx.provider.test', 'own.evil.test'),
    policy: policy('own.evil.test'),
  },
};

describe('a provider whose hosts an outsider names in the MX records of its own domain', () => {
  it.each(Object.entries(WAYS).map(([name, way], at) => [name, `evil${at}.test`, way] as const))(
    'is neither slowed nor suspended: %s',
    async (_, evil, way) => {
      world.dns.change({ [evil]: way.dns });
      const { attempt, destinationLimits, suspensions, destinations } = open({
        ...(way.policy && { policies: { [evil]: way.policy } }),
        ...(way.security && { security: way.security }),
      });
      for (let times = 0; times < 3; times += 1) await attempt(evil);
      const destination = await destinationLimits.destinationOf(evil, destinations);
      // Otherwise it occupies no slot of the provider.
      expect(destination === 'provider.test').toBe(way.isAnswered ?? false);
      expect(suspensions.map(({ operator }) => operator)).not.toContain('provider.test');
      expect(destinationLimits.concurrencyOf('provider.test')).toBeGreaterThanOrEqual(2);
      expect(destinationLimits.waitMsOf('provider.test')).toBe(0);
      expect(await destinationLimits.destinationOf('customer.test', destinations)).toBe('provider.test');
      expect(await attempt('customer.test')).toBe('delivered');
    },
  );

  it('is kept apart from many such domains, none of which is contacted there', async () => {
    const domains = Array.from({ length: 30 }, (_, at) => `d${at}.evil.test`);
    for (const domain of domains) world.dns.change({ [domain]: mx(`host-of-${domain}.provider.test`) });
    const { attempt, destinationLimits, suspensions } = open();
    const before = provider.connections();
    await Promise.all(domains.map((domain) => attempt(domain)));
    const told = suspensions.map(({ operator, reason }) => `${operator} ${reason}`);
    expect(told.sort()).toEqual(domains.map((domain) => `@${domain} recipient_domain`).sort());
    expect(provider.connections()).toBe(before);
    expect(destinationLimits.concurrencyOf('provider.test')).toBe(2);
  });

  it('is not blamed for a machine of a customer with a name below its own', async () => {
    world.dns.change({ 'machine.test': mx('customers-machine.provider.test') });
    const { attempt, destinationLimits, suspensions } = open();
    for (let times = 0; times < 4; times += 1) {
      await attempt('customer.test');
      await attempt('machine.test');
    }
    expect(suspensions.map(({ operator }) => operator)).not.toContain('provider.test');
    expect(destinationLimits.concurrencyOf('provider.test')).toBe(6);
  });

  it('is suspended at the addresses that were tried, and still gets mail at all others', async () => {
    world.dns.change({
      'dead-machine.test': mx('dead-machine.provider.test'),
      'dead-machine.provider.test': { A: [NOBODY] },
    });
    const { attempt, destinationLimits, suspensions, destinations } = open();
    await attempt('dead-machine.test');
    expect(suspensions).toMatchObject([{ operator: 'provider.test', reason: 'unreachable', addresses: [NOBODY] }]);
    expect(await destinationLimits.destinationOf('dead-machine.test', destinations)).toBe('provider.test');
    expect(await destinationLimits.destinationOf('customer.test', destinations)).toBe('@customer.test');
    expect(await attempt('customer.test')).toBe('delivered');
  });

  it('is not blamed for a try that began when the time was nearly over', async () => {
    world.dns.change({ 'late.test': mx('slow.evil.test', 'late.provider.test') });
    const { attempt, suspensions } = open({ connectMs: 300 });
    await attempt('late.test', 450);
    expect(suspensions.map(({ operator }) => operator)).not.toContain('provider.test');
  });

  it('is suspended if its own server does not answer, for all domains that it serves', async () => {
    const { attempt, destinationLimits, suspensions, destinations } = open();
    await attempt('down.test');
    expect(suspensions).toMatchObject([{ operator: 'down.test', reason: 'unreachable', addresses: [DOWN] }]);
    expect(await destinationLimits.destinationOf('down-too.test', destinations)).toBe('down.test');
    expect(destinationLimits.concurrencyOf('down.test')).toBe(0);
  });
});

describe('a domain whose own policy was in the way', () => {
  it('waits for its provider again after the first good answer', async () => {
    const policies: Record<string, StsPolicy> = { 'customer.test': policy('elsewhere.test') };
    const { attempt, destinationLimits, suspensions, destinations } = open({ policies });
    await attempt('customer.test');
    expect(suspensions).toMatchObject([
      { operator: '@customer.test', domain: 'customer.test', reason: 'recipient_domain', mx: 'mx.provider.test' },
    ]);
    expect(await destinationLimits.destinationOf('customer.test', destinations)).toBe('@customer.test');
    delete policies['customer.test'];
    expect(await attempt('customer.test')).toBe('delivered');
    expect(await destinationLimits.destinationOf('customer.test', destinations)).toBe('provider.test');
  });
});
