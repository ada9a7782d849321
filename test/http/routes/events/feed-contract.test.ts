import { readFileSync } from 'node:fs';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventsProjection } from '../../../../src/projections/events/projection.ts';
import { rebuild } from '../../../../src/projections/runner.ts';
import { silentLogger } from '../../../support/logger.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { type OpenStream, openStream } from './open-stream.ts';

interface Event {
  readonly id: string;
  readonly timestamp: string;
  readonly sequence: number;
  readonly data: { readonly message_id?: string };
}

interface Page {
  readonly data: readonly Event[];
  readonly has_more: boolean;
  readonly next_cursor: string;
}

const document = readFileSync(new URL('../../../../docs/events.md', import.meta.url), 'utf8');
const promises = [...(document.split('## What is promised')[1]?.split('## ')[0] ?? '').matchAll(/^- (.+)\.$/gm)];

let service: DatabaseService;
let base: string;
let key: string;
const streams: OpenStream[] = [];

const send = async (more: object = {}): Promise<string> => {
  const payload = { from: 'a@example.test', to: ['b@example.org', 'c@example.net'], subject: 'x', text: 'x', ...more };
  const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
  expect(answer.statusCode).toBe(202);
  return answer.json().id;
};

const page = async (query: string): Promise<Page> =>
  (await service.request({ url: `/v1/events?${query}`, key })).json();

/** All pages from a cursor to the end. */
const readOn = async (after: string, query = 'limit=7'): Promise<readonly Event[]> => {
  const all: Event[] = [];
  for (let next = after; ; ) {
    const { data, has_more, next_cursor } = await page(`${query}&after=${next}`);
    all.push(...data);
    if (!has_more) return all;
    next = next_cursor;
  }
};

const open = async (query: string): Promise<OpenStream> => {
  const stream = await openStream({ base, key, query });
  streams.push(stream);
  return stream;
};

beforeAll(async () => {
  service = await startDatabaseService();
  base = await service.server.listen({ port: 0, host: '127.0.0.1' });
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
  for (let sent = 0; sent < 5; sent += 1) await send();
});
afterAll(async () => {
  for (const stream of streams) stream.close();
  await service.close();
});

const idsOf = (events: readonly Event[]): readonly string[] => events.map(({ id }) => id);

