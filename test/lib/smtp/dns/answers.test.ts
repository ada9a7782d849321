import { describe, expect, test } from 'vitest';
import { asking } from './asking.ts';

const answer = { exists: true, authenticated: false, aliases: [] };

describe('a question', () => {
  test('is answered with the records of its type', async () => {
    const { resolver } = await asking({
      'example.test': {
        MX: [
          [20, 'MX2.Example.test'],
          [10, 'mx1.example.test'],
        ],
        TXT: ['v=spf1 -all', ['outbox-', 'verification=1']],
        A: ['192.0.2.1', '192.0.2.2'],
        AAAA: ['2001:db8::1'],
      },
      '_25._tcp.mx1.example.test': { TLSA: [`3 1 1 ${'AB'.repeat(32)}`] },
    });
    expect(await resolver.mx('example.test')).toEqual({
      ...answer,
      records: [
        { exchange: 'mx2.example.test', preference: 20 },
        { exchange: 'mx1.example.test', preference: 10 },
      ],
    });
    expect(await resolver.txt('example.test')).toEqual({
      ...answer,
      records: ['v=spf1 -all', 'outbox-verification=1'],
    });
    expect(await resolver.addresses('example.test')).toEqual({
      ...answer,
      records: [
        { address: '192.0.2.1', family: 4 },
        { address: '192.0.2.2', family: 4 },
        { address: '2001:db8::1', family: 6 },
      ],
    });
    expect(await resolver.tlsa('_25._tcp.mx1.example.test')).toEqual({
      ...answer,
      records: [{ usage: 3, selector: 1, matchingType: 1, data: 'ab'.repeat(32) }],
    });
  });

  test('distinguishes a name that does not exist from one that has none of these records', async () => {
    const { resolver } = await asking({ 'example.test': { A: ['192.0.2.1'] } });
    expect(await resolver.mx('gone.test')).toEqual({ ...answer, exists: false, records: [] });
    expect(await resolver.mx('example.test')).toEqual({ ...answer, records: [] });
    expect(await resolver.addresses('gone.test')).toEqual({ ...answer, exists: false, records: [] });
  });

  test('may be about a null MX', async () => {
    const { resolver } = await asking({ 'example.test': { MX: [[0, '.']] } });
    expect((await resolver.mx('example.test')).records).toEqual([{ exchange: '', preference: 0 }]);
  });

  test('ignores case and a dot at the end', async () => {
    const { resolver, server } = await asking({ 'example.test': { TXT: ['here'] } });
    expect((await resolver.txt('EXAMPLE.test.')).records).toEqual(['here']);
    expect(server.asked).toHaveLength(1);
  });

  test('requests authentication, with room for an answer of 1232 bytes, under another id and port each time', async () => {
    const names = Array.from({ length: 16 }, (_, at) => `n${at}.test`);
    const { resolver, server } = await asking(Object.fromEntries(names.map((name) => [name, { TXT: [name] }])));
    await Promise.all(names.map((name) => resolver.txt(name)));
    expect(server.asked.every(({ wantsAuthentication, edns }) => wantsAuthentication && edns)).toBe(true);
    expect(new Set(server.asked.map(({ id }) => id)).size).toBeGreaterThan(12);
    expect(new Set(server.asked.map(({ port }) => port)).size).toBeGreaterThan(12);
  });

  test('whose answer is too long for a datagram is repeated by TCP', async () => {
    const long = Array.from({ length: 12 }, (_, at) => `${at} `.padEnd(400, 'x'));
    const { resolver, server } = await asking({
      'long.test': { TXT: long },
      'short.test': { TXT: ['here'], wrong: 'truncated' },
    });
    expect((await resolver.txt('long.test')).records).toEqual(long);
    expect((await resolver.txt('short.test')).records).toEqual(['here']);
    expect(server.asked.map(({ by }) => by)).toEqual(['udp', 'tcp', 'udp', 'tcp']);
  });

  test.each(['', '.', 'a..b', '.a', 'a b.test', 'ä.test', 'x\r\ny.test', 'x\0.test', `${'x'.repeat(64)}.test`])(
    'about %j, which is not a name, is answered without a query',
    async (name) => {
      const { resolver, server } = await asking({});
      expect(await resolver.txt(name)).toEqual({ ...answer, exists: false, records: [] });
      expect(await resolver.addresses(`${'a.'.repeat(5_000_000)}test`)).toMatchObject({ exists: false });
      expect(server.asked).toEqual([]);
    },
  );
});

describe('authentication', () => {
  test('is what the resolver says of the answer, including one without records', async () => {
    const { resolver } = await asking({
      'signed.test': { MX: [[10, 'mx.test']], authenticated: true },
      'plain.test': { MX: [[10, 'mx.test']] },
    });
    expect(await resolver.mx('signed.test')).toMatchObject({ authenticated: true });
    expect(await resolver.txt('signed.test')).toMatchObject({ authenticated: true, records: [] });
    expect(await resolver.mx('plain.test')).toMatchObject({ authenticated: false });
  });

  test('of an alias queried in two steps needs both', async () => {
    const { resolver } = await asking({
      'half.test': { CNAME: 'plain.test', aliasOnly: true, authenticated: true },
      'whole.test': { CNAME: 'signed.test', aliasOnly: true, authenticated: true },
      'plain.test': { A: ['192.0.2.1'] },
      'signed.test': { A: ['192.0.2.1'], authenticated: true },
    });
    expect(await resolver.addresses('half.test')).toMatchObject({ authenticated: false });
    expect(await resolver.addresses('whole.test')).toMatchObject({ authenticated: true });
  });
});

describe('aliases', () => {
  const zone = {
    'one.test': { CNAME: 'Two.test' },
    'two.test': { CNAME: 'three.test' },
    'three.test': { A: ['192.0.2.3'], TXT: ['three'] },
  };

  test('are followed within an answer, and reported', async () => {
    const { resolver, server } = await asking(zone);
    expect(await resolver.txt('one.test')).toEqual({
      ...answer,
      records: ['three'],
      aliases: ['two.test', 'three.test'],
    });
    expect(server.asked).toHaveLength(1);
  });

  test('are queried if an answer ends in one', async () => {
    const { resolver, server } = await asking({ ...zone, 'one.test': { CNAME: 'two.test', aliasOnly: true } });
    expect(await resolver.txt('one.test')).toEqual({
      ...answer,
      records: ['three'],
      aliases: ['two.test', 'three.test'],
    });
    expect(server.asked.map(({ name }) => name)).toEqual(['one.test', 'two.test']);
  });

  test('that lead to nothing do not exist either', async () => {
    const { resolver } = await asking({ ...zone, 'three.test': {}, 'lost.test': { CNAME: 'gone.test' } });
    expect(await resolver.txt('one.test')).toMatchObject({ records: [], exists: true });
    expect(await resolver.txt('lost.test')).toMatchObject({ records: [], exists: false, aliases: ['gone.test'] });
  });
});
