import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSessionPools, type DeliveryTarget } from '../../../../src/adapters/mail/mx/session-pools.ts';
import { readSourcePools, type SourcePools } from '../../../../src/domain/message/source-pools.ts';
import { openSmtpSession } from '../../../../src/lib/smtp/smtp.ts';
import { slowness } from '../../../support/slowness.ts';
import type { MailParts } from '../outgoing-mail.ts';
import { createMailWorld, type MailWorld, send, system } from './mail-world.ts';

let world: MailWorld;
beforeEach(async () => {
  world = await createMailWorld();
});
afterEach(() => world.close());

const never = new AbortController().signal;

const deliveryTarget = (address: string): DeliveryTarget => ({
  key: address,
  target: {
    host: 'mx.b.test',
    address,
    port: world.port,
    implicitTls: false,
    credentials: null,
    tls: { required: false, check: 'none', avoided: true },
  },
});

const createPools = (sessionsMax: number, sessionsPerServerMax = 20, sessionsPerAddressMax = 40) =>
  createSessionPools({
    open: ({ target }, signal, onEnd) =>
      openSmtpSession({ target, ehloName: 'sender.a.test', connectMs: 1_000, onEnd }, signal),
    sessionsMax,
    sessionsPerServerMax,
    sessionsPerAddressMax,
  });

const until = async (isTrue: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 200 && !isTrue(); tries += 1) await sleep(10);
  expect(isTrue()).toBe(true);
};

describe('sessions with many servers', () => {
  it('never exceed the limit at one address, whatever names lead there', async () => {
    const seen = { now: 0, most: 0 };
    await world.startServer('127.0.0.1', {
      onConnect: (_session, callback) => {
        seen.now += 1;
        seen.most = Math.max(seen.most, seen.now);
        callback();
      },
      onClose: () => {
        seen.now -= 1;
      },
    });
    const pools = createPools(50, 20, 3);
    const use = async (name: number): Promise<void> => {
      const { release } = await pools.acquire(
        { ...deliveryTarget('127.0.0.1'), key: `name ${name}` },
        AbortSignal.timeout(5_000),
      );
      await sleep(10);
      release(true);
    };
    await Promise.all(Array.from({ length: 15 }, (_, name) => use(name)));
    expect(seen.most).toBe(3);
    await pools.close();
    expect(pools.size()).toBe(0);
  });

  it('end when idle, to make room for others', async () => {
    const { connections } = await world.startServer('0.0.0.0');
    const pools = createPools(3);
    for (let count = 1; count <= 20; count += 1) {
      const { release } = await pools.acquire(deliveryTarget(`127.0.2.${count}`), never);
      release(true);
      expect(pools.size()).toBeLessThanOrEqual(4); // one of them is closing
    }
    expect(connections()).toBe(20);
    await pools.close();
    expect(pools.size()).toBe(0);
  });

  it('wait for each other if none is idle, until their time is over', async () => {
    await world.startServer('0.0.0.0');
    const pools = createPools(2);
    const one = await pools.acquire(deliveryTarget('127.0.2.1'), never);
    const two = await pools.acquire(deliveryTarget('127.0.2.2'), never);
    const late = pools.acquire(deliveryTarget('127.0.2.3'), AbortSignal.timeout(100));
    await expect(late).rejects.toThrow('no session was free before the deadline');
    const third = pools.acquire(deliveryTarget('127.0.2.3'), never);
    await sleep(50);
    expect(pools.size()).toBe(3);
    one.release(true);
    const three = await third;
    two.release(true);
    three.release(true);
    await pools.close();
  });

  it('never exceed the share of one server, while others get theirs', async () => {
    await world.startServer('0.0.0.0');
    const pools = createPools(10, 2);
    const held = [
      await pools.acquire(deliveryTarget('127.0.2.1'), never),
      await pools.acquire(deliveryTarget('127.0.2.1'), never),
    ];
    const third = pools.acquire(deliveryTarget('127.0.2.1'), AbortSignal.timeout(100));
    await expect(third).rejects.toThrow('no session was free');
    const other = await pools.acquire(deliveryTarget('127.0.2.2'), never);
    for (const { release } of [...held, other]) release(true);
    await pools.close();
  });

  it('are forgotten with their servers when they have ended, or never began', async () => {
    const server = await world.startServer('127.0.2.1');
    const pools = createPools(10);
    const { session, release } = await pools.acquire(deliveryTarget('127.0.2.1'), never);
    release(true);
    await expect(pools.acquire(deliveryTarget('127.0.2.2'), never)).rejects.toThrow('ECONNREFUSED');
    await until(() => pools.size() === 1);
    session.quit();
    await until(() => pools.size() === 0);
    await server.close();
    const room = Array.from({ length: 30 }, () => pools.acquire(deliveryTarget('127.0.2.1'), never));
    for (const each of room) await expect(each).rejects.toThrow('ECONNREFUSED');
    await until(() => pools.size() === 0);
    await pools.close();
  });

  it('free their place when they fail to begin', async () => {
    const pools = createPools(2);
    const tries = Array.from({ length: 20 }, (_, index) =>
      pools.acquire(deliveryTarget(`127.0.2.${index + 1}`), never),
    );
    for (const each of tries) await expect(each).rejects.toThrow('ECONNREFUSED');
    await world.startServer('0.0.0.0');
    const held = [
      await pools.acquire(deliveryTarget('127.0.2.1'), never),
      await pools.acquire(deliveryTarget('127.0.2.2'), never),
    ];
    for (const { release } of held) release(true);
    await pools.close();
  });
});

