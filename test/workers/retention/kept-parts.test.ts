import { describe, expect, test } from 'vitest';
import { createPostgresRetention } from '../../../src/adapters/retention/postgres.ts';
import { type ErasedContent, isKeptPart } from '../../../src/domain/ports/contents.ts';
import { partHash, rootOfParts } from '../../../src/lib/transparency/transparency.ts';
import { ADDRESS, formsIn } from '../../support/traces.ts';
import { createErasing } from '../erasing.ts';

const OTHER = 'bob@example.org';

describe('removed content', () => {
  const { ask, send, erase, attempt, rounds, dump, ...made } = createErasing();

  const rowOf = async (messageId: string) => {
    const accepted = `select data::json as data from event_log.events where type = 'MessageAccepted'`;
    const { rows: events } = await made.pool().query(accepted);
    const { data } = events.find((each) => each.data.messageId === messageId) ?? {};
    const { rows } = await made.pool().query('select kind, body from vault.contents where id = $1', [data.contentId]);
    return { id: data.contentId, root: data.contentRoot, kind: rows[0].kind, body: rows[0].body as ErasedContent };
  };

  const rootOf = ({ parts = [] }: ErasedContent): string =>
    rootOfParts(parts.map((part) => (isKeptPart(part) ? partHash(part) : Buffer.from(part.hash, 'base64')))).toString(
      'base64',
    );

  const keptIn = ({ parts = [] }: ErasedContent): readonly unknown[] =>
    parts.flatMap((part) => (isKeptPart(part) ? [part.value] : []));

  test('for one of two recipients still shows the other one, and has the root that the event states', async () => {
    const { id } = await send({ cc: OTHER, html: `<p>${ADDRESS}</p>` });
    await attempt(id, 'delivered');
    await erase();
    await rounds(2);
    const row = await rowOf(id);
    expect([row.kind, rootOf(row.body), keptIn(row.body)]).toEqual([
      'partly_erased',
      row.root,
      [{ kind: 'cc', address: OTHER }],
    ]);
    expect(formsIn(await dump())).toEqual([]);
    const preview = await ask('POST', '/v1/erasures/preview', { address: ADDRESS });
    expect(preview.body.would_remove.messages).toBe(0);

    const counts = await ask('POST', '/v1/erasures/preview', { address: OTHER });
    expect(counts.body.would_remove.messages).toBe(1);
    const { body } = await ask('POST', '/v1/erasures', { address: OTHER });
    await rounds(2);
    expect((await ask('GET', `/v1/erasures/${body.id}`)).body.certificate.removed.messages).toBe(1);
    const gone = await rowOf(id);
    expect([gone.kind, rootOf(gone.body), keptIn(gone.body)]).toEqual(['erased', row.root, []]);
    expect(gone.body.parts?.[1]).toMatchObject({ later: { kind: 'erased', erasureId: body.id } });
    expect(await dump()).not.toContain(OTHER);
  });

  test('keeps hashes when its retention ends, even after an erasure', async () => {
    const [whole, partly] = [await send({ to: OTHER }), await send({ cc: OTHER })];
    for (const { id } of [whole, partly]) await attempt(id, 'delivered');
    await erase();
    await rounds(2);
    const before = await rowOf(partly.id);
    const retention = createPostgresRetention({ pool: made.pool() });
    const old = await retention.contents({
      organizationId: made.organizationId(),
      before: new Date(Date.now() + 60_000),
      after: null,
      limit: 100,
    });
    expect(old.map(({ kind }) => kind)).toContain('partly_erased');
    await retention.expire(
      old.map(({ id }) => id),
      new Date(),
    );
    const [first, second] = [await rowOf(whole.id), await rowOf(partly.id)];
    expect([first.kind, rootOf(first.body), keptIn(first.body)]).toEqual(['expired', first.root, []]);
    expect([second.kind, rootOf(second.body), keptIn(second.body)]).toEqual(['erased', before.root, []]);
    expect(second.body.parts?.[1]).toMatchObject({ later: { kind: 'expired' } });
    expect(await dump()).not.toContain(OTHER);
  });

  test('loses both recipients in two concurrent erasures', async () => {
    const { id, recipients } = await send({ cc: OTHER });
    await attempt(id, 'delivered');
    const { id: contentId, root } = await rowOf(id);
    const retention = createPostgresRetention({ pool: made.pool() });
    const erasing = recipients.map((recipient, index) =>
      retention.erase({
        erasureId: `ers_${index}`,
        organizationId: made.organizationId(),
        contentIds: [contentId],
        recipientIds: [recipient.id],
        deliveryIds: [],
        mail: [],
        at: new Date(),
      }),
    );
    await Promise.all(erasing);
    const { kind, body } = await rowOf(id);
    expect([kind, rootOf(body), keptIn(body)]).toEqual(['erased', root, []]);
  });
});
