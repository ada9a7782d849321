import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../support/service.ts';

const LIMIT = 3;

let service: Service;
let organizationId: string;
let domainId: string;

beforeAll(async () => {
  service = await startService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
});
afterAll(() => service.close());

const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', text: 'Hello' };
const messages = (count: number) => ({ messages: Array.from({ length: count }, () => MESSAGE) });

const limitedKey = async (permissions: readonly ('send' | 'read')[] = ['send']): Promise<string> =>
  (await service.makeKey(organizationId, domainId, { permissions, rateLimits: { send: LIMIT } })).value;

const post = async (key: string, payload: object, path = 'batch') => {
  const answer = await service.request({ method: 'POST', url: `/v1/messages/${path}`, key, payload });
  return { status: answer.statusCode, headers: answer.headers, error: answer.json().error };
};

const useUp = async (key: string): Promise<void> => {
  for (let sent = 0; sent < LIMIT; sent += 1) expect((await post(key, MESSAGE, 'send')).status).toBe(202);
  expect((await post(key, MESSAGE, 'send')).status).toBe(429);
};

test('a batch larger than the whole limit is 422, even if none of the limit is used', async () => {
  const key = await limitedKey();
  const refusal = {
    code: 'batch_exceeds_limit',
    details: { messages: ['messages must have at most 3 items: this is how many the key may send per minute'] },
  };
  const fresh = await post(key, messages(LIMIT + 1));
  expect(fresh).toMatchObject({ status: 422, error: refusal });
  const used = await limitedKey();
  await useUp(used);
  const late = await post(used, messages(LIMIT + 1));
  expect(late).toMatchObject({ status: 422, error: refusal });
  expect(late.error.retry_after).toBeUndefined();
});

test('a batch that would fit later is 429 when the limit is used up, even if it is malformed', async () => {
  const key = await limitedKey();
  await useUp(key);
  for (const payload of [messages(LIMIT), messages(1), { messages: 'none' }, {}]) {
    const { status, headers, error } = await post(key, payload);
    expect([status, error.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(headers['retry-after']).toBe(String(error.retry_after));
    expect(headers['ratelimit-remaining']).toBe('0');
  }
});

test('a key without the send permission gets that error, not the limit', async () => {
  const { status, error } = await post(await limitedKey(['read']), messages(LIMIT + 1));
  expect([status, error.code]).toEqual([403, 'permission_missing']);
});
