import { describe, expect, onTestFinished, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { ResolverUnavailable } from '../../../../src/lib/smtp/dns/resolver.ts';
import { createStubResolver } from '../../../../src/lib/smtp/dns/stub-resolver.ts';
import type { Misbehaviour } from '../../../support/dns-misbehaviours.ts';
import { startNameServer } from '../../../support/name-server.ts';
import { asking } from './asking.ts';

const good = { TXT: ['here'], MX: [[10, 'mx.test']] as const };

describe('an answer', () => {
  test.each<[Misbehaviour, RegExp]>([
    ['silence', /no answer in time/],
    ['SERVFAIL', /SERVFAIL/],
    ['REFUSED', /REFUSED/],
    ['FORMERR', /FORMERR/],
    ['wrong id', /no answer in time/],
    ['wrong question', /no answer in time/],
    ['garbage', /cannot be read|too many records/],
    ['cut off', /cannot be read/],
    ['contradiction', /does not exist, and has records/],
    ['referral', /refers to others/],
    ['silent by tcp', /no answer in time/],
  ])('that is invalid (%s) is unknown, which differs from "none"', async (wrong, reason) => {
    const { resolver } = await asking({ 'bad.test': { ...good, wrong } });
    const asked = resolver.txt('bad.test');
    await expect(asked).rejects.toThrow(ResolverUnavailable);
    await expect(asked).rejects.toThrow(reason);
  });

  test.each<Misbehaviour>(['forged first', 'spoofed extra'])(
    'is not affected by what others send (%s)',
    async (wrong) => {
      const { resolver, server } = await asking({ 'good.test': { ...good, wrong } });
      expect(await resolver.txt('good.test')).toEqual({
        records: ['here'],
        exists: true,
        authenticated: false,
        aliases: [],
      });
      expect((await resolver.mx('good.test')).records).toEqual([{ exchange: 'mx.test', preference: 10 }]);
      expect(await resolver.txt('elsewhere.test')).toMatchObject({ exists: false, records: [] });
      expect(server.asked.filter(({ name }) => name === 'good.test')).toHaveLength(2);
    },
  );

  test('in a circle, with too many aliases, or with two aliases of one name is unknown', async () => {
    const chain = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [`c${at}.test`, { CNAME: `c${at + 1}.test`, aliasOnly: at % 2 === 0 }]),
    );
    const { resolver, server } = await asking({
      ...chain,
      'round.test': { CNAME: 'about.test' },
      'about.test': { CNAME: 'round.test' },
      'step.test': { CNAME: 'pets.test', aliasOnly: true },
      'pets.test': { CNAME: 'step.test', aliasOnly: true },
      'fork.test': { CNAME: ['one.test', 'two.test'] },
    });
    for (const name of ['c0.test', 'round.test', 'step.test', 'fork.test']) {
      await expect(resolver.txt(name)).rejects.toThrow(ResolverUnavailable);
    }
    expect(server.asked.length).toBeLessThan(30);
  });
});

