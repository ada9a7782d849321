import { randomBytes, randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { createContentsCodec } from '../../../src/adapters/contents/contents-codec.ts';
import { createPostgresContents } from '../../../src/adapters/contents/postgres.ts';
import { createSecretBox } from '../../../src/adapters/secrets/postgres.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import type { Contents, InboundBody, MessageBody, MessageContents } from '../../../src/domain/ports/contents.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { longestTurnMs } from '../../support/longest-turn.ts';
import { openMigratedPool } from '../../support/postgres.ts';
import { slowness } from '../../support/slowness.ts';

const AWKWARD = 'a "quote", a \\backslash, {brace}, \u0000, a lone \ud800, ünï©ode 👩‍👩‍👧, a\r\nline, $1';

const message = (subject = AWKWARD): MessageContents => ({
  id: randomUUID(),
  organizationId: 'org_a',
  body: {
    kind: 'message',
    messageId: 'msg_a',
    from: { address: 'a@example.test', name: AWKWARD },
    recipients: [{ id: 'rcp_a', kind: 'to', address: 'b@example.test' }],
    replyTo: [],
    subject,
    html: '<p>"hello"</p>'.repeat(1000),
    headers: { 'X-A': 'b' },
    attachments: [],
    tags: [{ name: 'a', value: 'b' }],
    metadata: { a: AWKWARD },
  } satisfies MessageBody,
});

const reply = (): MessageContents => ({
  id: randomUUID(),
  organizationId: 'org_a',
  body: { kind: 'reply', messageId: 'msg_a', text: '550 no such user' },
});

const received = (): MessageContents => ({
  id: randomUUID(),
  organizationId: 'org_a',
  body: {
    kind: 'inbound',
    inboundId: 'inb_a',
    envelope: { from: '', to: 'b@example.test' },
    from: [{ address: 'a@example.test', name: AWKWARD }],
    to: [],
    cc: [],
    replyTo: [],
    subject: AWKWARD,
    date: null,
    internetMessageId: null,
    headers: [{ name: 'Subject', value: AWKWARD }],
    text: AWKWARD.repeat(1000),
    html: AWKWARD.repeat(1000),
    sanitizedHtml: AWKWARD,
    reply: AWKWARD,
    attachments: [{ part: 1, filename: AWKWARD, contentType: 'a/b', bytes: 1, contentId: null }],
    problems: [],
  } satisfies InboundBody,
});

const raw = (bytes: number): MessageContents => ({
  id: randomUUID(),
  organizationId: 'org_a',
  body: { kind: 'inbound_raw', inboundId: 'inb_a', content: randomBytes(bytes).toString('base64') },
});

let pool: Pool;
beforeAll(async () => {
  const opened = await openMigratedPool();
  pool = opened.pool;
  return opened.close;
});

const KEYS = { current: 'a key of at least thirty-two characters' };
const BOX = createSecretBox(KEYS, 'vault.contents', createSystem());
const ENCRYPTING = createContentsCodec({ box: BOX, encrypts: true });

const ADAPTERS: readonly (readonly [string, () => Contents])[] = [
  ['in memory', createInMemoryContents],
  ['in PostgreSQL', () => createPostgresContents({ pool })],
  ['encrypted in PostgreSQL', () => createPostgresContents({ pool, codec: ENCRYPTING })],
];

describe.each(ADAPTERS)('contents %s', (_name, create) => {
  test('are returned unchanged, whatever bytes they contain', async () => {
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

  test('are shown without their large parts', async () => {
    const contents = create();
    const put = [large('abc'), reply()] as const;
    await contents.put(put);
    const heads = await contents.heads([...put.map(({ id }) => id), randomUUID()]);
    expect(heads).toEqual(
      new Map([
        [put[0].id, headOfLarge(put[0])],
        [put[1].id, put[1].body],
      ]),
    );
    expect((await contents.heads([])).size).toBe(0);
  });

  test('of an inbound message are returned unchanged, and its head lacks the header fields and bodies', async () => {
    const contents = create();
    const put = [received(), raw(2_000_000)] as const;
    await contents.put(put);
    expect(await contents.get(put.map(({ id }) => id))).toEqual(new Map(put.map(({ id, body }) => [id, body])));
    const { text, html, sanitizedHtml, reply, headers, ...head } = put[0].body as InboundBody;
    expect((await contents.heads([put[0].id])).get(put[0].id)).toEqual(head);
  });

  test('are returned to many concurrent callers, each with the contents it asked for', async () => {
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

/** Growth by base64, including line breaks. */
const IN_BASE64 = (4 / 3) * (78 / 76);
const LARGE = 'a'.repeat(12_000_000);

/** A message with an attachment of several megabytes. */
const large = (content = LARGE): MessageContents => {
  const { id, organizationId, body } = message('large');
  const attachments = [{ filename: 'a.bin', contentType: 'application/octet-stream', contentId: 'a', content }];
  return { id, organizationId, body: { ...(body as MessageBody), text: 'text', attachments } };
};

const headOfLarge = ({ body }: MessageContents): unknown => {
  const { html, text, ...head } = body as MessageBody;
  return { ...head, attachments: [{ filename: 'a.bin', contentType: 'application/octet-stream', contentId: 'a' }] };
};

/** A pool that records the size of each query's result as JSON. */
const measured = () => {
  const answers: number[] = [];
  const query = async (text: string): Promise<unknown> => {
    const result = await pool.query(text);
    answers.push(JSON.stringify(result.rows).length);
    return result;
  };
  return { contents: createPostgresContents({ pool: { query } as unknown as Pool }), answers };
};

describe('contents in PostgreSQL', () => {
  test.each([
    ['in clear', createContentsCodec()],
    ['encrypted', ENCRYPTING],
  ])('of 25 MB are read %s without blocking the event loop', async (_name, codec) => {
    const contents = createPostgresContents({ pool, codec });
    const { id, organizationId, body } = large(randomBytes(18_000_000).toString('base64'));
    const alternatives = [{ contentType: 'text/calendar', content: 'Q'.repeat(200_000), beforeHtml: true }];
    const put = {
      id,
      organizationId,
      body: { ...(body as MessageBody), html: 'é👩‍👩‍👧'.repeat(50_000), alternatives },
    };
    await contents.put([put]);
    const turns: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      turns.push(await longestTurnMs(async () => void (await contents.get([id]))));
    }
    expect((await contents.get([id])).get(id)).toEqual(put.body);
    expect(Math.min(...turns)).toBeLessThan(50 * slowness());
  });

  test('are shown without reading their large parts', async () => {
    const put = Array.from({ length: 100 }, () => large('a'.repeat(100_000)));
    await createPostgresContents({ pool }).put(put);
    const { contents, answers } = measured();
    const heads = await contents.heads(put.map(({ id }) => id));
    expect([...heads.keys()].sort()).toEqual(put.map(({ id }) => id).sort());
    expect(answers).toHaveLength(1);
    expect(answers[0]).toBeLessThan(100 * 2000);
  });

  test('are read a few at a time if large, and one at a time if larger', async () => {
    const put = [...Array.from({ length: 5 }, () => large()), large('b'.repeat(33_000_000)), reply()];
    for (const one of put) await createPostgresContents({ pool }).put([one]);
    const { contents, answers } = measured();
    const got = await Promise.all([contents.get(put.map(({ id }) => id)), contents.get(put.map(({ id }) => id))]);
    for (const bodies of got) expect(bodies).toEqual(new Map(put.map(({ id, body }) => [id, body])));
    expect(Math.max(...answers)).toBeLessThan(34_000_000 * IN_BASE64);
    expect(answers.length).toBeLessThan(10);
  });

  test('written by processes that store no heads and sizes can still be shown and read', async () => {
    const put = [large(), large(), large(), reply()];
    const { contents, answers } = measured();
    for (const { id, organizationId, body } of put) {
      await pool.query('insert into vault.contents (id, organization_id, kind, body) values ($1, $2, $3, $4)', [
        id,
        organizationId,
        body.kind,
        JSON.stringify(body),
      ]);
    }
    const ids = put.map(({ id }) => id);
    const heads = await contents.heads(ids);
    expect(heads).toEqual(new Map(put.map((one) => [one.id, one.body.kind === 'reply' ? one.body : headOfLarge(one)])));
    expect(Math.max(...answers)).toBeLessThan(32_000_000 * IN_BASE64);
    expect([...(await contents.get(ids)).keys()]).toEqual(ids);
  });

  test('share one query among concurrent callers', async () => {
    const put = Array.from({ length: 60 }, reply);
    await createPostgresContents({ pool }).put(put);
    const queries: unknown[] = [];
    const counting = { query: (query: never) => queries.push(query) && pool.query(query) } as unknown as Pool;
    const contents = createPostgresContents({ pool: counting });
    await Promise.all(put.map(({ id }) => contents.get([id])));
    expect(queries).toHaveLength(1);
  });

  test('refuse callers when too many wait, and answer the rest', async () => {
    const there = reply();
    const contents = createPostgresContents({ pool });
    await contents.put([there]);
    const outcomes = await Promise.allSettled(Array.from({ length: 10_001 }, () => contents.get([there.id])));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject([{ reason: { name: 'StoreUnavailable' } }]);
    expect((await contents.heads([there.id])).size).toBe(1);
  });

  test('report to every caller that the database is unavailable', async () => {
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
