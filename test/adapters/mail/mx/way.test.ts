import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMailDestinations, createMxAddresses, createMxRoutes } from '../../../../src/adapters/mail/mx/routes.ts';
import { createMailWorld, type MailWorld, refusal, send, system } from './mail-world.ts';

let world: MailWorld;
beforeEach(async () => {
  world = await createMailWorld();
});
afterEach(() => world.close());

const ONE = '127.0.0.11';
const TWO = '127.0.0.12';

/** Two servers of `b.test`, the first of which is preferred. */
const preferring = (first: string, second: string): void => {
  world.dns.change({
    'b.test': {
      MX: [
        [20, 'second.b.test'],
        [10, 'first.b.test'],
      ],
    },
    'first.b.test': { A: [first] },
    'second.b.test': { A: [second] },
  });
};

describe('mail for a domain', () => {
  it('goes to the server that it prefers', async () => {
    preferring(ONE, TWO);
    const [first, second] = [await world.startServer(ONE), await world.startServer(TWO)];
    const transport = world.transport();
    for (let count = 0; count < 5; count += 1) {
      expect(await send(transport)).toMatchObject([{ outcome: 'delivered', mx: 'first.b.test', address: ONE }]);
    }
    expect([first.taken.length, second.taken.length]).toEqual([5, 0]);
    expect(first.connections()).toBe(1);
  });

  it('is shared among servers of equal preference', async () => {
    const MX = ['one.b.test', 'two.b.test'].map((host) => [10, host] as const);
    world.dns.change({ 'b.test': { MX }, 'one.b.test': { A: [ONE] }, 'two.b.test': { A: [TWO] } });
    const [one, two] = [await world.startServer(ONE), await world.startServer(TWO)];
    const transport = world.transport();
    for (let count = 0; count < 40; count += 1) await send(transport);
    expect(one.taken.length).toBeGreaterThan(5);
    expect(two.taken.length).toBeGreaterThan(5);
    expect(one.taken.length + two.taken.length).toBe(40);
  });

  it('goes to the domain itself if it names no server', async () => {
    world.dns.change({ 'b.test': { A: [ONE] } });
    await world.startServer(ONE);
    expect(await send(world.transport())).toMatchObject([{ outcome: 'delivered', mx: 'b.test', address: ONE }]);
  });

  it.each(['m_x.b.test', `${'x'.repeat(63)}.b.test`, '127.0.0.11'])('goes to its server called %j', async (host) => {
    world.dns.change({ 'b.test': { MX: [[10, host]] }, [host]: { A: [ONE] } });
    await world.startServer(ONE);
    expect(await send(world.transport())).toMatchObject([{ outcome: 'delivered', mx: host }]);
  });

  it('goes by IPv6 too', async () => {
    world.dns.change({ 'b.test': { AAAA: ['::1'] } });
    await world.startServer('::1');
    expect(await send(world.transport())).toMatchObject([{ outcome: 'delivered', address: '::1' }]);
  });

  it('goes by the other address family if one does not work', async () => {
    // Nothing listens there: the connection is refused at once, so that no time-out decides.
    world.dns.change({ 'b.test': { AAAA: ['::1'], A: [ONE] } });
    await world.startServer(ONE);
    for (let count = 0; count < 5; count += 1) {
      expect(await send(world.transport())).toMatchObject([{ outcome: 'delivered', address: ONE }]);
    }
  });

  it('carries its recipients in one transaction, and those of several domains to each of them', async () => {
    world.dns.change({ 'b.test': { A: [ONE] }, 'c.test': { A: [TWO] } });
    const onRcptTo = ({ address }: { address: string }, _: unknown, callback: (error?: Error) => void): void =>
      address === 'two@b.test' ? callback(refusal(550, '5.1.1 no such user')) : callback();
    const [one, two] = [await world.startServer(ONE, { onRcptTo }), await world.startServer(TWO)];
    const envelopeTo = ['one@b.test', 'x@c.test', 'two@b.test', 'x@none.test', 'three@b.test'];
    expect(await send(world.transport(), { envelopeTo })).toMatchObject([
      { recipientId: 'rcp_1', outcome: 'delivered', mx: 'b.test' },
      { recipientId: 'rcp_2', outcome: 'delivered', mx: 'c.test' },
      { recipientId: 'rcp_3', outcome: 'bounced', code: 550, enhanced: '5.1.1' },
      { recipientId: 'rcp_4', outcome: 'bounced', code: 0, enhanced: '5.1.2', mx: null },
      { recipientId: 'rcp_5', outcome: 'delivered', mx: 'b.test' },
    ]);
    expect(one.taken.map(({ to }) => to)).toEqual([['one@b.test', 'three@b.test']]);
    expect(two.taken.map(({ to }) => to)).toEqual([['x@c.test']]);
  });
});

