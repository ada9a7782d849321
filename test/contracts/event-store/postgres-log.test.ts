import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import {
  AppendOutcomeUnknown,
  type EventStore,
  LOG_START,
  WrongExpectedRevision,
} from '../../../src/domain/kernel/event-store.ts';
import { headOf, type MessageContents } from '../../../src/domain/ports/contents.ts';
import { freshDatabase, migratedDatabase, type TestDatabase } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { follow } from './following.ts';
import { PATIENCE_MS } from './harness.ts';
import { events, first, keyRevoked, newStream, next, textsOf } from './samples.ts';
import { silentLogger } from './silent-logger.ts';
import { appendStubbornly } from './stubborn-writer.ts';

const reply = (text: string): MessageContents => ({
  id: randomUUID(),
  organizationId: 'org_1',
  body: { kind: 'reply', messageId: 'msg_1', text },
});

const openOn = (url: string): Promise<EventStore> =>
  createPostgresEventStore({
    url,
    codec: eventCodec,
    system: createSystem(),
    logger: silentLogger,
    patienceMs: PATIENCE_MS,
  });

describe('the log in PostgreSQL', () => {
  let database: TestDatabase;
  let sql: Client;
  let store: EventStore;
  beforeEach(async () => {
    database = await migratedDatabase();
    sql = new Client({ connectionString: database.url });
    await sql.connect();
    store = await openOn(database.url);
  });
  afterEach(async () => {
    await store.close();
    await sql.end();
    await database.drop();
  });

  const column = async (text: string): Promise<readonly unknown[]> =>
    (await sql.query({ text, rowMode: 'array' })).rows.map(([value]) => value);

  it('accepts appends of several processes if the database defaults to serializable', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await sql.query(`alter database "${name}" set default_transaction_isolation = 'serializable'`);
    const stores = await Promise.all([openOn(database.url), openOn(database.url)]);
    const appends = Array.from({ length: 60 }, (_, index) => stores[index % 2]?.append(first(newStream(), events(1))));
    const outcomes = await Promise.allSettled(appends);
    await Promise.all(stores.map((one) => one.close()));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  it('keeps each connection alive, so that no firewall forgets it', async () => {
    const asked = vi.spyOn(Socket.prototype, 'setKeepAlive');
    const another = await openOn(database.url);
    await another.append(first(newStream(), events(1)));
    await another.close();
    const calls = asked.mock.calls.map(([, afterMs]) => afterMs);
    asked.mockRestore();
    expect(calls.length).toBeGreaterThan(1);
    expect(new Set(calls)).toEqual(new Set([10_000]));
  });

  it('writes appends to one stream in the order of their calls, each after the one that it builds on', async () => {
    const stream = newStream();
    const appends = [
      store.append(first(stream, events(1))),
      ...Array.from({ length: 9 }, (_, revision) => store.append(next(stream, revision, events(1)))),
    ];
    const revisions = (await Promise.all(appends)).map(({ revision }) => revision);
    expect(revisions).toEqual(Array.from({ length: 10 }, (_, revision) => revision));
  });

  it('leaves what builds on an append that is too large for a commit to the next one, too', async () => {
    const large = newStream();
    const appends = [first(newStream(), events(1)), first(large, events(1_000)), next(large, 999, events(1))];
    const revisions = (await Promise.all(appends.map(store.append))).map(({ revision }) => revision);
    expect(revisions).toEqual([0, 999, 1_000]);
  });

  it('numbers positions from one without gaps, with or without conflicts', async () => {
    const taken = newStream();
    await store.append(first(taken, events(1)));
    await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) => store.append(first(index % 2 === 0 ? taken : newStream(), events(2)))),
    );
    await expect(store.append(first(taken, events(1)))).rejects.toBeInstanceOf(WrongExpectedRevision);
    const positions = (await column('select position::int from event_log.events order by 1')) as number[];
    expect(positions).toEqual(Array.from({ length: 61 }, (_, index) => index + 1));
  });

  it('commits concurrent appends in one transaction', async () => {
    await Promise.all(Array.from({ length: 100 }, () => store.append(first(newStream(), events(1)))));
    expect(await column('select count(distinct xmin::text)::int from event_log.events')).toEqual([1]);
  });

  it('stores contents in the same transaction as the events that name them', async () => {
    const contents = [reply('a "b" \u0000 \ud800'), reply('c')];
    await store.append({ ...first(newStream('message'), events(2)), contents });
    expect(
      await column(`
        select count(*)::int from vault.contents c
        where c.xmin = all (select e.xmin from event_log.events e)`),
    ).toEqual([2]);
    const { rows } = await sql.query('select id, organization_id, kind, body from vault.contents order by id');
    expect(rows).toEqual(
      contents
        .map(({ id, organizationId, body }) => ({ id, organization_id: organizationId, kind: 'reply', body }))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
  });

  it('stores the sizes of contents with their bodies, and the first bytes of large ones', async () => {
    const bodyOf = (html: string): MessageContents['body'] => ({
      kind: 'message',
      messageId: 'msg_1',
      from: { address: 'a@example.test' },
      recipients: [],
      replyTo: [],
      subject: 'a "b" \u0000',
      html,
      text: 'ü',
      headers: {},
      tags: [],
      metadata: {},
      attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: 'YQ==' }],
    });
    const [small, large] = [bodyOf('<p>ü</p>'), bodyOf('<p>ü</p>'.repeat(600))];
    const messages = [small, large].map((body) => ({ id: randomUUID(), organizationId: 'org_1', body }));
    const contents = [...messages, reply('ü')];
    await store.append({ ...first(newStream('message'), events(2)), contents });
    const { rows } = await sql.query('select kind, head, size_bytes from vault.contents order by kind, size_bytes');
    expect(rows).toEqual([
      { kind: 'message', head: null, size_bytes: Buffer.byteLength(JSON.stringify(small)) },
      { kind: 'message', head: headOf(large), size_bytes: Buffer.byteLength(JSON.stringify(large)) },
      { kind: 'reply', head: null, size_bytes: Buffer.byteLength(JSON.stringify(contents[2]?.body)) },
    ]);
  });

  it('stores digests of the words in subjects with the contents', async () => {
    const searchWords = ['-9223372036854775808', '9223372036854775807'];
    const contents = [{ ...reply('a'), searchWords }, reply('b'), { ...reply('c'), searchWords: [] }];
    await store.append({ ...first(newStream('message'), events(1)), contents });
    expect(await column(`select subject_words from vault.contents order by body ->> 'text'`)).toEqual([
      searchWords,
      null,
      null,
    ]);
  });

  it('stores no contents of a conflicting append, and keeps the first of the same id for ever', async () => {
    const stream = newStream('message');
    const content = reply('first');
    await store.append({ ...first(stream, events(1)), contents: [content] });
    const again = { ...content, body: { ...content.body, text: 'second' } } as MessageContents;
    await store.append({ ...next(stream, 0, events(1)), contents: [again] });
    const lost = store.append({ ...first(stream, events(1)), contents: [reply('never')] });
    await expect(lost).rejects.toBeInstanceOf(WrongExpectedRevision);
    expect(await column(`select body ->> 'text' from vault.contents`)).toEqual(['first']);
  });

  it('isolates an append that cannot be stored from the others in its batch', async () => {
    const bad = { ...keyRevoked('bad'), id: 'no uuid' };
    const outcomes = await Promise.allSettled([
      store.append(first(newStream(), events(1))),
      store.append(first(newStream(), [bad])),
      store.append(first(newStream(), events(1))),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await column('select count(*)::int from event_log.events')).toEqual([2]);
  });

  it('survives the server ending its sessions while it writes and follows', async () => {
    const following = follow(store, LOG_START);
    for (let round = 0; round < 5; round += 1) {
      const writing = Promise.all(
        Array.from({ length: 20 }, () => appendStubbornly(store, first(newStream(), events(1)))),
      );
      await sql.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`);
      await writing;
    }
    const seen = await following.saw(100);
    await following.stop();
    expect(seen).toHaveLength(100);
    expect(await column('select count(*)::int from event_log.events')).toEqual([100]);
  });

  it('never uses a connection again that left an append without an answer', async () => {
    const proxy = await startTcpProxy(database.url);
    const behind = await openOn(proxy.url);
    await behind.append(first(newStream(), events(1)));
    proxy.forget(60_000);
    await expect(behind.append(first(newStream(), events(1)))).rejects.toBeInstanceOf(AppendOutcomeUnknown);
    await behind.append(first(newStream(), events(1)));
    await behind.close();
    await proxy.stop();
  });

  it('gives a follower everything before an unknown event, and stops there', async () => {
    await store.append(first(newStream(), events(3)));
    await store.append(first(newStream(), events(1, 'newer')));
    await store.append(first(newStream(), events(1)));
    await sql.query(`update event_log.events set type = 'KeyTeleported' where position = 4`);
    const seen: string[] = [];
    const following = async (): Promise<void> => {
      for await (const page of store.subscribe(LOG_START, {}, new AbortController().signal)) {
        seen.push(...textsOf(page.events));
      }
    };
    await expect(following()).rejects.toMatchObject({ name: 'UnknownEvent' });
    expect(seen).toEqual(['e0', 'e1', 'e2']);
  });

  it('reads a few categories from an index without the messages', async () => {
    await sql.query('set enable_seqscan = off; set enable_bitmapscan = off');
    const plan = await column(`
      explain select * from event_log.events e
      where e.position > 0 and e.category = any ('{apiKey}'::text[]) and e.category <> 'message'
      order by e.position limit 10`);
    expect(plan.join('\n')).toMatch(/Index Scan using events_000001_position_idx/);
  });
});

describe('opening the log in PostgreSQL', () => {
  it('creates it once, however many processes open it at first', async () => {
    const database = await freshDatabase();
    const stores = await Promise.all(Array.from({ length: 6 }, () => openOn(database.url)));
    const ids = await Promise.all(stores.map((store) => store.logId()));
    expect(new Set(ids).size).toBe(1);
    const stream = newStream();
    await stores[0]?.append(first(stream, events(1)));
    await Promise.all(stores.map((store) => store.close()));

    const again = await openOn(database.url);
    expect(await again.logId()).toBe(ids[0]);
    expect(await again.readStream(stream)).toHaveLength(1);
    await again.close();
    await database.drop();
  });

  it('reports that the log cannot be reached if no server answers', async () => {
    await expect(openOn('postgres://nobody@127.0.0.1:1/nothing')).rejects.toMatchObject({
      name: 'StoreUnavailable',
      message: expect.stringContaining('cannot be reached'),
    });
  });
});
