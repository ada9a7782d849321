import { describe, expect, test } from 'vitest';
import type { ReceiveInbound } from '../../../src/domain/inbound/inbound.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { WebhookEvent } from '../../../src/domain/kernel/events.ts';
import type { WebhookFilters } from '../../../src/domain/webhook/events.ts';
import { createEndpoints, createReadyEndpoints, owedBy } from '../../../src/workers/webhooks/endpoints.ts';
import { keyCreated } from '../../support/controls/api-key.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { contextAt, NOW, recordedAs } from '../../support/specification.ts';

type Environment = 'live' | 'test';

const recorded = (event: WebhookEvent, organizationId = 'org_mine', environment: Environment = 'live') =>
  recordedAs(
    event,
    { id: `evt_${event.data.webhookId}_${event.type}`, stream: `webhook-${event.data.webhookId}` },
    { ...contextAt(NOW, organizationId), environment },
  ) as RecordedEvent;

const registered = (
  webhookId: string,
  events: readonly string[],
  more: { readonly environment?: Environment; readonly filters?: WebhookFilters } = {},
): WebhookEvent => ({
  type: 'WebhookRegistered',
  data: {
    webhookId,
    environment: 'live',
    url: 'https://a.test',
    events: [...events],
    description: null,
    secretId: 's',
    ...more,
  },
});

const PAUSED = (webhookId: string): WebhookEvent => ({ type: 'WebhookPaused', data: { webhookId, keyId: 'key_1' } });
const DISABLED = (webhookId: string): WebhookEvent => ({
  type: 'WebhookDisabled',
  data: { webhookId, reason: 'failing' },
});
const ENABLED = (webhookId: string): WebhookEvent => ({ type: 'WebhookEnabled', data: { webhookId } });
const DELETED = (webhookId: string): WebhookEvent => ({ type: 'WebhookDeleted', data: { webhookId } });
const PINGED = (webhookId: string): WebhookEvent => ({ type: 'WebhookPinged', data: { webhookId } });

const open = (...events: readonly WebhookEvent[]) => {
  const endpoints = createEndpoints();
  for (const event of events) endpoints.apply(recorded(event));
  return {
    endpoints,
    /** Ids of the endpoints that are owed these events. */
    owed: async (...more: readonly RecordedEvent[]): Promise<readonly string[]> =>
      (await owedBy(createInMemoryContents(), endpoints, more)).owed.map(({ webhookId }) => webhookId),
  };
};

const received = (
  more: Partial<ReceiveInbound> = {},
  environment: Environment = 'live',
  organizationId = 'org_mine',
): RecordedEvent =>
  recordedAs(
    {
      type: 'InboundReceived',
      data: {
        ...{ inboundId: 'inb_1', domainId: 'dom_1', contentId: 'content-1', rawId: 'content-2', bytes: 10 },
        ...{ sha256: 'ab', toDigest: 'd', fromDigests: [], routeId: null, action: 'webhook', webhookId: null },
        verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
        inReplyToMessageId: null,
        ...more,
      },
    },
    { id: '0198f5a4-0000-7000-8000-000000000009', stream: 'inbound-inb_1' },
    { ...contextAt(NOW, organizationId), environment },
  ) as RecordedEvent;

describe('an endpoint and received mail', () => {
  const ofDomain = (id: string): WebhookFilters => ({ domains: [{ id, name: `${id}.test` }], tags: [] });
  const some = () =>
    open(
      registered('subscribed', ['inbound.received']),
      registered('named', ['domain.*'], { filters: { domains: [], tags: ['kind:receipt'] } }),
      registered('mine', ['inbound.*'], { filters: ofDomain('dom_1') }),
      registered('elsewhere', ['inbound.*'], { filters: ofDomain('dom_2') }),
      registered('test', ['inbound.*'], { environment: 'test' }),
    );

  test('without a named endpoint goes to all that subscribe to it', async () => {
    expect(await some().owed(received())).toEqual(['subscribed', 'mine']);
    expect(await some().owed(received({}, 'test'))).toEqual(['test']);
    expect(await some().owed(received({}, 'live', 'org_other'))).toEqual([]);
  });

  test('goes only to the endpoint that its route names, even if it does not subscribe', async () => {
    expect(await some().owed(received({ webhookId: 'named' }))).toEqual(['named']);
    expect(await some().owed(received({ webhookId: 'named' }, 'test'))).toEqual([]);
    expect(await some().owed(received({ webhookId: 'deleted' }))).toEqual([]);
  });

  test('is posted nowhere with the action store', async () => {
    expect(await some().owed(received({ action: 'store' }))).toEqual([]);
  });
});