describe('mail is not sent, and the reason is given,', () => {
  const refusedFor = async (enhanced: string | null) => {
    const [outcome] = await send(world.transport());
    expect(outcome).toMatchObject({ code: 0, enhanced, mx: null, stage: 'connect' });
    return [outcome?.outcome, outcome?.text];
  };

  it('for a domain that accepts no mail', async () => {
    world.dns.change({ 'b.test': { MX: [[0, '.']], A: [ONE] } });
    const server = await world.startServer(ONE);
    expect(await refusedFor('5.1.10')).toEqual(['bounced', 'the domain accepts no mail (null MX)']);
    expect(server.connections()).toBe(0);
  });

  it('for a domain that does not exist, and for one without records', async () => {
    expect(await refusedFor('5.1.2')).toEqual(['bounced', 'the domain does not exist']);
    world.dns.change({ 'c.test': { TXT: ['v=spf1 -all'] } });
    expect(await send(world.transport(), { envelopeTo: ['x@c.test'] })).toMatchObject([
      { outcome: 'bounced', enhanced: '5.1.2', text: 'the domain has neither a mail server nor an address' },
    ]);
  });

  it.each(['SERVFAIL', 'silence', 'REFUSED', 'garbage'] as const)('if the DNS does not answer: %s', async (wrong) => {
    world.dns.change({ 'b.test': { MX: [[10, 'first.b.test']], wrong }, 'first.b.test': { A: [ONE] } });
    const [outcome, text] = await refusedFor('4.4.3');
    expect(outcome).toBe('deferred');
    expect(text).toMatch(/^the mail servers of the domain cannot be looked up: .*b\.test/);
  });

  it('if the DNS does not answer for the address of the domain’s server', async () => {
    world.dns.change({ 'b.test': { MX: [[10, 'first.b.test']] }, 'first.b.test': { A: [ONE], wrong: 'SERVFAIL' } });
    expect(await send(world.transport())).toMatchObject([
      {
        outcome: 'deferred',
        mx: 'first.b.test',
        text: expect.stringMatching(/^the addresses of first\.b\.test cannot/),
      },
    ]);
  });

  it.each(['a host.b.test', 'evil\u0000.b.test', 'evil\r\n.b.test', 'öl.b.test', '*.b.test'])(
    'for a domain whose only server is called %j',
    async (host) => {
      world.dns.change({ 'b.test': { MX: [[10, host]] }, [host]: { A: [ONE] } });
      const sentence = 'the MX records of the domain do not hold host names';
      expect(await refusedFor('4.4.4')).toEqual(['deferred', sentence]);
    },
  );

  it('for a domain whose servers have no address', async () => {
    world.dns.change({ 'b.test': { MX: [[10, 'first.b.test']] } });
    expect(await send(world.transport())).toMatchObject([
      { outcome: 'deferred', code: 0, mx: 'first.b.test', text: 'first.b.test has no address' },
    ]);
  });

  it('for a domain whose only servers are in private networks', async () => {
    preferring('10.0.0.1', ONE);
    const server = await world.startServer(ONE);
    expect(await send(world.transport({ allowPrivate: false }))).toMatchObject([
      { outcome: 'deferred', text: 'second.b.test has no public address, and mail is sent to no other' },
    ]);
    expect(server.connections()).toBe(0);
  });

  it.each(['0.0.0.0', '224.0.0.1', '255.255.255.255', '::', 'ff02::1', '240.0.0.1', '192.0.2.1'])(
    'for an address that no host can have, even if all are allowed: %s',
    async (address) => {
      world.dns.change({ 'b.test': address.includes(':') ? { AAAA: [address] } : { A: [address] } });
      expect(await send(world.transport())).toMatchObject([
        { outcome: 'deferred', text: 'b.test has no public address, and mail is sent to no other' },
      ]);
    },
  );

  it('for a domain that names this server', async () => {
    const MX = (['sender.a.test', 'same.b.test', 'later.b.test'] as const).map((host, at) => [at, host] as const);
    world.dns.change({ 'b.test': { MX } });
    expect(await refusedFor('4.4.6')).toEqual(['deferred', 'the domain names this service as its own mail server']);
  });

  it('except to the servers before us, for a domain that names us among others', async () => {
    preferring(ONE, TWO);
    await world.startServer(ONE);
    const transport = world.transport({ ehloName: 'Second.b.test' });
    expect(await send(transport)).toMatchObject([{ outcome: 'delivered', mx: 'first.b.test' }]);
  });
});

