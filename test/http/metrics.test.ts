import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createMetricsServer } from '../../src/http/metrics.ts';
import { startService } from './support/service.ts';

test('the metrics server exports lag by projection and durations by route, never by path', async () => {
  const registry = new Registry();
  const lag = async () => [{ name: 'messages', seconds: 1.5, parkedEvents: 2, position: '1' }];
  const readModels = { lag, rebuilds: async () => [{ name: 'events', part: 0.25 }] };
  const service = await startService({ registry });
  const metrics = createMetricsServer({ registry, readModels, version: '1.2.3' }).listen(0, '127.0.0.1');
  await once(metrics, 'listening');
  await service.request({ url: '/v1/messages/msg_secret' });
  const { port } = metrics.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  expect(answer.headers.get('content-type')).toBe(registry.contentType);
  expect(text).toContain('outbox_projection_lag_seconds{projection="messages"} 1.5');
  expect(text).toContain('outbox_projection_events_parked{projection="messages"} 2');
  expect(text).toContain('outbox_projection_rebuild_ratio{projection="events"} 0.25');
  expect(text).toContain(
    'outbox_http_request_duration_seconds_count{method="GET",route="/v1/messages/:id",status="401"} 1',
  );
  expect(text).not.toContain('msg_secret');
  const alive = await fetch(`http://127.0.0.1:${port}/livez`);
  expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok', version: '1.2.3' }]);
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
  metrics.close();
  metrics.closeAllConnections();
  await service.close();
});

test('a scrape leaves out what the database does not answer, and has the rest', async () => {
  const registry = new Registry();
  const away = () => Promise.reject(new Error('away'));
  const metrics = createMetricsServer({ registry, readModels: { lag: away, rebuilds: away }, version: '1.2.3' });
  const text = await registry.metrics();
  expect(text).toContain('process_cpu_seconds_total');
  expect(text).not.toMatch(/^outbox_projection_\w+(?:\{.*\})? /m);
  metrics.close();
});
