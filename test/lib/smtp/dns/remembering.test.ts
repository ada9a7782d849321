import { describe, expect, test } from 'vitest';
import { ResolverUnavailable } from '../../../../src/lib/smtp/dns/resolver.ts';
import { asking } from './asking.ts';

const SECOND = 1000;

describe('an answer is cached', () => {
  test.each([
    ['as long as its records say', { TXT: ['here'], ttl: 100 }, 100],
    ['no shorter than 5 s', { TXT: ['here'], ttl: 0 }, 5],
    ['no longer than an hour', { TXT: ['here'], ttl: 86_400 }, 3600],
    ['where a TTL is invalid', { TXT: ['here'], ttl: 0xffff_ffff }, 3600],
  ])('%s', async (_, data, seconds) => {
    const { resolver, server, advance } = await asking({ 'example.test': data });
    await resolver.txt('example.test');
    advance(seconds * SECOND - SECOND);
    await resolver.txt('example.test');
    expect(server.asked).toHaveLength(1);
    advance(SECOND + 1);
    await resolver.txt('example.test');
    expect(server.asked).toHaveLength(2);
  });

  test('as long as the shortest of the aliases that lead to it', async () => {
    const { resolver, server, advance } = await asking({
      'one.test': { CNAME: 'two.test', ttl: 10 },
      'two.test': { TXT: ['here'], ttl: 1000 },
    });
    await resolver.txt('one.test');
    advance(11 * SECOND);
    await resolver.txt('one.test');
    expect(server.asked).toHaveLength(2);
  });

  test.each(['gone.test', 'bare.test'])('without records, for as long as the zone says (%s)', async (name) => {
    const { resolver, server, advance } = await asking({ 'bare.test': {} });
    await resolver.txt(name);
    advance(29 * SECOND);
    server.change({ [name]: { TXT: ['here'] } });
    expect((await resolver.txt(name)).records).toEqual([]);
    advance(2 * SECOND);
    expect((await resolver.txt(name)).records).toEqual(['here']);
  });

  test('for 5 s if there was no answer', async () => {
    const { resolver, server, advance } = await asking({ 'bad.test': { wrong: 'SERVFAIL' } });
    await expect(resolver.txt('bad.test')).rejects.toThrow(ResolverUnavailable);
    const tries = server.asked.length;
    server.change({ 'bad.test': { TXT: ['here'] } });
    advance(4 * SECOND);
    await expect(resolver.txt('bad.test')).rejects.toThrow(ResolverUnavailable);
    expect(server.asked).toHaveLength(tries);
    advance(2 * SECOND);
    expect((await resolver.txt('bad.test')).records).toEqual(['here']);
  });

  test('by type: one that failed does not affect another', async () => {
    const { resolver } = await asking({
      'half.test': { TXT: ['here'], wrong: (_, type) => (type === 'MX' ? 'SERVFAIL' : null) },
    });
    await expect(resolver.mx('half.test')).rejects.toThrow(ResolverUnavailable);
    expect((await resolver.txt('half.test')).records).toEqual(['here']);
  });
});

describe('concurrent equal questions', () => {
  test('are sent once', async () => {
    const { resolver, server } = await asking({ 'example.test': { MX: [[10, 'mx.test']], delayMs: 30 } });
    const answers = await Promise.all(Array.from({ length: 1000 }, () => resolver.mx('example.test')));
    expect(new Set(answers).size).toBe(1);
    expect(server.asked).toHaveLength(1);
  });

  test('fail together', async () => {
    const { resolver, server } = await asking({ 'bad.test': { wrong: 'SERVFAIL' } });
    const asked = await Promise.allSettled(Array.from({ length: 1000 }, () => resolver.mx('bad.test')));
    expect(asked.every(({ status }) => status === 'rejected')).toBe(true);
    expect(server.asked).toHaveLength(2);
  });
});

describe('a fresh question', () => {
  test('bypasses the cache, and its answer is cached', async () => {
    const { resolver, server } = await asking({});
    expect((await resolver.txt('new.test')).records).toEqual([]);
    server.change({ 'new.test': { TXT: ['here'], A: ['192.0.2.1'] } });
    expect((await resolver.txt('new.test')).records).toEqual([]);
    expect((await resolver.txt('new.test', { fresh: true })).records).toEqual(['here']);
    expect((await resolver.txt('new.test')).records).toEqual(['here']);
    expect((await resolver.addresses('new.test', { fresh: true })).records).toHaveLength(1);
  });

  test('does not use the answer to one sent before it, which is not cached either', async () => {
    const { resolver, server } = await asking({ 'slow.test': { TXT: ['old'], delayMs: 150 } });
    const before = resolver.txt('slow.test');
    while (server.asked.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    const asked = resolver.txt('slow.test', { fresh: true });
    while (server.asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    server.change({ 'slow.test': { TXT: ['new'] } });
    expect((await asked).records).toEqual(['new']);
    await before;
    expect((await resolver.txt('slow.test')).records).toEqual(['new']);
    expect(server.asked).toHaveLength(2);
  });

  test('that fails leaves the cache unchanged', async () => {
    const { resolver, server } = await asking({ 'example.test': { TXT: ['here'] } });
    await resolver.txt('example.test');
    server.change({ 'example.test': { wrong: 'SERVFAIL' } });
    await expect(resolver.txt('example.test', { fresh: true })).rejects.toThrow(ResolverUnavailable);
    expect((await resolver.txt('example.test')).records).toEqual(['here']);
  });
});