describe('the destination of a domain', () => {
  it('is the provider of its first usable server, or else the domain itself', async () => {
    const routes = createMxRoutes({ resolver: world.resolver, system, ehloName: 'sender.a.test' });
    const addressesOf = createMxAddresses({ resolver: world.resolver, system, allowPrivate: true });
    const { providerOf } = createMailDestinations({ routes, addressesOf, system });
    const equal = (...hosts: readonly string[]) => hosts.map((host) => [10, host] as const);
    world.dns.change({
      'b.test': {
        MX: [
          [20, 'mx.elsewhere.example.co.uk'],
          [10, 'aspmx.l.google.com'],
        ],
      },
      'backup.test': {
        MX: [
          [10, 'nosuch.l.google.com'],
          [20, 'mx.elsewhere.example.co.uk'],
        ],
      },
      'one.test': { MX: equal('mx.b.example', 'mx.a.example') },
      'other.test': { MX: equal('mx.a.example', 'mx.b.example') },
      'aspmx.l.google.com': { A: [ONE] },
      'mx.elsewhere.example.co.uk': { A: [ONE] },
      'mx.a.example': { A: [ONE] },
      'mx.b.example': { A: [ONE] },
      'c.test': { A: [ONE] },
      'd.test': { MX: [[0, '.']] },
      'e.test': { wrong: 'SERVFAIL' },
      'f.test': { MX: [[10, 'evil\u0000.example.com']] },
      'g.test': { MX: [[10, 'nosuch.l.google.com']] },
    });
    const expected = {
      'b.test': 'google.com',
      'backup.test': 'example.co.uk',
      'c.test': 'c.test',
      'one.test': 'a.example',
      'other.test': 'a.example',
      'd.test': '@d.test',
      'e.test': '@e.test',
      'f.test': '@f.test',
      'g.test': '@g.test',
      'nosuch.google.com': '@nosuch.google.com',
    };
    for (const [domain, destination] of Object.entries(expected)) expect(await providerOf(domain)).toBe(destination);
  });
});

describe('the deadline', () => {
  it('limits the wait for a DNS that says nothing', async () => {
    world.dns.change({ 'b.test': { MX: [[10, 'first.b.test']], delayMs: 250 }, 'c.test': { wrong: 'silence' } });
    for (const domain of ['b.test', 'c.test']) {
      const [outcome] = await send(world.transport(), { envelopeTo: [`x@${domain}`] }, 100);
      expect(outcome).toMatchObject({
        outcome: 'deferred',
        text: expect.stringMatching(/^the deadline passed before/),
      });
    }
  });
});
