import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { type Frame, type OpenStream, openStream, type StreamRequest } from './open-stream.ts';

let service: DatabaseService;
let aheadMs = 0;
let clockReads = 0; // each authentication reads the clock
let base: string;
let organizationId: string;
let domainId: string;
let key: { id: string; value: string };
const streams: OpenStream[] = [];

const open = async (asked: Partial<StreamRequest> = {}): Promise<OpenStream> => {
  const stream = await openStream({ base, key: key.value, ...asked });
  streams.push(stream);
  return stream;
};

const send = async (more: object = {}, by = key.value): Promise<string> => {
  const payload = { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x', ...more };
  const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key: by, payload });
  expect(answer.statusCode).toBe(202);
  return answer.json().id;
};

const messageOf = ({ data }: Frame): string | undefined => (data as { data: { message_id?: string } }).data.message_id;

const wholeFeed = async (): Promise<readonly unknown[]> => {
  const all: unknown[] = [];
  for (let after = 'start'; ; ) {
    const answer = await service.request({ url: `/v1/events?limit=100&after=${after}`, key: key.value });
    const { data, has_more, next_cursor } = answer.json();
    all.push(...data);
    if (!has_more) return all;
    after = next_cursor;
  }
};

beforeAll(async () => {
  const real = createSystem();
  const now = (): Date => {
    clockReads += 1;
    return real.now();
  };
  service = await startDatabaseService({ system: { ...real, now, monotonicMs: () => real.monotonicMs() + aheadMs } });
  base = await service.server.listen({ port: 0, host: '127.0.0.1' });
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = await service.makeKey(organizationId, domainId);
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await expect.poll(() => service.deps.liveFeed.size()).toBe(0);
});
afterAll(() => service.close());

