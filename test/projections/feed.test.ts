import { describe, expect, test } from 'vitest';
import { CUSTOMER_EVENT_TYPES } from '../../src/domain/customer-events/customer-event-types.ts';
import { customerEvents } from '../../src/domain/customer-events/customer-events.ts';
import { LOG_START } from '../../src/domain/kernel/event-store.ts';
import type { OutboxEvent } from '../../src/domain/kernel/events.ts';
import { serializeEvents } from '../../src/http/resources/events/serialize-events.ts';
import { eventsProjection } from '../../src/projections/events/projection.ts';
import { FEED_START, type ReadFeed, readFeed } from '../../src/projections/events/queries.ts';
import { keyCreated, keyDeleted, keyExpired, keyRevoked, keyRotated, keyUpdated } from '../support/controls/api-key.ts';
import { messageAccepted, recipient } from '../support/controls/message.ts';
import { createInMemoryContents } from '../support/in-memory/contents.ts';
import { NOW } from '../support/specification.ts';
import { openApplied } from './support/applied.ts';
import { AUDIT, BILLING, ERASURE, REPUTATION, REPUTATION_OF_ALL, TEMPLATE } from './support/feed-events.ts';
import { LATER_EVENTS, laterTypes } from './support/message-events.ts';

const FEED: ReadFeed = {
  ...{ organizationId: 'org_mine', environment: 'live', domainId: null, types: null, after: FEED_START, limit: 100 },
};

const REGISTERED: OutboxEvent = {
  type: 'DomainRegistered',
  data: { domainId: 'dom_1', name: 'a.test', token: 't', dkim: [] },
};
const WEBHOOK: OutboxEvent = {
  type: 'WebhookRegistered',
  data: {
    ...{ webhookId: 'whk_1', environment: 'test', url: 'https://a.test', events: [] },
    description: null,
    secretId: 's',
  },
};

const DKIM_KEY = { selector: 'ob-r-1', algorithm: 'rsa-sha256', publicKey: 'cnNh', secretId: 's' } as const;
const SUPPRESSION: readonly OutboxEvent[] = [
  {
    type: 'SuppressionAdded',
    data: {
      ...{ suppressionId: 'sup_1', digest: 'd', contentId: 'content-2', reason: 'manual', scope: 'bulk' },
      ...{ expiresAt: null, source: null },
    },
  },
  { type: 'SuppressionRemoved', data: { suppressionId: 'sup_1', contentId: 'content-2' } },
  {
    type: 'AddressResubscribed',
    data: {
      ...{ suppressionId: 'sup_1', digest: 'd', contentId: 'content-2', topicId: null },
      source: { messageId: 'msg_1', recipientId: 'rcp_1', eventId: null },
    },
  },
];

const TOPIC: readonly OutboxEvent[] = [
  {
    type: 'TopicCreated',
    data: { topicId: 'top_1', name: 'Offers', description: null, default: 'in', domainId: null },
  },
  { type: 'TopicChanged', data: { topicId: 'top_1', name: 'Weekly offers', description: null } },
  { type: 'TopicDeleted', data: { topicId: 'top_1' } },
];

const INBOUND: readonly OutboxEvent[] = [
  {
    type: 'InboundReceived',
    data: {
      ...{ inboundId: 'inb_1', domainId: 'dom_1', contentId: 'content-3', rawId: 'content-4', bytes: 10, sha256: 'ab' },
      ...{ toDigest: 'd', fromDigests: [], routeId: null, action: 'webhook', webhookId: null },
      verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
      inReplyToMessageId: null,
    },
  },
  {
    type: 'InboundForwarded',
    data: {
      ...{ inboundId: 'inb_1', domainId: 'dom_1', attempt: 1 },
      smtp: { code: 250, enhanced: null, mx: null, tls: null, replyId: null },
    },
  },
  {
    type: 'InboundForwardFailed',
    data: { inboundId: 'inb_1', domainId: 'dom_1', reason: 'bounced', smtp: null },
  },
];

const ROUTE_RULE = { match: 'support+*', action: 'store', webhookId: null, order: 0 } as const;
const WARM_UP: readonly OutboxEvent[] = [
  { type: 'WarmUpStarted', data: { domainId: 'dom_1', startsOn: '2026-11-21', plan: [50, 100] } },
  { type: 'WarmUpEnded', data: { domainId: 'dom_1' } },
];

const INBOUND_ROUTE: readonly OutboxEvent[] = [
  { type: 'InboundRouteCreated', data: { routeId: 'irt_1', domainId: 'dom_1', ...ROUTE_RULE } },
  { type: 'InboundRouteChanged', data: { routeId: 'irt_1', ...ROUTE_RULE, order: 1 } },
  { type: 'InboundRouteDeleted', data: { routeId: 'irt_1' } },
];

