import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { measureBacklog, measureDeliveries } from '../../../src/composition/start-metrics.ts';
import type { RecipientOutcome } from '../../../src/domain/ports/mail.ts';
import { countOutcomes } from '../../../src/workers/delivery/claim.ts';
import { openDelivering, statuses, until } from '../delivering.ts';

const TTL_SECONDS = 3600;

/** Metric lines as scraped, without comments. */
const linesOf = async (registry: Registry): Promise<readonly string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

const outcome = (name: string, count: number): string => `outbox_delivery_recipients_total{outcome="${name}"} ${count}`;

describe('delivery metrics', () => {
  test('start at 0, and are not registered without a registry', async () => {
    const registry = new Registry();
    measureDeliveries(registry, () => 3);
    const lines = await linesOf(registry);
    expect(lines).toContain('outbox_smtp_sessions 3');
    expect(lines).toContain('outbox_delivery_attempt_duration_seconds_count 0');
    for (const name of [
      'delivered',
      'deferred',
      'bounced',
      'unknown',
      'cancelled',
      'failed',
      'expired',
      'suppressed',
    ]) {
      expect(lines).toContain(outcome(name, 0));
    }
    expect(measureDeliveries(undefined, () => 3)).toBeUndefined();
  });

  test('count recipients of live mail by outcome, without addresses', async () => {
    const registry = new Registry();
    const replies: Record<string, { code: number; text: string }> = {
      nobody: { code: 550, text: '5.1.1 no such user' },
      busy: { code: 451, text: 'try later' },
    };
    const service = await openDelivering({ onRcpt: (address) => replies[address.split('@')[0] ?? ''] ?? null });
    service.workers({ metrics: measureDeliveries(registry, () => 0) }).start();
    const all = ['ann@example.org', 'nobody@example.org', 'busy@example.org'];
    const id = await service.send(all, 'live', 'Hello', { ttlSeconds: TTL_SECONDS });
    const simulated = await service.send('ann@example.org', 'test');
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'bounced', 'deferred']));
    await until(async () => expect(await statuses(service, simulated)).toEqual(['delivered']));
    service.system.shift(TTL_SECONDS * 1000 + 1);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'bounced', 'expired']));
    await until(async () => expect(await linesOf(registry)).toContain(outcome('expired', 1)));
    const lines = await linesOf(registry);
    for (const name of ['delivered', 'bounced', 'deferred']) expect(lines).toContain(outcome(name, 1));
    expect(lines).toContain('outbox_delivery_attempt_duration_seconds_count 1');
    expect(lines.join('\n')).not.toMatch(/example|ann|nobody/);
  });
});

test('recipients are counted by the address of this machine that they were sent from', async () => {
  const registry = new Registry();
  const outcomeFrom = (source: string | undefined, kind: 'delivered' | 'deferred'): RecipientOutcome => ({
    ...{ recipientId: 'rcp_1', outcome: kind, code: 250, enhanced: null, mx: 'mx.test', tls: null, text: 'ok' },
    ...(source !== undefined && { source }),
  });
  const recipientOutcomes = [
    ...[outcomeFrom('127.0.0.2', 'delivered'), outcomeFrom('127.0.0.3', 'deferred')],
    ...[outcomeFrom('127.0.0.2', 'delivered'), outcomeFrom(undefined, 'delivered')],
  ];
  countOutcomes(
    measureDeliveries(registry, () => 0),
    { recipientOutcomes, outcomes: [], tookMs: 1 },
  );
  expect((await linesOf(registry)).filter((line) => line.startsWith('outbox_source_recipients_total'))).toEqual([
    'outbox_source_recipients_total{source="127.0.0.2",outcome="delivered"} 2',
    'outbox_source_recipients_total{source="127.0.0.3",outcome="deferred"} 1',
  ]);
});

test('the backlog is queried once per scrape', async () => {
  const registry = new Registry();
  let looks = 0;
  measureBacklog(registry, async () => {
    looks += 1;
    return {
      waiting: { due: 4, scheduled: 3, deferred: 2, held: 1 },
      oldestDueSeconds: 1.5,
      suspendedDestinations: 7,
    };
  });
  expect(looks).toBe(0);
  const lines = await linesOf(registry);
  expect(looks).toBe(1);
  expect(lines).toEqual([
    'outbox_deliveries_waiting{reason="due"} 4',
    'outbox_deliveries_waiting{reason="scheduled"} 3',
    'outbox_deliveries_waiting{reason="deferred"} 2',
    'outbox_deliveries_waiting{reason="held"} 1',
    'outbox_deliveries_oldest_due_age_seconds 1.5',
    'outbox_destinations_suspended 7',
  ]);
});
