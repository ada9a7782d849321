import { describe, expect, test } from 'vitest';
import type { Database } from '../../src/lib/projections/projections.ts';
import { messagesProjection } from '../../src/projections/messages/projection.ts';
import { type ListMessages, labelKey, listMessages } from '../../src/projections/messages/queries.ts';
import { messageAccepted, recipient } from '../support/controls/message.ts';
import { NOW } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';
import { ALL, minute, openWith } from './support/listed-messages.ts';
import { LATER_EVENTS } from './support/message-events.ts';

describe('the message list', () => {
  test('shows a message as it was accepted', async () => {
    const { given, pool } = await openApplied(messagesProjection);
    await given('message-msg_1', [messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] })]);
    const { items } = await listMessages(pool, ALL);
    const marks = { complained: false, unsubscribed: false, opened: false, clicked: false };
    const asAccepted = { kind: 'to', domain: 'example.net', status: 'accepted', ...marks };
    expect(items).toEqual([
      {
        messageId: 'msg_1',
        organizationId: 'org_mine',
        environment: 'live',
        domainId: 'dom_1',
        keyId: 'key_1',
        contentId: 'content-1',
        internetMessageId: '<msg_1@example.test>',
        stream: 'transactional',
        sizeBytes: 10,
        template: null,
        status: 'accepted',
        partial: false,
        createdAt: NOW,
        updatedAt: NOW,
        expiresAt: '2026-11-24T12:00:00.000Z',
        scheduledAt: null,
        recipients: [
          { id: 'rcp_1', ...asAccepted },
          { id: 'rcp_2', ...asAccepted },
        ],
      },
    ]);
  });

  const becomes = {
    MessageScheduled: { status: 'scheduled' },
    MessageRescheduled: { status: 'scheduled' },
    AttemptStarted: { status: 'sending' },
    AttemptOutcomeUnknown: { status: 'deferred' },
    RecipientDelivered: { status: 'delivered' },
    RecipientDeferred: { status: 'deferred' },
    RecipientBounced: { status: 'bounced' },
    RecipientExpired: { status: 'expired' },
    RecipientFailed: { status: 'failed' },
    RecipientSuppressed: { status: 'suppressed' },
    RecipientCancelled: { status: 'cancelled' },
    RecipientOpened: { opened: true },
    RecipientClicked: { clicked: true },
    RecipientComplained: { complained: true },
    RecipientUnsubscribed: { unsubscribed: true },
  } as const satisfies Record<
    Exclude<keyof typeof LATER_EVENTS, 'RecipientsHeld' | 'RecipientReportNoted' | 'RecipientsResent'>,
    object
  >;

  for (const [type, expected] of Object.entries(becomes)) {
    const event = LATER_EVENTS[type as keyof typeof becomes];
    for (const batches of ['in the batch of the acceptance', 'in a later batch']) {
      test(`shows the status that ${type} ${batches} gives a recipient`, async () => {
        const { given, pool } = await openApplied(messagesProjection);
        const accepted = messageAccepted();
        const later = '2026-11-21T12:01:00.000Z';
        if (batches === 'in a later batch') {
          await given('message-msg_1', [accepted]);
          await given('message-msg_1', [event], { occurredAt: later });
        } else {
          await given('message-msg_1', [accepted, event], { occurredAt: later });
        }
        const { items } = await listMessages(pool, ALL);
        expect(items[0]?.recipients[0]).toMatchObject(expected);
        expect(items[0]?.updatedAt).toBe(later);
        if ('status' in expected) expect(items[0]?.status).toBe(expected.status);
      });
    }
  }

  test('shows when a message will be sent, and the time to live that starts then', async () => {
    const { given, pool } = await openApplied(messagesProjection);
    await given('message-msg_1', [messageAccepted()]);
    expect((await listMessages(pool, ALL)).items[0]?.scheduledAt).toBeNull();
    await given('message-msg_1', [LATER_EVENTS.MessageScheduled]);
    const { scheduledAt, expiresAt } = LATER_EVENTS.MessageScheduled.data;
    expect((await listMessages(pool, ALL)).items[0]).toMatchObject({ scheduledAt, expiresAt });
    await given('message-msg_1', [LATER_EVENTS.AttemptStarted]);
    expect((await listMessages(pool, ALL)).items[0]).toMatchObject({ status: 'sending', scheduledAt, expiresAt });
  });

  test('shows when a message expires after it was given more time', async () => {
    const { given, pool } = await openApplied(messagesProjection);
    const { type, data } = LATER_EVENTS.RecipientsHeld;
    const expiresAt = '2026-11-28T12:00:00.000Z';
    await given('message-msg_1', [messageAccepted(), { type, data: { ...data, expiresAt } }]);
    await given('message-msg_1', [LATER_EVENTS.RecipientDeferred]);
    expect((await listMessages(pool, ALL)).items[0]).toMatchObject({ expiresAt });
  });

  test('shows that a message was delivered to some recipients only', async () => {
    const { given, pool } = await openApplied(messagesProjection);
    await given('message-msg_1', [messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] })]);
    await given('message-msg_1', [LATER_EVENTS.RecipientDelivered]);
    const bounced = {
      ...LATER_EVENTS.RecipientBounced,
      data: { ...LATER_EVENTS.RecipientBounced.data, recipientId: 'rcp_2' },
    };
    await given('message-msg_1', [bounced]);
    expect((await listMessages(pool, ALL)).items[0]).toMatchObject({ status: 'delivered', partial: true });
  });

  test('is sorted newest first, page by page, without gaps or repeats at equal times', async () => {
    const { pool } = await openWith(
      Array.from({ length: 7 }, (_, number) => ({ id: `msg_${number}`, at: minute(Math.floor(number / 3)) })),
    );
    const seen: string[] = [];
    let after: ListMessages['after'] = null;
    for (let pages = 0; pages < 10; pages += 1) {
      const page = await listMessages(pool, { ...ALL, limit: 2, after });
      seen.push(...page.items.map(({ messageId }) => messageId));
      expect(page.hasMore).toBe(page.next !== null);
      after = page.next;
      if (after === null) break;
    }
    expect(seen).toEqual(['msg_6', 'msg_5', 'msg_4', 'msg_3', 'msg_2', 'msg_1', 'msg_0']);
  });

  test('can be filtered by domain, status, recipient, sender, tag and time, and by several of them', async () => {
    const { given, ids } = await openWith([
      {
        id: 'msg_1',
        at: minute(1),
        domainId: 'dom_1',
        fromDigest: 'f1',
        tagDigests: ['t1'],
        recipients: [recipient('rcp_1')],
      },
      { id: 'msg_2', at: minute(2), domainId: 'dom_2', fromDigest: 'f1', tagDigests: ['t1', 't2'] },
      {
        id: 'msg_3',
        at: minute(3),
        domainId: 'dom_1',
        fromDigest: 'f2',
        recipients: [recipient('rcp_3'), recipient('rcp_3')],
      },
    ]);
    await given('message-msg_1', [LATER_EVENTS.RecipientDelivered]);
    expect(await ids({ domainId: 'dom_1' })).toEqual(['msg_3', 'msg_1']);
    expect(await ids({ status: 'delivered' })).toEqual(['msg_1']);
    expect(await ids({ status: 'accepted' })).toEqual(['msg_3', 'msg_2']);
    expect(await ids({ toDigest: 'digest-rcp_3' })).toEqual(['msg_3']);
    expect(await ids({ fromDigest: 'f1' })).toEqual(['msg_2', 'msg_1']);
    expect(await ids({ tagDigest: 't1' })).toEqual(['msg_2', 'msg_1']);
    expect(await ids({ tagDigest: 't1', toDigest: 'digest-rcp_1', fromDigest: 'f1' })).toEqual(['msg_2', 'msg_1']);
    expect(await ids({ tagDigest: 't2', fromDigest: 'f2' })).toEqual([]);
    expect(await ids({ since: minute(2) })).toEqual(['msg_3', 'msg_2']);
    expect(await ids({ until: minute(2) })).toEqual(['msg_1']);
    expect(await ids({ tagDigest: 't1', since: minute(2), until: minute(3), domainId: 'dom_2' })).toEqual(['msg_2']);
    expect(await ids({ environment: 'test' })).toEqual([]);
    expect(await ids({ organizationId: 'org_other' })).toEqual([]);
  });

  test('can be filtered by key, subject, metadata, request and message', async () => {
    const { ids, given } = await openWith([
      { id: 'msg_1', at: minute(1), keyId: 'key_1', subjectDigest: 's1', metadataDigests: ['m1', 'm2'] },
      { id: 'msg_2', at: minute(2), keyId: 'key_2', subjectDigest: 's1', metadataDigests: ['m1'] },
    ]);
    await given('message-msg_3', [messageAccepted({ messageId: 'msg_3', keyId: 'key_3' })], { requestId: 'req_3' });
    expect(await ids({ keyId: 'key_1' })).toEqual(['msg_1']);
    expect(await ids({ subjectDigest: 's1' })).toEqual(['msg_2', 'msg_1']);
    expect(await ids({ metadataDigest: 'm1' })).toEqual(['msg_2', 'msg_1']);
    expect(await ids({ metadataDigest: 'm1', keyId: 'key_2', subjectDigest: 's1' })).toEqual(['msg_2']);
    expect(await ids({ metadataDigest: 'm2', messageId: 'msg_2' })).toEqual([]);
    expect(await ids({ requestId: 'req_3' })).toEqual(['msg_3']);
    expect(await ids({ messageId: 'msg_2' })).toEqual(['msg_2']);
    await given('message-msg_4', [messageAccepted({ messageId: 'msg_4', keyId: 'key_1' })], { secret: 2 });
    expect(await ids({ keyId: 'key_1', secret: 2 })).toEqual(['msg_4']);
    expect(await ids({ keyId: 'key_2', secret: 2 })).toEqual([]);
    expect(await ids({ keyId: 'key_1', secret: 2, metadataDigest: 'm1' })).toEqual([]);
  });

  test('reads each filter from an index, in its order', async () => {
    const { pool } = await openApplied(messagesProjection);
    await pool.query(`
      insert into read_models.messages (message_id, organization_id, environment, domain_id, key_id, content_id,
        internet_message_id, stream, size_bytes, status, partial, recipients, created_at, updated_at, expires_at,
        request_id, subject_digest, secret)
      select 'msg_' || n, 'org_mine', 'live', 'dom_' || n % 10, 'key_' || n % 100, '', '', 'bulk', 1, 'delivered', false,
        '[]', now() - n * interval '1 second', now(), now(), 'req_' || n / 5, 'subject' || n % 5000, 1 + n / 10000
      from generate_series(1, 20000) n`);
    await pool.query(`
      insert into read_models.message_labels (label, created_at, message_id)
      select ${labelKey(ALL, 'outcome_at:delivered')}, created_at, message_id from read_models.messages`);
    await pool.query('analyze read_models.messages, read_models.message_labels');
    const planOf = async (by: Partial<ListMessages>): Promise<string> => {
      let plan = '';
      const query = async (text: string, values: readonly unknown[]) => {
        const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, [...values]);
        plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        return { rows: [] };
      };
      await listMessages({ query } as unknown as Database, { ...ALL, ...by });
      return plan;
    };
    const after = { createdAt: new Date().toISOString(), id: 'msg_1' };
    expect(await planOf({ keyId: 'key_7', after })).toMatch(/Index Scan Backward using messages_by_key/);
    const bySecret = await planOf({ keyId: 'key_7', secret: 2, after });
    expect(bySecret).toMatch(/Index Scan Backward using messages_by_secret/);
    expect(bySecret).not.toMatch(/Filter:.*secret/);
    expect(await planOf({ subjectDigest: 'subject7', after })).toContain('messages_by_subject');
    expect(await planOf({ stream: 'transactional', after })).toContain('messages_by_stream');
    expect(await planOf({ requestId: 'req_7', after })).toContain('messages_by_request');
    expect(await planOf({ messageId: 'msg_7' })).toContain('messages_pkey');
    const times = { outcomeSince: '2026-01-01T00:00:00Z', outcomeUntil: new Date().toISOString() };
    const byTime = await planOf({ outcome: 'delivered', ...times });
    expect(byTime).toMatch(/Index Scan Backward using message_labels_newest/);
    expect(byTime).toMatch(/Index Cond:.*created_at >=.*created_at </);
    expect(byTime).toContain('Presorted Key: l.created_at');
    expect(byTime).not.toContain('Seq Scan');
    for (const by of [{ keyId: 'key_7' }, { subjectDigest: 'subject7' }, { requestId: 'req_7' }])
      expect(await planOf({ ...by, after })).not.toContain('Seq Scan');
  });

  test('contains messages whose subject has all of the words, whether few or many match', async () => {
    const { pool } = await openApplied(messagesProjection);
    await pool.query(`
      with stored as (
        insert into vault.contents (id, organization_id, kind, message_id, body, subject_words)
        select gen_random_uuid(), 'org_mine', 'message', 'msg_' || n, '{}', array[n % 5000, -1, n % 2] from generate_series(1, 20000) n
        returning id, message_id)
      insert into read_models.messages (message_id, organization_id, environment, domain_id, key_id, content_id,
        internet_message_id, stream, size_bytes, status, partial, recipients, created_at, updated_at, expires_at)
      select message_id, 'org_mine', 'live', 'dom_1', 'key_1', id, '', 'bulk', 1, 'delivered', false,
        '[]', now() - substr(message_id, 5)::int * interval '1 second', now(), now() from stored`);
    await pool.query(`
      insert into read_models.message_labels (label, created_at, message_id)
      select ${labelKey(ALL, 'tag:t')}, created_at, message_id from read_models.messages
      where substr(message_id, 5)::int % 10 = 7`);
    await pool.query('analyze vault.contents, read_models.messages, read_models.message_labels');
    const asked: string[] = [];
    const query = async (text: string, values: unknown[]) => {
      const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain analyze ${text}`, values);
      asked.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return pool.query(text, values);
    };
    const ids = async (by: Partial<ListMessages>): Promise<readonly string[]> => {
      const { items } = await listMessages({ query } as unknown as Database, { ...ALL, ...by, limit: 3 });
      return items.map(({ messageId }) => messageId.slice(4));
    };
    expect(await ids({ searchWords: ['7', '-1'] })).toEqual(['7', '5007', '10007']);
    expect(asked[0]).toContain('contents_by_subject');
    expect(asked[1]).toContain('messages_pkey');
    asked.length = 0;
    expect(await ids({ searchWords: ['-1'] })).toEqual(['1', '2', '3']);
    // One more than requested, and another one to see that the last item's time is unique.
    expect(asked[1]).toMatch(/Index Scan Backward using messages_newest.*rows=5/s);
    expect(await ids({ searchWords: ['7'], tagDigest: 't' })).toEqual(['7', '5007', '10007']);
    expect(await ids({ searchWords: ['8'], tagDigest: 't' })).toEqual([]);
    expect(await ids({ searchWords: ['-1'], tagDigest: 't' })).toEqual(['7', '17', '27']);
    expect(await ids({ searchWords: ['-1'], tagDigest: 'u' })).toEqual([]);
    expect(await ids({ searchWords: ['-1'], environment: 'test' })).toEqual([]);
    expect(await ids({ searchWords: ['12345'], organizationId: 'org_other' })).toEqual([]);
  });
});
