import { randomBytes, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { createContentsCodec, openContents, sealContents } from '../../../src/adapters/contents/contents-codec.ts';
import { createPostgresContents } from '../../../src/adapters/contents/postgres.ts';
import { createSecretBox } from '../../../src/adapters/secrets/postgres.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { headOf, type MessageBody, type MessageContents } from '../../../src/domain/ports/contents.ts';
import { WrongSecretKey } from '../../../src/domain/ports/secrets.ts';
import { longestTurnMs } from '../../support/longest-turn.ts';
import { openMigratedPool } from '../../support/postgres.ts';

const KEYS = { current: 'a key of at least thirty-two characters' };
const BOX = createSecretBox(KEYS, 'vault.contents', createSystem());
const ENCRYPTING = createContentsCodec({ box: BOX, encrypts: true });

const message = (): MessageContents => ({
  id: randomUUID(),
  organizationId: 'org_a',
  body: {
    kind: 'message',
    messageId: 'msg_a',
    from: { address: 'a@example.test' },
    recipients: [{ id: 'rcp_a', kind: 'to', address: 'b@example.test' }],
    replyTo: [],
    subject: 'A subject',
    html: '<p>"hello"</p>'.repeat(1000),
    headers: { 'X-A': 'b' },
    attachments: [{ filename: 'a.bin', contentType: 'application/octet-stream', content: 'QUJD' }],
    tags: [{ name: 'a', value: 'b' }],
    metadata: {},
  } satisfies MessageBody,
});

const reply = (): MessageContents => ({
  id: randomUUID(),
  organizationId: 'org_a',
  body: { kind: 'reply', messageId: 'msg_a', text: '550 no such user' },
});

let pool: Pool;
beforeAll(async () => {
  const opened = await openMigratedPool();
  pool = opened.pool;
  return opened.close;
});

describe('encrypted contents', () => {
  const encrypting = () => createPostgresContents({ pool, codec: ENCRYPTING });

  test('reveal nothing to someone who has only the database', async () => {
    const put = [message(), reply()] as const;
    await encrypting().put(put);
    const { rows } = await pool.query<{ text: string }>(
      'select c::text as text from vault.contents c where id = any ($1)',
      [put.map(({ id }) => id)],
    );
    const stored = rows.map(({ text }) => text).join();
    for (const word of ['example', 'hello', 'A subject', 'no such user', 'a.bin', 'QUJD'])
      expect(stored).not.toContain(word);
    await expect(createPostgresContents({ pool }).get([put[0].id])).rejects.toBeInstanceOf(WrongSecretKey);
  });

  test('are stored with digests of the words of their subject', async () => {
    const content = { ...message(), searchWords: ['7', '-8'] };
    await encrypting().put([content]);
    const { rows } = await pool.query('select subject_words from vault.contents where id = $1', [content.id]);
    expect(rows).toEqual([{ subject_words: ['7', '-8'] }]);
  });

  test('are read alongside plaintext rows, whether or not new rows are encrypted', async () => {
    const put = [message(), message(), reply(), reply()] as const;
    await encrypting().put([put[0], put[2]]);
    await createPostgresContents({ pool }).put([put[1], put[3]]);
    const ids = put.map(({ id }) => id);
    for (const encrypts of [true, false]) {
      const contents = createPostgresContents({ pool, codec: createContentsCodec({ box: BOX, encrypts }) });
      expect(await contents.get(ids)).toEqual(new Map(put.map(({ id, body }) => [id, body])));
      expect([...(await contents.heads(ids)).keys()].sort()).toEqual([...ids].sort());
    }
  });

  test('of a small message are encrypted once, and the same query makes its head of them', async () => {
    const small = message();
    const put = [{ ...small, body: { ...(small.body as MessageBody), html: '<p>hello</p>' } }, message(), reply()];
    await encrypting().put(put);
    const ids = put.map(({ id }) => id);
    const stored = await pool.query<{ id: string; none: boolean }>(
      'select id, head is null as none from vault.contents where id = any ($1)',
      [ids],
    );
    expect(new Map(stored.rows.map(({ id, none }) => [id, none]))).toEqual(
      new Map(ids.map((id, index) => [id, index !== 1])),
    );
    let queries = 0;
    const query = async (...given: unknown[]): Promise<unknown> => {
      queries += 1;
      return Reflect.apply(pool.query, pool, given);
    };
    const counting = createPostgresContents({ pool: { query } as unknown as Pool, codec: ENCRYPTING });
    expect(await counting.heads(ids)).toEqual(new Map(put.map(({ id, body }) => [id, headOf(body)])));
    expect(queries).toBe(1);
  });

  test('from another row, or from the other column, cannot be decrypted', async () => {
    const put = [message(), message()] as const;
    await encrypting().put(put);
    const [mine, other] = put.map(({ id }) => id);
    await pool.query('update vault.contents set head = body where id = $1', [other]);
    await expect(encrypting().heads([other ?? ''])).rejects.toBeInstanceOf(WrongSecretKey);
    await pool.query('update vault.contents set body = (select body from vault.contents where id = $1) where id = $2', [
      mine,
      other,
    ]);
    await expect(encrypting().get([other ?? ''])).rejects.toBeInstanceOf(WrongSecretKey);
    expect((await encrypting().get([mine ?? ''])).size).toBe(1);
  });

  test('cost at most a few tenths of a millisecond for a typical message', async () => {
    const one = message();
    const cpuMs = async (codec: typeof ENCRYPTING): Promise<number> => {
      for (let warm = 0; warm < 200; warm += 1) await codec.encode(one);
      const begun = process.threadCpuUsage();
      for (let times = 0; times < 500; times += 1) await codec.encode(one);
      const { user, system } = process.threadCpuUsage(begun);
      return (user + system) / 1000 / 500;
    };
    expect((await cpuMs(ENCRYPTING)) - (await cpuMs(createContentsCodec()))).toBeLessThan(0.5);
  });

  test('of many megabytes are encrypted and decrypted while the event loop serves others', async () => {
    const large = message();
    const content = randomBytes(8_000_000).toString('base64');
    const attachments = [{ filename: 'a.bin', contentType: 'application/octet-stream', content }];
    const body = { ...(large.body as MessageBody), html: 'é😀'.repeat(100_000), attachments };
    const { body: written } = await ENCRYPTING.encode({ ...large, body });
    expect(await ENCRYPTING.decodeBody(large.id, JSON.parse(written))).toEqual(body);

    const json = JSON.stringify(body);
    const sealed = BOX.seal('row body', json);
    const quickest = async (work: () => Promise<unknown>): Promise<number> =>
      Math.min(await longestTurnMs(work), await longestTurnMs(work), await longestTurnMs(work));
    const atOnce = [
      await quickest(async () => BOX.seal('row body', json).toString('base64')),
      await quickest(async () => BOX.open('row body', sealed)),
    ];
    const text = sealed.toString('base64');
    const inTurns = [
      await quickest(() => sealContents(BOX, 'row', 'body', json)),
      await quickest(() => openContents(BOX, 'row', 'body', text)),
    ];
    for (const [index, ms] of inTurns.entries()) expect(ms).toBeLessThan((atOnce[index] ?? 0) * 0.75);
  });
});