describe('mail for many domains', () => {
  const DOMAINS = Array.from({ length: 20 }, (_, index) => `d${index}.test`);

  it('is delivered within the limit of sessions', async () => {
    let open = 0;
    let most = 0;
    await world.startServer('0.0.0.0', {
      onConnect: (_session, callback) => {
        open += 1;
        most = Math.max(most, open);
        callback();
      },
      onClose: () => {
        open -= 1;
      },
    });
    for (const [index, name] of DOMAINS.entries()) world.dns.change({ [name]: { A: [`127.0.3.${index + 1}`] } });
    const transport = world.transport({ sessionsMax: 6 });
    const rounds = [...DOMAINS, ...DOMAINS, ...DOMAINS];
    const outcomes = await Promise.all(rounds.map((name) => send(transport, { envelopeTo: [`x@${name}`] }, 30_000)));
    expect(outcomes.flat().map(({ outcome }) => outcome)).toEqual(rounds.map(() => 'delivered'));
    expect(most).toBeLessThanOrEqual(6 + 2); // the server detects an end later than the client
    await transport.close();
    await until(() => open === 0);
  });

  it('waits for no server but its own', async () => {
    await world.startServer('127.0.3.1');
    await world.startScripted('127.0.3.2', { MAIL: () => 'silence' });
    world.dns.change({ 'healthy.test': { A: ['127.0.3.1'] }, 'slow.test': { A: ['127.0.3.2'] } });
    const transport = world.transport({ sessionsPerServerMax: 3 });
    const slow = Array.from({ length: 20 }, () => send(transport, { envelopeTo: ['x@slow.test'] }, 1_500));
    const begunMs = system.monotonicMs();
    const healthy = Array.from({ length: 20 }, () => send(transport, { envelopeTo: ['x@healthy.test'] }));
    for (const each of healthy) expect(await each).toMatchObject([{ outcome: 'delivered' }]);
    expect(system.monotonicMs() - begunMs).toBeLessThan(1_000 * slowness());
    for (const each of slow) expect(await each).toMatchObject([{ outcome: 'deferred' }]);
  });

  it('comes from a source address that is always the same for a domain', async () => {
    const server = await world.startServer('0.0.0.0');
    for (const name of DOMAINS) world.dns.change({ [name]: { A: ['127.0.3.1'] } });
    const transport = world.transport({ sourceAddresses: ['127.0.4.1', '::1', '127.0.4.2'] });
    for (const name of [...DOMAINS, ...DOMAINS]) {
      expect(await send(transport, { envelopeTo: [`x@${name}`] })).toMatchObject([{ outcome: 'delivered' }]);
    }
    const sources = Map.groupBy(server.taken, ({ to }) => to[0]);
    for (const taken of sources.values()) expect(new Set(taken.map(({ from }) => from)).size).toBe(1);
    expect(new Set(server.taken.map(({ from }) => from))).toEqual(new Set(['127.0.4.1', '127.0.4.2']));
  });

  it('comes from the pool of its sending domain, its organization or its stream, in this order', async () => {
    const server = await world.startServer('127.0.3.1');
    world.dns.change({ 'b.test': { A: ['127.0.3.1'] } });
    const organizationId = `org_${'a'.repeat(26)}`;
    const sourcePools = readSourcePools(
      `bulk=127.0.0.3; ${organizationId}=127.0.0.4; ${organizationId}/bulk=127.0.0.5; a.test=127.0.0.6; a.test/bulk=127.0.0.7`,
      (address) => isIP(address) !== 0,
    ) as SourcePools; // a sentence would fail the sends
    const transport = world.transport({ sourceAddresses: ['127.0.0.2'], sourcePools });
    const sourceOf = async (address: string, parts: MailParts) => {
      const [outcome] = await send(transport, { from: { address }, ...parts });
      expect(outcome).toMatchObject({ outcome: 'delivered', source: server.taken.at(-1)?.from });
      return outcome?.source;
    };
    const bulk = { stream: 'bulk' } as const;
    expect(await sourceOf('me@other.test', {})).toBe('127.0.0.2');
    expect(await sourceOf('me@other.test', bulk)).toBe('127.0.0.3');
    expect(await sourceOf('me@other.test', { organizationId })).toBe('127.0.0.4');
    expect(await sourceOf('me@other.test', { organizationId, ...bulk })).toBe('127.0.0.5');
    expect(await sourceOf('me@A.test', { organizationId })).toBe('127.0.0.6');
    expect(await sourceOf('me@a.test', { organizationId, ...bulk })).toBe('127.0.0.7');
  });

  it('leaves from the other addresses of its pool once a new one has used its quota; bulk mail waits if none is left', async () => {
    await world.startServer('127.0.3.1');
    world.dns.change({ 'b.test': { A: ['127.0.3.1'] } });
    const left = new Map([
      ['127.0.0.3', 1],
      ['127.0.0.4', 1],
    ]);
    const asked: string[] = [];
    const transport = world.transport({
      sourceAddresses: ['127.0.0.2'],
      sourcePools: new Map([['a.test', ['127.0.0.3', '127.0.0.4']]]),
      sourceQuotas: {
        reserve: async ({ source, domain, recipients, exemptFromCap }) => {
          asked.push(`${domain} ${recipients}`);
          const places = left.get(source) ?? Number.POSITIVE_INFINITY;
          left.set(source, places - recipients);
          return exemptFromCap || places > 0;
        },
        retryAfterSeconds: () => 43_200,
      },
    });
    const bulk = () => send(transport, { from: { address: 'me@a.test' }, stream: 'bulk' });
    const [first] = await bulk();
    const [second] = await bulk();
    expect(new Set([first?.source, second?.source])).toEqual(new Set(['127.0.0.3', '127.0.0.4']));
    expect(await bulk()).toMatchObject([
      { outcome: 'deferred', code: 0, enhanced: '4.4.5', retryAfterSeconds: 43_200, destination: null },
    ]);
    const [urgent] = await send(transport, { from: { address: 'me@a.test' } });
    expect(urgent).toMatchObject({ outcome: 'delivered', source: first?.source });
    expect(new Set(asked)).toEqual(new Set(['b.test 1']));
    expect(await send(transport, { from: { address: 'me@other.test' }, stream: 'bulk' })).toMatchObject([
      { outcome: 'delivered', source: '127.0.0.2' },
    ]);
  });

  it('reserves quota of a new address only over the family that is used', async () => {
    for (const address of ['127.0.3.1', '::1']) await world.startServer(address);
    world.dns.change({ 'b.test': { A: ['127.0.3.1'], AAAA: ['::1'] } });
    const reserved: string[] = [];
    const transport = world.transport({
      sourceAddresses: ['127.0.0.2', '::1'],
      sourceQuotas: {
        reserve: async ({ source }) => reserved.push(source) > 0,
        retryAfterSeconds: () => 43_200,
      },
    });
    const [sent] = await send(transport, { stream: 'bulk' });
    expect(sent?.outcome).toBe('delivered');
    expect(reserved).toEqual([sent?.source]);
  });

  it('uses the other family, whatever waits for quota', async () => {
    for (const address of ['127.0.3.1', '::1']) await world.startServer(address);
    world.dns.change({ 'b.test': { A: ['127.0.3.1'], AAAA: ['::1'] } });
    for (const source of ['127.0.0.2', '::1']) {
      const transport = world.transport({
        sourceAddresses: ['127.0.0.2', '::1'],
        sourceQuotas: { reserve: async (request) => request.source === source, retryAfterSeconds: () => 43_200 },
      });
      expect(await send(transport, { stream: 'bulk' })).toMatchObject([{ outcome: 'delivered', source }]);
    }
  });

  it('retries soon when only the other family waits for quota and the server does not answer', async () => {
    world.dns.change({ 'b.test': { A: ['127.0.3.1'], AAAA: ['::1'] } });
    for (const source of ['127.0.0.2', '::1']) {
      const transport = world.transport({
        sourceAddresses: ['127.0.0.2', '::1'],
        sourceQuotas: { reserve: async (request) => request.source === source, retryAfterSeconds: () => 43_200 },
      });
      const [outcome] = await send(transport, { stream: 'bulk' });
      expect(outcome).toMatchObject({ outcome: 'deferred', enhanced: null, source });
      expect(outcome).not.toHaveProperty('retryAfterSeconds');
    }
  });

  it('reaches a server that does not answer the addresses of another pool', async () => {
    const server = await world.startServer('127.0.3.1', {
      onConnect: ({ remoteAddress }, callback) => {
        if (remoteAddress !== '127.0.0.3') callback();
      },
    });
    world.dns.change({ 'b.test': { A: ['127.0.3.1'] } });
    const transport = world.transport({
      sourceAddresses: ['127.0.0.2'],
      sourcePools: new Map([['bulk', ['127.0.0.3']]]),
      connectMs: 300,
    });
    expect(await send(transport, { stream: 'bulk' })).toMatchObject([{ outcome: 'deferred', source: '127.0.0.3' }]);
    expect(await send(transport)).toMatchObject([{ outcome: 'delivered', source: '127.0.0.2' }]);
    expect(server.taken).toHaveLength(1);
  });

  it('is not sent from an address that was not chosen, if none of the family was', async () => {
    await world.startServer('127.0.3.1');
    world.dns.change({ 'b.test': { A: ['127.0.3.1'] } });
    expect(await send(world.transport({ sourceAddresses: ['::1'] }))).toMatchObject([
      {
        outcome: 'deferred',
        text: 'b.test has no address of a family that SOURCE_ADDRESSES or SOURCE_POOLS has for this mail',
      },
    ]);
  });
});