/** A log with every event type, from two organizations and both environments. */
const openFeed = async () => {
  const applied = await openApplied(eventsProjection);
  const { given } = applied;
  await given('domain-dom_1', [REGISTERED], { environment: null });
  await given(
    'domain-dom_1',
    [
      { type: 'DomainVerified', data: { domainId: 'dom_1', name: 'a.test', method: 'dns' } },
      { type: 'DkimKeysAdded', data: { domainId: 'dom_1', keys: [DKIM_KEY] } },
      { type: 'DkimKeysActivated', data: { domainId: 'dom_1', selectors: ['ob-r-1'], safeToRemoveAt: null } },
      { type: 'DkimKeysDestroyed', data: { domainId: 'dom_1', keys: [{ selector: 'ob-r-0', secretId: 's0' }] } },
      {
        type: 'DomainDegraded',
        data: { domainId: 'dom_1', name: 'a.test', failsAt: NOW, records: ['_outbox.a.test'] },
      },
      { type: 'DomainBrandingChanged', data: { domainId: 'dom_1', branding: null } },
      { type: 'DomainFailed', data: { domainId: 'dom_1', name: 'a.test' } },
      { type: 'DomainTrackingChanged', data: { domainId: 'dom_1', tracking: { opens: true, clicks: false } } },
      { type: 'InboundEnabled', data: { domainId: 'dom_1' } },
      { type: 'InboundDisabled', data: { domainId: 'dom_1' } },
      { type: 'DomainDeleted', data: { domainId: 'dom_1', name: 'a.test' } },
    ],
    {
      environment: null,
    },
  );
  await given('apiKey-key_1', [
    ...[keyCreated(), keyUpdated({ name: 'renamed' }), keyRotated(1, NOW), keyRevoked, keyExpired, keyDeleted],
  ]);
  await given('message-msg_1', [messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] })]);
  await given('message-msg_2', [messageAccepted({ messageId: 'msg_2', domainId: 'dom_2' })]);
  for (const type of laterTypes) await given('message-msg_1', [LATER_EVENTS[type]]);
  await given('webhook-whk_1', [WEBHOOK], { environment: 'test' });
  const changes: readonly OutboxEvent[] = [
    { type: 'WebhookUpdated', data: { webhookId: 'whk_1', url: 'https://b.test' } },
    { type: 'WebhookEnabled', data: { webhookId: 'whk_1' } },
    { type: 'WebhookPaused', data: { webhookId: 'whk_1', keyId: 'key_1' } },
    { type: 'WebhookAdopted', data: { webhookId: 'whk_1' } },
    { type: 'WebhookPinged', data: { webhookId: 'whk_1' } },
  ];
  await given('webhook-whk_1', changes, { environment: 'test' });
  await given('webhook-whk_1', [{ type: 'WebhookDisabled', data: { webhookId: 'whk_1', reason: 'gone' } }], {
    environment: 'test',
  });
  await given('webhook-whk_1', [{ type: 'WebhookDeleted', data: { webhookId: 'whk_1' } }], { environment: 'test' });
  await given('invoice-inv_1', BILLING);
  await given('audit-org_mine', AUDIT, { environment: null });
  await given('suppression-sup_1', SUPPRESSION);
  await given('topic-top_1', TOPIC, { environment: null });
  await given('inbound-inb_1', INBOUND);
  await given('inboundRoute-irt_1', INBOUND_ROUTE, { environment: null });
  await given('erasure-ers_1', ERASURE, { environment: null });
  await given('template-tpl_1', TEMPLATE, { environment: null });
  await given('reputation-dom_1', REPUTATION);
  await given('reputation-org_mine', REPUTATION_OF_ALL);
  await given('warmUp-dom_1', WARM_UP);
  await given('message-msg_3', [messageAccepted({ messageId: 'msg_3' })], { organizationId: 'org_other' });
  await given('organization-org_mine', [
    { type: 'OrganizationCreated', data: { organizationId: 'org_mine', name: 'n', ceilings: null } },
  ]);
  await given('domainName-a.test', [
    { type: 'DomainNameTaken', data: { name: 'a.test', domainId: 'dom_1', method: 'dns' } },
  ]);
  return applied;
};

