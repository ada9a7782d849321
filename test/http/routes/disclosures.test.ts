import { describe, expect, test } from 'vitest';
import { leafHash, rootOfParts } from '../../../src/lib/transparency/transparency.ts';
import { ADDRESS } from '../../support/traces.ts';
import { createErasing } from '../../workers/erasing.ts';

const OTHER = 'bob@example.org';

interface Entry {
  readonly data: { readonly messageId: string };
}

interface Part {
  readonly name: string;
  readonly leaf: string | null;
  readonly hash: string;
  readonly removed: unknown;
}

describe('the disclosure of a message', () => {
  const { ask, send, erase, attempt, rounds, ...made } = createErasing();

  const disclose = async (messageId: string, by?: string) => {
    const log = await ask('GET', '/v1/audit/log?type=MessageAccepted');
    if (log.status !== 200) throw new Error(JSON.stringify(log));
    const { event_id: id, data } = log.body.data.find((each: Entry) => each.data.messageId === messageId);
    const { status, body } = await ask('GET', `/v1/audit/disclosures/${id}`, undefined, by);
    return { id, root: data.contentRoot, status, body, parts: (body.parts ?? []) as readonly Part[] };
  };

  const rootOf = (parts: readonly Part[]): string =>
    rootOfParts(parts.map(({ hash }) => Buffer.from(hash, 'base64'))).toString('base64');

  test('shows each part as it is hashed, only to admin keys of its organization, and is on record', async () => {
    const { id } = await send({ cc: OTHER, html: '<p>Hi</p>' });
    const { root, body, parts } = await disclose(id);
    expect([rootOf(parts), body.content_root]).toEqual([root, root]);
    for (const { leaf, hash } of parts) expect(leafHash(leaf ?? '').toString('base64')).toBe(hash);
    const values = parts.map(({ leaf }) => JSON.parse(leaf ?? '').slice(1));
    expect(values).toContainEqual(['html', '<p>Hi</p>']);
    expect(values[1]).toEqual([expect.stringMatching(/^recipient\/rcp_/), { address: OTHER, kind: 'cc' }]);
    expect(new Set(parts.map(({ leaf }) => JSON.parse(leaf ?? '')[0])).size).toBe(parts.length);
    const read = await ask('GET', '/v1/audit/log?type=DataRead');
    expect(read.body.data).toMatchObject([{ data: { what: 'message_content', subjectId: id } }]);
    expect((await disclose(id, made.otherKey())).status).toBe(404);
    expect((await ask('GET', '/v1/audit/disclosures/evt_x')).status).toBe(404);
    const { body: first } = await ask('GET', '/v1/audit/log?order=asc&limit=1');
    const nothing = await ask('GET', `/v1/audit/disclosures/${first.data[0].event_id}`);
    expect(nothing.body).toMatchObject({ content_root: null, parts: [] });
  });

  test('still proves what went to others when a recipient is erased, and says why the rest is gone', async () => {
    const { id } = await send({ cc: OTHER });
    await attempt(id, 'delivered');
    const before = await disclose(id);
    const erasureId = await erase();
    await rounds(2);
    const { root, parts, body } = await disclose(id);
    expect([root, rootOf(parts)]).toEqual([before.root, before.root]);
    expect(parts.map(({ hash }) => hash)).toEqual(before.parts.map(({ hash }) => hash));
    expect(parts[1]).toEqual(before.parts[1]);
    const others = parts.filter((_, index) => index !== 1);
    const removed = { reason: 'erased', at: expect.any(String), erasure_id: erasureId };
    expect(others.map((part) => [part.leaf, part.removed])).toEqual(others.map(() => [null, removed]));
    expect(JSON.stringify(body)).not.toContain(ADDRESS);
  });

  const entryOf = async (query: string) => (await ask('GET', `/v1/audit/log?${query}`)).body.data[0];
  const hashOf = ({ leaf }: { readonly leaf: string }) => leafHash(leaf).toString('base64');

  test('shows what the server replied, until that is erased', async () => {
    const { id } = await send();
    await attempt(id, 'bounced');
    const { event_id: eventId, data } = await entryOf(`message_id=${id}&type=RecipientBounced`);
    const read = () => ask('GET', `/v1/audit/disclosures/${eventId}`);
    const { body } = await read();
    expect(body).toMatchObject({ content_root: null, parts: [], origin: null, reply: { root: data.smtp.replyRoot } });
    expect([hashOf(body.reply.part), body.reply.part.hash]).toEqual([data.smtp.replyRoot, data.smtp.replyRoot]);
    expect(JSON.parse(body.reply.part.leaf).slice(1)).toEqual(['reply', `<${ADDRESS}>: said`]);
    const notes = await ask('GET', '/v1/audit/log?type=DataRead');
    expect(notes.body.data[0].data).toMatchObject({ what: 'message_content', subjectId: id });
    const erasureId = await erase();
    await rounds(2);
    const removed = { reason: 'erased', at: expect.any(String), erasure_id: erasureId };
    const left = { name: 'reply', leaf: null, hash: data.smtp.replyRoot, removed };
    expect((await read()).body.reply).toEqual({ root: data.smtp.replyRoot, part: left });
  });

  test('shows who asked for a change, while that is kept', async () => {
    await ask('POST', '/v1/topics', { name: 'News', default: 'in' });
    const { event_id: eventId } = await entryOf('type=TopicCreated');
    const read = async () => (await ask('GET', `/v1/audit/disclosures/${eventId}`)).body;
    const { origin, reply } = await read();
    expect([reply, hashOf(origin.part)]).toEqual([null, origin.root]);
    const [, name, value] = JSON.parse(origin.part.leaf);
    expect([name, value]).toEqual(['client', { address: '127.0.0.1', userAgent: 'lightMyRequest' }]);
    await made.pool().query('delete from vault.request_origins');
    const { origin: gone } = await read();
    expect(gone).toMatchObject({ root: origin.root, part: { leaf: null, hash: origin.root } });
    expect(gone.part.removed).toMatchObject({ reason: 'expired', erasure_id: null });
  });

  test('is available to auditors who may see contents', async () => {
    const { id } = await send();
    const token = async (contents: boolean): Promise<string> => {
      const auditor = { name: 'Ann', contents, expires_at: '2030-01-01T00:00:00Z' };
      return (await ask('POST', '/v1/audit/auditors', auditor)).body.token;
    };
    expect((await disclose(id, await token(false))).status).toBe(403);
    expect((await disclose(id, await token(true))).status).toBe(200);
  });
});