describe('an endpoint', () => {
  test('is owed events while it is enabled or paused, and gets posts while it is enabled', async () => {
    const { endpoints } = open(registered('a', ['webhook.*']));
    const seen = () => [
      endpoints.get('a')?.status,
      [...endpoints.enabled()].length,
      endpoints.hasAny('org_mine'),
      [...endpoints.of('org_mine')].map(({ status }) => status),
    ];
    expect(seen()).toEqual(['enabled', 1, true, ['enabled']]);
    endpoints.apply(recorded(PAUSED('a')));
    expect(seen()).toEqual([undefined, 0, true, ['paused']]);
    endpoints.apply(recorded(ENABLED('a')));
    expect(seen()).toEqual(['enabled', 1, true, ['enabled']]);
    endpoints.apply(recorded(DISABLED('a')));
    expect(seen()).toEqual([undefined, 0, false, []]);
    endpoints.apply(recorded(ENABLED('a')));
    expect(seen()).toEqual(['enabled', 1, true, ['enabled']]);
    endpoints.apply(recorded(DELETED('a')));
    expect(seen()).toEqual([undefined, 0, false, []]);
  });

  test('keeps its settings while it is paused or disabled', () => {
    for (const end of [PAUSED, DISABLED]) {
      const { endpoints } = open(registered('a', ['webhook.*']), end('a'), ENABLED('a'));
      expect(endpoints.get('a')).toMatchObject({ url: 'https://a.test', events: ['webhook.*'] });
    }
  });

  test('is owed events of its own organization and environment, and those of no environment', async () => {
    const { owed, endpoints } = open(
      registered('live', ['webhook.*', 'api_key.*']),
      registered('test', ['webhook.*', 'api_key.*'], { environment: 'test' }),
    );
    endpoints.apply(recorded(registered('other', ['webhook.*', 'api_key.*']), 'org_other'));
    const disabled = recorded(registered('new', []), 'org_mine', 'live');
    expect(await owed(disabled)).toEqual(['live']);
    const keyEvent = recordedAs(
      keyCreated(),
      { id: 'evt_key', stream: 'apiKey-key_1' },
      { ...contextAt(NOW), environment: null },
    ) as RecordedEvent;
    expect([...(await owed(keyEvent))].sort()).toEqual(['live', 'test']);
  });

  test('gets its own pings alone, whatever its filters and subscriptions', async () => {
    const filters = { domains: [{ id: 'dom_none', name: 'none.test' }], tags: ['none:none'] };
    const { owed } = open(registered('a', ['message.*'], { filters }), registered('b', ['webhook.*']));
    expect(await owed(recorded(PINGED('a')))).toEqual(['a']);
    expect(await owed(recorded(PINGED('b')))).toEqual(['b']);
  });

  test('with a filter by tags is owed no event without tags', async () => {
    const { owed } = open(
      registered('tagged', ['webhook.*'], { filters: { domains: [], tags: ['kind:receipt'] } }),
      registered('all', ['webhook.*']),
    );
    expect(await owed(recorded(registered('new', [])))).toEqual(['all']);
  });

  test('with a filter by domains is owed events about the domain itself', async () => {
    const filters = { domains: [{ id: 'dom_1', name: 'a.test' }], tags: [] };
    const { owed } = open(registered('a', ['domain.*'], { filters }));
    const domain = (domainId: string): RecordedEvent =>
      recordedAs(
        { type: 'DomainRegistered', data: { domainId, name: 'a.test', token: 't', dkim: [] } },
        { id: `evt_${domainId}`, stream: `domain-${domainId}` },
        contextAt(NOW),
      ) as RecordedEvent;
    expect(await owed(domain('dom_1'))).toEqual(['a']);
    expect(await owed(domain('dom_2'))).toEqual([]);
  });
});

describe('endpoints that are ready', () => {
  const of = (organizationId: string, ...ids: readonly string[]) =>
    ids.map((webhookId) => ({ webhookId, organizationId }));
  const idsIn = (taken: readonly { readonly webhookId: string }[]) => taken.map(({ webhookId }) => webhookId);

  test('are taken in turns of their organizations, up to both limits, each once', () => {
    const ready = createReadyEndpoints();
    ready.add([...of('one', 'a', 'b', 'c', 'd'), ...of('two', 'e'), ...of('one', 'a'), ...of('three', 'f', 'g')]);
    const limits = { total: 4, perOrganization: 2 };
    expect(idsIn(ready.take(limits))).toEqual(['a', 'b', 'e', 'f']);
    ready.add(of('two', 'h'));
    expect(idsIn(ready.take({ total: 2, perOrganization: 1 }))).toEqual(['c', 'g']);
    expect(idsIn(ready.take(limits))).toEqual(['h', 'd']);
    expect(ready.take(limits)).toEqual([]);
  });

  test('an organization that has been served waits for the others', () => {
    const ready = createReadyEndpoints();
    ready.add([...of('one', 'a', 'b'), ...of('two', 'c', 'd')]);
    const one = { total: 1, perOrganization: 1 };
    expect([1, 2, 3, 4].flatMap(() => idsIn(ready.take(one)))).toEqual(['a', 'c', 'b', 'd']);
  });

  test('wake a caller that waits, and again only when there are others', async () => {
    const ready = createReadyEndpoints();
    let wakes = 0;
    const wait = () =>
      ready.wait().then(() => {
        wakes += 1;
      });
    const waiting = wait();
    ready.add([]);
    await Promise.resolve();
    expect(wakes).toBe(0);
    ready.add(of('one', 'a'));
    await waiting;
    ready.take({ total: 10, perOrganization: 10 });
    const later = wait();
    await Promise.resolve();
    expect(wakes).toBe(1);
    ready.add(of('one', 'a'));
    await later;
    expect(wakes).toBe(2);
  });
});