describe('a server that fails', () => {
  test.each<Misbehaviour>(['SERVFAIL', 'REFUSED', 'silence', 'garbage'])(
    'is followed by the next one (%s)',
    async (wrong) => {
      const { resolver, servers } = await asking({ 'good.test': { ...good, wrong } }, { 'good.test': good });
      expect((await resolver.txt('good.test')).records).toEqual(['here']);
      expect(servers.map(({ asked }) => asked.length)).toEqual([1, 1]);
    },
  );

  test('once is queried once more', async () => {
    const { resolver, server } = await asking({
      'good.test': { ...good, wrong: (nth) => (nth === 0 ? 'silence' : null) },
    });
    expect((await resolver.txt('good.test')).records).toEqual(['here']);
    expect(server.asked).toHaveLength(2);
  });

  test('is queried twice at most, and all together four times', async () => {
    const bad = { 'bad.test': { ...good, wrong: 'SERVFAIL' } } as const;
    const { resolver, servers } = await asking(bad, bad, bad);
    await expect(resolver.txt('bad.test')).rejects.toThrow(ResolverUnavailable);
    expect(servers.map(({ asked }) => asked.length)).toEqual([2, 1, 1]);
  });

  test('by silence is queried last for a while', async () => {
    const silent = { wrong: 'silence' } as const;
    const { resolver, servers, advance } = await asking(
      { 'a.test': silent, 'b.test': silent, 'c.test': good },
      { 'a.test': good, 'b.test': good, 'c.test': good },
    );
    await resolver.txt('a.test');
    await resolver.txt('b.test');
    expect(servers.map(({ asked }) => asked.length)).toEqual([1, 2]);
    advance(10_001);
    await resolver.txt('c.test');
    expect(servers.map(({ asked }) => asked.length)).toEqual([2, 2]);
  });

  test('at a question with EDNS is queried without', async () => {
    const { resolver, server } = await asking({
      'old.test': { ...good, wrong: (nth) => (nth === 0 ? 'FORMERR' : null) },
    });
    expect((await resolver.txt('old.test')).records).toEqual(['here']);
    expect(server.asked.map(({ edns }) => edns)).toEqual([true, false]);
  });

  test('at AAAA only leaves the IPv4 addresses; a name without those has no addresses', async () => {
    const wrong = (_nth: number, type: string) => (type === 'AAAA' ? ('SERVFAIL' as const) : null);
    const { resolver } = await asking({
      'half.test': { A: ['192.0.2.1'], authenticated: true, wrong },
      'none.test': { wrong },
    });
    expect(await resolver.addresses('half.test')).toMatchObject({
      records: [{ address: '192.0.2.1', family: 4 }],
      authenticated: true,
    });
    await expect(resolver.addresses('none.test')).rejects.toThrow(ResolverUnavailable);
  });

  test('by refusing packets is distinguished from a silent one by its speed', async () => {
    const { server, servers } = await asking({}, { 'good.test': good });
    await server.close();
    const resolver = createStubResolver({ system: createSystem(), servers, timeoutMs: 30_000 });
    expect((await resolver.txt('good.test')).records).toEqual(['here']);
    await resolver.close();
  });
});

describe('closing', () => {
  test('gives up pending queries, and answers nothing more', async () => {
    const { server } = await asking({ 'slow.test': { ...good, delayMs: 20_000 }, 'good.test': good });
    const resolver = createStubResolver({ system: createSystem(), servers: [server], timeoutMs: 30_000 });
    const asked = Promise.allSettled([resolver.txt('slow.test'), resolver.addresses('slow.test')]);
    while (server.asked.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    await resolver.close();
    for (const each of await asked) {
      expect(each).toMatchObject({ status: 'rejected', reason: { name: 'ResolverUnavailable' } });
    }
    await expect(resolver.txt('good.test')).rejects.toThrow(ResolverUnavailable);
  });
});

test('more questions than there is room for wait for each other, and all are answered', async () => {
  const names = Array.from({ length: 600 }, (_, at) => `n${at}.test`);
  const zone = Object.fromEntries(names.map((name, at) => [name, { TXT: [name], delayMs: at % 10 === 0 ? 30 : 0 }]));
  const { server } = await asking(zone);
  const resolver = createStubResolver({ system: createSystem(), servers: [server] });
  const answers = await Promise.all(names.map((name) => resolver.txt(name)));
  expect(answers.map(({ records }) => records[0])).toEqual(names);
  await resolver.close();
});

describe('questions about a name whose servers do not answer', () => {
  /** @returns the number of slow queries that have failed when the quick one is answered. */
  const failedBefore = async (slow: readonly string[]): Promise<number> => {
    const names = slow.map((name) => [name, { ...good, wrong: 'silence' as const }] as const);
    const server = await startNameServer({ 'quick.test': good, ...Object.fromEntries(names) });
    onTestFinished(server.close);
    const resolver = createStubResolver({ system: createSystem(), servers: [server], timeoutMs: 2_000 });
    let failed = 0;
    const asked = slow.map((name) =>
      resolver.txt(name).catch(() => {
        failed += 1;
      }),
    );
    expect((await resolver.txt('quick.test')).records).toEqual(['here']);
    const before = failed;
    await resolver.close();
    await Promise.all(asked);
    expect(failed).toBe(slow.length);
    return before;
  };

  test('do not delay those about another, however many there are', async () => {
    expect(await failedBefore(Array.from({ length: 600 }, (_, at) => `a${at}.slow.test`))).toBe(0);
  });

  test('do not delay those about several such names either', async () => {
    const names = Array.from({ length: 5 }, (_, at) => `slow${at}.test`);
    const all = names.flatMap((name) => Array.from({ length: 120 }, (_, at) => `a${at}.${name}`));
    expect(await failedBefore(all)).toBe(0);
  });
});