describe('the feed', () => {
  test('contains the events of the log, one by one and in order, in live and test', async () => {
    const { pool, store } = await openFeed();
    const { events } = await store.readAll({ from: LOG_START, limit: 1000 });
    const all = events
      .flatMap((event) => customerEvents(event))
      .filter(({ organizationId }) => organizationId === 'org_mine');
    for (const environment of ['live', 'test'] as const) {
      const { items } = await readFeed(pool, { ...FEED, environment });
      const shown = items.map(({ cursor: _, domainId: _domain, ...event }) => event);
      expect(shown).toEqual(all.filter((event) => event.environment === environment || event.environment === null));
    }
    expect(new Set(all.map(({ type }) => type))).toEqual(new Set(CUSTOMER_EVENT_TYPES));
  });

  test('continues after a cursor, even between events of one log position, and ends at the newest', async () => {
    const { pool } = await openFeed();
    const { items } = await readFeed(pool, FEED);
    const seen: string[] = [];
    let after = FEED_START;
    for (let pages = 0; pages < items.length; pages += 1) {
      const page = await readFeed(pool, { ...FEED, after, limit: 1 });
      expect(page.hasMore).toBe(pages < items.length - 1);
      seen.push(...page.items.map(({ id }) => id));
      after = page.next;
    }
    expect(seen).toEqual(items.map(({ id }) => id));
    expect(await readFeed(pool, { ...FEED, after })).toEqual({ items: [], hasMore: false, next: after });
  });

  test('without a cursor returns the newest page, oldest first', async () => {
    const { pool } = await openFeed();
    const { items } = await readFeed(pool, FEED);
    const newest = await readFeed(pool, { ...FEED, after: null, limit: 4 });
    expect(newest.items).toEqual(items.slice(-4));
    expect(newest).toMatchObject({ hasMore: false, next: items.at(-1)?.cursor });
  });

  test('can be narrowed to types, and to one domain', async () => {
    const { pool } = await openFeed();
    const { items } = await readFeed(pool, FEED);
    const types = ['message.accepted', 'api_key.created', 'domain.verified'] as const;
    const some = await readFeed(pool, { ...FEED, types });
    expect(some.items).toEqual(items.filter(({ type }) => types.some((wanted) => wanted === type)));
    const ofDomain = await readFeed(pool, { ...FEED, domainId: 'dom_2' });
    expect(ofDomain.items.map(({ subjectId }) => subjectId)).toEqual(['msg_2']);
    const both = await readFeed(pool, { ...FEED, domainId: 'dom_1', types: ['message.accepted', 'domain.registered'] });
    expect(both.items.map(({ subjectId }) => subjectId)).toEqual(['dom_1', 'msg_1', 'msg_1']);
    expect((await readFeed(pool, { ...FEED, types: [], after: null })).items).toEqual([]);
  });

  test('shows addresses, tags and replies from the vault, and nothing in their place once they are erased', async () => {
    const { pool } = await openFeed();
    const { items } = await readFeed(pool, { ...FEED, types: ['message.bounced', 'api_key.created'] });
    const withReply = items.map((event) =>
      event.facts.smtp === undefined
        ? event
        : { ...event, facts: { ...event.facts, smtp: { ...event.facts.smtp, replyId: 'reply-1' } } },
    );
    const contents = createInMemoryContents();
    const headsOnly = { heads: contents.heads };
    const erased = await serializeEvents(headsOnly, withReply);
    expect(erased[1]?.data).toMatchObject({
      recipient: { id: 'rcp_1', address: null, kind: null },
      tags: [],
      metadata: {},
      smtp: { text: null },
    });
    const from = { address: 'shop@example.test' };
    await contents.put([
      {
        ...{ id: 'content-1', organizationId: 'org_mine' },
        body: {
          ...{ kind: 'message', messageId: 'msg_1', from, replyTo: [], subject: 's', headers: {}, attachments: [] },
          recipients: [{ id: 'rcp_1', kind: 'cc', address: 'ann@example.net' }],
          ...{ tags: [{ name: 'a', value: 'b' }], metadata: { order: '1' } },
        },
      },
      {
        id: 'reply-1',
        organizationId: 'org_mine',
        body: { kind: 'reply', messageId: 'msg_1', text: 'no <ann@example.net>' },
      },
    ]);
    const [key, bounced] = await serializeEvents(headsOnly, withReply);
    expect(key).toMatchObject({ object: 'event', type: 'api_key.created', data: { api_key_id: 'key_1' } });
    expect(bounced).toEqual({
      ...{
        id: items[1]?.id,
        object: 'event',
        type: 'message.bounced',
        timestamp: NOW,
        environment: 'live',
        sequence: 2,
      },
      data: {
        message_id: 'msg_1',
        recipient: { id: 'rcp_1', address: 'ann@example.net', kind: 'cc' },
        ...{ tags: [{ name: 'a', value: 'b' }], metadata: { order: '1' } },
        smtp: {
          ...{ code: 550, enhanced: null, text: 'no <ann@example.net>', mx: 'mx.example.net', tls: null },
          ...{ cipher: null, policy: null, address: null, stage: null },
        },
        ...{ attempt: 1, reason: 'no such user' },
      },
    });
  });
});
