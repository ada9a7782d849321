import { describe, expect, test } from 'vitest';
import { createPostgresRetention } from '../../../src/adapters/retention/postgres.ts';
import { claimAttempt, recordAttempt } from '../../../src/commands/message/attempt.ts';
import { recordReport } from '../../../src/commands/message/record-report.ts';
import { readReturnPath, returnPath } from '../../../src/domain/message/tokens.ts';
import type { Retention } from '../../../src/domain/ports/contents.ts';
import { deliveryId } from '../../../src/domain/ports/webhooks.ts';
import { ADDRESS, formsIn } from '../../support/traces.ts';
import { createErasing } from '../erasing.ts';
import { receiveOne } from '../inbound/receive-one.ts';

describe('the erasure of a person', () => {
  const { ask, send, erase, attempt, suppressAsWorker, click, capture, rounds, dump, ...made } = createErasing();

  test('removes everything that names the person, keeps counts, and leaves a certificate', async () => {
    const attachment = { filename: `${ADDRESS}.txt`, content: Buffer.from(`for ${ADDRESS}`).toString('base64') };
    const shown = await send({ html: `<p>${ADDRESS}</p>`, attachments: [attachment], metadata: { who: ADDRESS } });
    const gone = await send({ tags: [{ name: 'kind', value: 'x' }] });
    const notSent = await send({ scheduled_at: new Date(Date.now() + 86_400_000).toISOString() });
    const plain = await send();
    for (const { id } of [shown, plain]) await attempt(id, 'delivered');
    await attempt(gone.id, 'bounced');
    await suppressAsWorker(gone.id);
    await ask('POST', '/v1/suppressions', { address: ADDRESS, note: `${ADDRESS} called` });
    await click(shown.id, shown.recipients[0]?.id ?? '', 0);
    const { body: hook } = await ask('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.*'] });
    await ask('GET', '/v1/webhooks');
    const eventsOfShown = async () =>
      (await made.pool().query('select event_id from read_models.customer_events where subject_id = $1', [shown.id]))
        .rows;
    await expect.poll(async () => (await eventsOfShown()).length, { timeout: 20_000 }).toBeGreaterThan(1);
    const events = await eventsOfShown();
    await made.pool().query(
      `insert into vault.webhook_tries (delivery_id, attempt, at, duration_ms, answer, url, header_names, body_bytes, body_sha256)
       values ($1, 1, now(), 1, $2, 'http://127.0.0.1:9/', '', 1, '\\x00')`,
      [deliveryId(hook.id, events[0].event_id), `no ${ADDRESS} here`],
    );
    await capture(`<${shown.id}@example.test>`);
    await capture('<another@other.test>', 'other.test');
    const auditor = { name: 'Ann', email: ADDRESS, expires_at: '2099-01-01T00:00:00Z' };
    await ask('POST', '/v1/audit/auditors', auditor);
    for (const contact of [ADDRESS, 'office@example.test', ADDRESS])
      await ask('PATCH', '/v1/organization', { contact });
    const before = await ask('GET', '/v1/stats');
    expect(formsIn(await dump()).length).toBeGreaterThan(3);

    const preview = await ask('POST', '/v1/erasures/preview', { address: ADDRESS.toUpperCase().replace('NET', 'net') });
    expect(preview.body).toMatchObject({
      would_remove: {
        messages: 3,
        replies: 3,
        links: 1,
        suppression_evidence: 2,
        webhook_tries: 1,
        captured_mail: 1,
        contacts: 3,
      },
      waiting_messages: 1,
      has_more: false,
    });

    const id = await erase({ suppress: true });
    expect(await erase()).toBe(id);
    await rounds(2);
    const { body } = await ask('GET', `/v1/erasures/${id}`);
    const removed = {
      messages: 4,
      replies: 3,
      links: 1,
      suppression_evidence: 2,
      webhook_tries: 1,
      captured_mail: 1,
      contacts: 3,
    };
    expect(body).toMatchObject({ state: 'completed', certificate: { removed, log_position: expect.any(String) } });
    expect((await ask('GET', '/v1/erasures')).body.data[0]).toEqual(body);
    expect((await ask('GET', `/v1/messages/${notSent.id}`)).body).toMatchObject({
      status: 'cancelled',
      content: 'erased',
      recipients: [{ address: null, reason: 'cancelled: its recipient is erased' }],
    });
    expect((await ask('GET', `/v1/messages/${shown.id}/content`)).status).toBe(410);
    const words = `select from vault.contents where kind in ('erased', 'partly_erased') and subject_words is not null`;
    expect((await made.pool().query(words)).rowCount).toBe(0);
    const suppressed = await ask('GET', `/v1/suppressions/check?address=${ADDRESS}`);
    expect(suppressed.body).toMatchObject({ suppressed: { transactional: true }, suppression: { address: null } });

    expect((await ask('GET', '/v1/organization')).body.contact).toBeNull();
    const changes = await ask('GET', '/v1/audit/log?type=OrganizationUpdated&actor=worker:erase-people');
    expect(changes.body.data).toMatchObject([{ data: { contactId: null } }]);

    // Another organization's mail is not affected.
    await made.pool().query(`delete from inbox.captured_mail where envelope_from = 'shop@other.test'`);
    expect(formsIn(await dump())).toEqual([]);
    const after = await ask('GET', '/v1/stats');
    expect(after.body.totals).toEqual({ ...before.body.totals, cancelled: before.body.totals.cancelled + 1 });
    const told = [await ask('GET', '/v1/events?limit=100'), await ask('GET', '/v1/messages')];
    expect(formsIn(JSON.stringify(told))).toEqual([]);
    expect(told[0]?.body.data).toContainEqual(
      expect.objectContaining({ type: 'erasure.completed', data: { erasure_id: id, erased: removed } }),
    );
  });

  test.each([
    ['from', { from: ADDRESS, to: 'support@example.test' }],
    ['to', { from: 'bob@example.org', to: ADDRESS }],
  ])('removes inbound mail %s the person, and no other', async (_way, addresses) => {
    const organizationId = made.organizationId();
    await receiveOne(made.context(), { organizationId, ...addresses });
    await receiveOne(made.context(), { organizationId, from: 'bob@example.org', to: 'support@example.test' });
    const kinds = `select kind from vault.contents where kind like 'inbound%' or kind = 'erased' order by kind`;
    expect((await made.pool().query(kinds)).rows).toHaveLength(4);
    const preview = await ask('POST', '/v1/erasures/preview', { address: ADDRESS });
    expect(preview.body).toMatchObject({ would_remove: { messages: 1 }, has_more: false });
    const id = await erase();
    await rounds(2);
    const { body } = await ask('GET', `/v1/erasures/${id}`);
    expect(body).toMatchObject({ state: 'completed', certificate: { removed: { messages: 1 } } });
    const left = (await made.pool().query(kinds)).rows.map(({ kind }) => kind);
    expect(left).toEqual(['erased', 'erased', 'inbound', 'inbound_raw']);
    expect(formsIn(await dump())).toEqual([]);
  });

  test('still counts a later bounce, but stores nothing that it or a click contains', async () => {
    const { id, recipients } = await send({ cc: 'bob@example.org' });
    await attempt(id, 'delivered');
    await erase();
    await rounds(2);
    const token = readReturnPath(returnPath(made.secret(), { purpose: 'bounce', messageId: id, recipientIndex: 0 }));
    const failure = {
      isPermanent: true,
      code: 550,
      enhanced: '5.1.1',
      mx: 'mx.example.net',
      text: `<${ADDRESS}> gone`,
    };
    const report = { kind: 'failures', failures: [{ ...failure, failed: [ADDRESS], addresses: [ADDRESS] }] } as const;
    const mail = { report, envelopeId: null, quoted: { localParts: [], linkTokens: [] } };
    expect(await recordReport(made.context(), { token, mail })).toBe('bounced_late');
    await click(id, recipients[0]?.id ?? '', 1);
    await suppressAsWorker(id);
    const { body } = await ask('GET', `/v1/messages/${id}`);
    expect(body.recipients).toMatchObject([
      { status: 'bounced', smtp: { code: 550, text: null } },
      { status: 'delivered' },
    ]);
    expect(formsIn(await dump())).toEqual([]);
  });

  test('waits for mail being sent, and for other recipients, who still receive theirs', async () => {
    const [sending, shared] = [await send(), await send({ cc: 'bob@example.org' })];
    const context = made.context();
    const claim = await claimAttempt(context, { messageId: sending.id, leaseMs: 60_000, random: 0 });
    const id = await erase();
    await rounds(2);
    expect((await ask('GET', `/v1/erasures/${id}`)).body).toMatchObject({
      state: 'running',
      progress: { waiting_messages: 2 },
      certificate: null,
    });
    expect((await ask('GET', `/v1/messages/${shared.id}`)).body).toMatchObject({
      content: 'stored',
      recipients: [{ status: 'cancelled' }, { status: 'accepted' }],
    });
    if (!claim.claimed) throw new Error('not claimed');
    const smtp = { code: 250, enhanced: null, mx: null, tls: null, replyId: null };
    const outcomes = claim.recipientIds.map((recipientId) => ({ recipientId, outcome: 'delivered', smtp }) as const);
    await recordAttempt(context, { message: claim.message, attempt: claim.attempt, outcomes, replies: [], random: 0 });
    await attempt(shared.id, 'delivered');
    await rounds(2);
    expect((await ask('GET', `/v1/erasures/${id}`)).body).toMatchObject({
      state: 'completed',
      certificate: { removed: { messages: 2, replies: 1 } },
    });
    expect(formsIn(await dump())).toEqual([]);
  });

  test('resumes wherever it crashed, and counts each item once', async () => {
    const sent = await send();
    await attempt(sent.id, 'delivered');
    const id = await erase();
    const postgres = createPostgresRetention({ pool: made.pool() });
    const dies = async () => {
      throw new Error('died');
    };
    const deaths: readonly Partial<Retention>[] = [
      { erase: dies },
      { erase: async (going) => postgres.erase(going).then(dies) },
      { noteErasure: dies },
      { noteErasure: async (note) => postgres.noteErasure(note).then(dies) },
    ];
    for (const death of deaths) await expect(rounds(1, { ...postgres, ...death })).rejects.toThrow('died');
    await rounds(2);
    const { body } = await ask('GET', `/v1/erasures/${id}`);
    expect(body).toMatchObject({ state: 'completed', certificate: { removed: { messages: 1, replies: 1 } } });
    expect(formsIn(await dump())).toEqual([]);
  });

  test('is repeated in a vault that was restored from an older backup', async () => {
    const sent = await send();
    await attempt(sent.id, 'delivered');
    const { rows } = await made.pool().query('select * from vault.contents where message_id = $1', [sent.id]);
    const id = await erase();
    await rounds(2);
    const certificate = (await ask('GET', `/v1/erasures/${id}`)).body.certificate;
    for (const { id: contentId, kind, body, head, message_id } of rows) {
      const values = [contentId, kind, JSON.stringify(body), head === null ? null : JSON.stringify(head), message_id];
      await made
        .pool()
        .query('update vault.contents set kind = $2, body = $3, head = $4, message_id = $5 where id = $1', values);
    }
    await made.pool().query('delete from vault.erasures');
    expect(formsIn(await dump()).length).toBeGreaterThan(0);
    await rounds(2);
    expect(formsIn(await dump())).toEqual([]);
    expect((await ask('GET', `/v1/erasures/${id}`)).body).toMatchObject({ state: 'completed', certificate });
  });

  test('waits for the end of a legal hold, and suppresses mail to the person until then', async () => {
    const { id: messageId } = await send();
    await attempt(messageId, 'delivered');
    const hold = (active: boolean) => ask('PUT', '/v1/organization/holds', { active });
    expect((await hold(true)).body.legal_hold_since).not.toBeNull();
    const asked = await ask('POST', '/v1/erasures', { address: ADDRESS, suppress: true });
    expect(asked.body.state).toBe('held');
    await rounds(3);
    expect((await ask('GET', `/v1/erasures/${asked.body.id}`)).body).toMatchObject({
      state: 'held',
      certificate: null,
    });
    expect((await ask('GET', '/v1/erasures')).body.data[0].state).toBe('held');
    expect((await ask('GET', `/v1/messages/${messageId}`)).body.content).toBe('stored');
    const { body } = await ask('GET', `/v1/suppressions/check?address=${ADDRESS}`);
    expect(body.suppressed.transactional).toBe(true);
    expect((await hold(false)).body.legal_hold_since).toBeNull();
    await rounds(2);
    expect((await ask('GET', `/v1/erasures/${asked.body.id}`)).body.state).toBe('completed');
    expect(formsIn(await dump())).toEqual([]);
  });

  test('keeps what is protected by a legal hold that begins in the middle', async () => {
    const { id: messageId } = await send();
    await attempt(messageId, 'delivered');
    const id = await erase();
    const postgres = createPostgresRetention({ pool: made.pool() });
    const holds: Partial<Retention> = {
      noteErasure: async (note) => {
        await postgres.noteErasure(note);
        await ask('PUT', '/v1/organization/holds', { active: true });
      },
    };
    await rounds(3, { ...postgres, ...holds });
    expect((await ask('GET', `/v1/erasures/${id}`)).body).toMatchObject({ state: 'held', certificate: null });
    await ask('PUT', '/v1/organization/holds', { active: false });
    await rounds(1);
    expect((await ask('GET', `/v1/erasures/${id}`)).body.state).toBe('completed');
  });

  test('removes no message after a legal hold has begun, also within a walk', async () => {
    const { id: messageId } = await send();
    await attempt(messageId, 'delivered');
    await erase();
    const postgres = createPostgresRetention({ pool: made.pool() });
    const eraseRefusedRequests: Retention['eraseRefusedRequests'] = async (running) => {
      await ask('PUT', '/v1/organization/holds', { active: true });
      return postgres.eraseRefusedRequests(running);
    };
    await rounds(1, { ...postgres, eraseRefusedRequests });
    expect((await ask('GET', `/v1/messages/${messageId}`)).body.content).toBe('stored');
  });

  test('does not affect mail of other organizations to the address', async () => {
    const { id } = await send({}, made.otherKey());
    await erase();
    await rounds(2);
    expect((await ask('GET', `/v1/messages/${id}`, undefined, made.otherKey())).body.recipients[0].address).toBe(
      ADDRESS,
    );
  });
});