describe('a stream of events', () => {
  test('begins with what happens from now on, and shows each event as a page does', async () => {
    await send();
    const stream = await open();
    expect(stream.status).toBe(200);
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    const id = await send();
    const [frame] = await stream.atLeast(1);
    expect(frame).toMatchObject({ event: 'message.accepted', id: expect.any(String) });
    expect(frame?.data).toMatchObject({ object: 'event', data: { message_id: id } });
    expect(await wholeFeed()).toContainEqual(frame?.data);
  });

  test('after=start has the whole feed in order, and then continues', async () => {
    const stream = await open({ query: 'after=start' });
    const before = await wholeFeed();
    const id = await send();
    const frames = await stream.atLeast(before.length + 1);
    expect(frames.map(({ data }) => data)).toEqual(await wholeFeed());
    expect(messageOf(frames.at(-1) as Frame)).toBe(id);
  });

  test('resumes after Last-Event-ID without a gap or a repeat, whatever the address says', async () => {
    const first = await open();
    const ids = [await send(), await send()];
    const [seen] = await first.atLeast(1);
    first.close();
    ids.push(await send());
    const resumed = await open({ query: 'after=start', lastEventId: seen?.id ?? '' });
    ids.push(await send());
    const frames = await resumed.atLeast(3);
    expect([messageOf(seen as Frame), ...frames.map(messageOf)]).toEqual(ids);
  });

  test('survives many messages while streams open and close: each sees all of its own once', async () => {
    const before = (await wholeFeed()).length;
    const early = await open({ query: 'after=start' });
    const sending = Array.from({ length: 40 }, () => send());
    const late = await open({ query: 'after=start' });
    const ids = new Set(await Promise.all(sending));
    for (const stream of [early, late]) {
      const frames = await stream.atLeast(before + ids.size);
      const seen = frames.slice(before).map(messageOf);
      expect(seen).toHaveLength(ids.size);
      expect(new Set(seen)).toEqual(ids);
    }
  });

  test('has only what its filters match', async () => {
    const family = await open({ query: 'types=api_key.*,message.accepted' });
    const tagged = await open({ query: 'tag=order:7' });
    const atDomain = await open({ query: 'recipient_domain=Elsewhere.example' });
    await send();
    const id = await send({ tags: [{ name: 'order', value: '7' }], to: 'c@elsewhere.example' });
    await service.makeKey(organizationId, domainId);
    const types = (await family.atLeast(3)).map(({ event }) => event);
    expect(types).toEqual(['message.accepted', 'message.accepted', 'api_key.created']);
    expect((await tagged.atLeast(1)).map(messageOf)).toEqual([id]);
    expect((await atDomain.atLeast(1)).map(messageOf)).toEqual([id]);
  });

  test('that is silent for long sends its position, and resumes there', async () => {
    const rare = await open({ query: 'types=topic.created' });
    await send();
    aheadMs += 15_000;
    await send();
    await expect.poll(rare.text).toMatch(/^: still here\nid: \S+\n\n/m);
    expect(rare.frames()).toEqual([]);
    const [, at = ''] = /^: still here\nid: (\S+)$/m.exec(rare.text()) ?? [];
    const id = await send();
    const later = (await service.request({ url: `/v1/events?after=${at}`, key: key.value })).json().data;
    expect(later.at(-1)).toMatchObject({ data: { message_id: id } });
    const resumed = await open({ lastEventId: at });
    expect((await resumed.atLeast(later.length)).map(({ data }) => data)).toEqual(later);
  });

  test('has nothing from another organization, environment or, for a key that only reads, another domain', async () => {
    const otherDomain = await service.makeDomain(organizationId, 'other.test');
    const reader = await service.makeKey(organizationId, otherDomain, { permissions: ['read'] });
    const tester = await service.makeKey(organizationId, domainId, { environment: 'test' });
    const strangers = await service.makeOrganization();
    const stranger = await service.makeKey(strangers, await service.makeDomain(strangers, 'strange.test'));
    const own = await open();
    const others = await Promise.all([reader, tester, stranger].map(({ value }) => open({ key: value })));
    const narrowed = await open({ key: reader.value, query: `domain_id=${domainId}` });
    const id = await send();
    expect((await own.atLeast(1)).map(messageOf)).toEqual([id]);
    await send({}, tester.value);
    await others[1]?.atLeast(1);
    expect([...others, narrowed].map((stream) => stream.frames().length)).toEqual([0, 1, 0, 0]);
    expect(own.frames()).toHaveLength(1);
  });

  test('ends when its key is revoked, with the reason and where to resume', async () => {
    const brief = await service.makeKey(organizationId, domainId);
    const stream = await open({ key: brief.value });
    const answer = await service.request({ method: 'POST', url: `/v1/api-keys/${brief.id}/revoke`, key: key.value });
    expect(answer.statusCode).toBe(200);
    expect(await stream.ended()).toMatch(/event: end\ndata: \{"reason":"unauthorized","next_cursor":"[\w-]+"\}\n\n$/);
  });

  test('ends when its key expires', async () => {
    const brief = await service.makeKey(organizationId, domainId, {
      expiresAt: new Date(Date.now() + 5_000).toISOString(),
    });
    const stream = await open({ key: brief.value });
    expect(await stream.ended()).toContain('"reason":"unauthorized"');
  });

  test('costs no authentication while nothing happens, and sees at once that another key of many is revoked', async () => {
    const brief = await service.makeKey(organizationId, domainId);
    const quiet = await Promise.all(Array.from({ length: 40 }, () => open({ query: 'types=topic.created' })));
    const revoked = await open({ key: brief.value, query: 'types=topic.created' });
    await sleep(1_000); // all streams are idle
    const before = clockReads;
    await sleep(2_000);
    expect(clockReads - before).toBeLessThan(quiet.length);
    await service.request({ method: 'POST', url: `/v1/api-keys/${brief.id}/revoke`, key: key.value });
    expect(await revoked.ended()).toContain('"reason":"unauthorized"');
  });

  test.each([
    ['after=nonsense', {}, 'invalid_cursor'],
    ['', { lastEventId: 'nonsense' }, 'invalid_cursor'],
    ['types=message.sung', {}, 'invalid_request'],
    ['tag=', {}, 'invalid_request'],
    [`recipient_domain=${'x'.repeat(300)}`, {}, 'invalid_request'],
  ])('is refused before it begins: %s %o', async (query, more, code) => {
    const stream = await open({ query, ...more });
    expect(stream.status).toBe(400);
    expect(await stream.ended()).toContain(`"code":"${code}"`);
  });

  test('is cut off when its reader reads nothing for a minute; another is not', async () => {
    const stalled = await open();
    const steady = await open();
    stalled.pause();
    // More than the buffers between client and server hold.
    const metadata = { filler: 'x'.repeat(9_000) };
    const messages = Array.from({ length: 400 }, () => ({
      from: 'a@example.test',
      to: Array.from({ length: 2 }, (_, index) => `b${index}@example.org`),
      subject: 'x',
      text: 'x',
      metadata,
    }));
    const batch = await service.request({
      method: 'POST',
      url: '/v1/messages/batch',
      key: key.value,
      payload: { messages },
    });
    expect(batch.statusCode).toBe(202);
    await steady.atLeast(800);
    aheadMs += 61_000;
    await send();
    await expect.poll(() => service.deps.liveFeed.size()).toBe(1);
    await steady.atLeast(801);
    stalled.resume();
    await stalled.ended();
    const seen = stalled.frames();
    expect(seen.length).toBeLessThan(800);
    const resumed = await open({ lastEventId: seen.at(-1)?.id ?? '' });
    const all = (await steady.atLeast(801)).map(({ id }) => id);
    const rest = await resumed.atLeast(801 - seen.length);
    expect([...seen, ...rest].map(({ id }) => id)).toEqual(all);
  });

  test('leaves nothing behind when its client goes', async () => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => open()));
    expect(service.deps.liveFeed.size()).toBe(20);
    for (const stream of opened) stream.close();
    await expect.poll(() => service.deps.liveFeed.size()).toBe(0);
  });
});

test('pages accept families and filters too, and lead on if nothing matched', async () => {
  const id = await send({ tags: [{ name: 'rare', value: '1' }] });
  const get = async (query: string) => (await service.request({ url: `/v1/events?${query}`, key: key.value })).json();
  const newest = await get('tag=rare:1');
  expect(newest.data.map((event: { data: { message_id: string } }) => event.data.message_id)).toEqual([id]);
  let first = await get('after=start&types=message.*&tag=rare:1&limit=1');
  while (first.data.length === 0 && first.has_more) first = await get(`after=${first.next_cursor}&tag=rare:1&limit=1`);
  expect(first).toMatchObject({ data: [{ data: { message_id: id } }], has_more: false });
  expect((await get(`after=${first.next_cursor}&tag=rare:1`)).data).toEqual([]);
  expect((await get(`after=${newest.next_cursor}&message_id=${id}`)).data).toEqual([]);
});
