import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createInMemoryContents } from '../../../src/adapters/contents/in-memory.ts';
import { createPostgresContents } from '../../../src/adapters/contents/postgres.ts';
import type { Contents, MessageBody, MessageContents } from '../../../src/domain/contents.ts';
import { StoreUnavailable } from '../../../src/domain/event-store.ts';
import { migratedDatabase, type TestDatabase } from '../../support/postgres.ts';

const AWKWARD = 'a "quote", a \\backslash, {brace}, \u0000, a lone \ud800, ünï©ode 👩‍👩‍👧, a\r\nline, $1';

const message = (subject = AWKWARD): MessageContents => ({
  id: randomUUID(),
  organizationId: 'org_a',
  body: {
    ...{ kind: 'message', messageId: 'msg_a', from: { address: 'a@example.test', name: AWKWARD } },
    recipients: [{ id: 'rcp_a', kind: 'to', address: 'b@example.test' }],
    ...{ replyTo: [], subject, html: '<p>"hello"</p>'.repeat(1000), headers: { 'X-A': 'b' }, attachments: [] },
    ...{ tags: [{ name: 'a', value: 'b' }], metadata: { a: AWKWARD } },
  } satisfies MessageBody,
});

const reply = (): MessageContents => ({
  id: randomUUID(),
  organizationId: 'org_a',
  body: { kind: 'reply', messageId: 'msg_a', text: '550 no such user' },
});

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await migratedDatabase();
  pool = new Pool({ connectionString: database.url, max: 4 });
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

const ADAPTERS: readonly (readonly [string, () => Contents])[] = [
  ['in memory', createInMemoryContents],
  ['in PostgreSQL', () => createPostgresContents({ pool })],
];

describe.each(ADAPTERS)('contents %s', (_name, create) => {
  test('come back as they were put, whatever is in them', async () => {
    const contents = create();
    const put = [message(), reply(), message('')];
    await contents.put(put);
    const got = await contents.get(put.map(({ id }) => id));
    expect([...got].sort()).toEqual(put.map(({ id, body }) => [id, body]).sort());
  });

  test('keep the first body of an id', async () => {
    const contents = create();
    const first = message('first');
    await contents.put([first]);
    await contents.put([{ ...message('second'), id: first.id }, reply()]);
    expect(await contents.get([first.id])).toEqual(new Map([[first.id, first.body]]));
  });

  test('that are missing are absent from the answer', async () => {
    const contents = create();
    const there = reply();
    await contents.put([there]);
    expect([...(await contents.get([randomUUID(), there.id])).keys()]).toEqual([there.id]);
    expect((await contents.get([])).size).toBe(0);
    await contents.put([]);
  });

  test('are told to many callers at once, to each its own', async () => {
    const contents = create();
    const put = Array.from({ length: 250 }, reply);
    await contents.put(put);
    const answers = await Promise.all(
      put.map(({ id }, index) => contents.get([id, put[0]?.id ?? '', ...(index === 7 ? [randomUUID()] : [])])),
    );
    answers.forEach((answer, index) => {
      expect(new Set(answer.keys())).toEqual(new Set([put[index]?.id, put[0]?.id]));
    });
  });
});

describe('contents in PostgreSQL', () => {
  test('share a query among callers of the same moment', async () => {
    const put = Array.from({ length: 60 }, reply);
    await createPostgresContents({ pool }).put(put);
    const queries: unknown[] = [];
    const counting = { query: (query: never) => queries.push(query) && pool.query(query) } as unknown as Pool;
    const contents = createPostgresContents({ pool: counting });
    await Promise.all(put.map(({ id }) => contents.get([id])));
    expect(queries).toHaveLength(1);
  });

  test('say that the database is away, to every caller', async () => {
    const dead = new Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
    const contents = createPostgresContents({ pool: dead });
    const calls = [contents.get([randomUUID()]), contents.get([randomUUID()]), contents.put([reply()])];
    for (const call of await Promise.allSettled(calls)) {
      expect(call).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) });
    }
    await expect(contents.get([randomUUID()])).rejects.toBeInstanceOf(StoreUnavailable);
    await dead.end();
  });
});
