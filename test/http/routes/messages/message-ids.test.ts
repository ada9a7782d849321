import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { timeInId } from '../../../../src/domain/kernel/ids.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
});
afterAll(() => service.close());

const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };
const HOUR_MS = 3_600_000;

const post = async (url: string, payload: object, headers: Record<string, string> = {}) =>
  (await service.request({ method: 'POST', url, key, payload, headers })).json();

describe('the id of a message', () => {
  test('begins with the time', async () => {
    const fromMs = Date.now();
    const sent = await post('/v1/messages/send', MESSAGE);
    const { data } = await post('/v1/messages/batch', { messages: [MESSAGE, MESSAGE] });
    const untilMs = Date.now();
    const ids: readonly string[] = [sent.id, ...data.map(({ id }: { id: string }) => id)];
    for (const id of ids) {
      expect(timeInId(id)).toBeGreaterThanOrEqual(fromMs);
      expect(timeInId(id)).toBeLessThanOrEqual(untilMs);
    }
    expect(new Set(ids).size).toBe(3);
  });

  test('follows from the idempotency key alone: a repeat comes later', async () => {
    const sent = await post('/v1/messages/send', MESSAGE, { 'idempotency-key': 'order 17' });
    const { data } = await post('/v1/messages/batch', { messages: [MESSAGE] }, { 'idempotency-key': 'orders' });
    for (const id of [sent.id, data[0].id]) expect(Math.abs(timeInId(id) - Date.now())).toBeGreaterThan(HOUR_MS);
  });
});