describe('docs/events.md', () => {
  test('The feed has no gaps: reading from cursor to cursor returns each event once, however many are written at the same time', async () => {
    const seen: Event[] = [];
    let cursor = 'start';
    const sending = Promise.all(Array.from({ length: 40 }, () => send()));
    let isSending = true;
    const sent = sending.finally(() => {
      isSending = false;
    });
    for (let last = false; !last; ) {
      last = !isSending;
      const { data, next_cursor } = await page(`limit=3&after=${cursor}`);
      last &&= data.length === 0;
      seen.push(...data);
      cursor = next_cursor;
    }
    const messages = seen.map(({ data }) => data.message_id);
    for (const id of await sent) expect(messages.filter((one) => one === id)).toHaveLength(2); // recipients
    expect(new Set(idsOf(seen)).size).toBe(seen.length);
  });

  test('Events are in the order of the log, in pages and in streams alike', async () => {
    const inLog: string[] = [];
    const { events } = await service.deps.context.store.readAll({ from: '', limit: 1_000 });
    for (const { data } of events) if ('messageId' in data) inLog.push(data.messageId);
    const paged = await readOn('start');
    const messages = paged.flatMap(({ data }) => data.message_id ?? []);
    expect([...new Set(messages)]).toEqual([...new Set(inLog)]);
    const frames = await (await open('after=start')).atLeast(paged.length);
    expect(frames.map(({ data }) => (data as Event).id)).toEqual(idsOf(paged));
  });

  test('A page or a stream never shows an event after a later one', async () => {
    const stream = await open('after=start');
    const before = await readOn('start');
    await Promise.all(Array.from({ length: 20 }, () => send()));
    const after = await readOn('start', 'limit=100');
    expect(idsOf(after).slice(0, before.length)).toEqual(idsOf(before));
    const frames = await stream.atLeast(after.length);
    expect(frames.map(({ data }) => (data as Event).id)).toEqual(idsOf(after));
  });

  test('An event that you read again has the same id and the same data', async () => {
    expect(await readOn('start', 'limit=2')).toEqual(await readOn('start', 'limit=100'));
  });

  test('A cursor never expires, not even when the read models are rebuilt', async () => {
    const cursor = (await page('after=start&limit=3')).next_cursor;
    const rest = await readOn(cursor);
    const pool = new Pool({ connectionString: service.url, max: 4 });
    await rebuild({ pool, store: service.deps.context.store, logger: silentLogger }, [eventsProjection]);
    await pool.end();
    expect(await readOn(cursor)).toEqual(rest);
  });

  test('A cursor works for pages and streams, with any filter and any page size', async () => {
    const cursor = (await page('after=start&limit=3&types=message.*')).next_cursor;
    const rest = await readOn(cursor);
    expect(await readOn(cursor, 'limit=1')).toEqual(rest);
    const frames = await (await open(`after=${cursor}`)).atLeast(rest.length);
    expect(frames.map(({ data }) => data)).toEqual(rest);
    const about = rest[0]?.data.message_id ?? '';
    const streamed = frames[0]?.id ?? '';
    expect(await readOn(streamed, `message_id=${about}`)).toEqual(
      rest.slice(1).filter(({ data }) => data.message_id === about),
    );
  });

  test('A page always has a cursor to continue from, even if no event matched', async () => {
    const { data, next_cursor } = await page('after=start&tag=none:such');
    expect(data).toEqual([]);
    const id = await send({ tags: [{ name: 'none', value: 'such' }] });
    expect((await readOn(next_cursor, 'tag=none:such')).map((event) => event.data.message_id)).toEqual([id, id]);
  });

  test('If you continue from an earlier cursor, you miss nothing', async () => {
    const first = await page('after=start&limit=4');
    const second = await page(`after=${first.next_cursor}&limit=4`);
    expect(await readOn(first.next_cursor)).toEqual([...second.data, ...(await readOn(second.next_cursor))]);
  });

  test('`sequence` rises by one within a message', async () => {
    const id = await send({ scheduled_at: new Date(Date.now() + 3_600_000).toISOString() });
    await service.request({ method: 'POST', url: `/v1/messages/${id}/cancel`, key });
    const events = await readOn('start', `message_id=${id}`);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(events.length).toBeGreaterThan(4);
  });

  test('When the service ends a stream, it sends the cursor to continue from', async () => {
    const organizationId = await service.makeOrganization();
    const domainId = await service.makeDomain(organizationId, 'ending.test');
    const admin = await service.makeKey(organizationId, domainId);
    const ending = await service.makeKey(organizationId, domainId);
    const stream = await openStream({ base, key: ending.value });
    await service.request({ method: 'POST', url: `/v1/api-keys/${ending.id}/revoke`, key: admin.value });
    const text = await stream.ended();
    const { next_cursor } = JSON.parse(/^event: end\ndata: (.*)$/m.exec(text)?.[1] ?? '{}');
    const resumed = await service.request({ url: `/v1/events?after=${next_cursor}`, key: admin.value });
    // The stream may have sent it before it checked its key again.
    const shown = stream.frames().filter(({ event }) => event !== 'end');
    const types = [...shown.map(({ data }) => data), ...resumed.json().data].map(({ type }) => type);
    expect(types).toEqual(['api_key.revoked']);
  });

  test('promises what is tested here', () => {
    const source = readFileSync(new URL(import.meta.url), 'utf8');
    expect(promises.length).toBe(10);
    for (const [, promise] of promises) expect(source).toContain(`test('${promise}',`);
  });
});
