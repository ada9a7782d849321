import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { longestTurnMs } from '../../../support/longest-turn.ts';
import { slowness } from '../../../support/slowness.ts';
import { type Service, startService } from '../../support/service.ts';

/** The median of five rounds counts: the first one compiles shared code. */
const ROUNDS = 5;
const TURN_MS_MAX = 50;

let service: Service;
let key: string;

beforeAll(async () => {
  // Responses are not checked against the document: the check would run in the same turn of the event loop.
  service = await startService({}, () => undefined);
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
});
afterAll(() => service.close());

const PARAGRAPHS = '<p>Thank you for your order, which is <b>on its way</b>.</p>'.repeat(10);
/** About 2 kB each, mostly addresses, which take longest to process. */
const messages = Array.from({ length: 500 }, (_, index) => ({
  from: 'Shop <shop@example.test>',
  to: Array.from({ length: 40 }, (_one, place) => `Customer ${place} <customer-${index}-${place}@example.org>`),
  subject: `Order ${index}`,
  html: PARAGRAPHS,
  headers: { 'X-Order': String(index) },
  tags: [{ name: 'kind', value: 'order' }],
  metadata: { order: String(index) },
}));

const send = async (payload: string, headers: Record<string, string>): Promise<void> => {
  const answer = await service.request({
    method: 'POST',
    url: '/v1/messages/batch',
    key,
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  });
  expect([answer.statusCode, answer.json().accepted]).toEqual([202, 500]);
};

describe('a batch of 500 messages in 1 MB', () => {
  test.each([
    ['without a key', () => ({})],
    ['with an Idempotency-Key', (round: number) => ({ 'idempotency-key': `turns ${round}` })],
  ])(`%s never blocks the event loop for ${TURN_MS_MAX} ms`, async (_what, headersOf) => {
    const payload = JSON.stringify({ messages });
    expect(payload.length).toBeGreaterThan(1_000_000);
    const turns: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      turns.push(await longestTurnMs(() => send(payload, headersOf(round))));
    }
    const [, , median = Number.POSITIVE_INFINITY] = turns.toSorted((left, right) => left - right);
    expect(median / slowness()).toBeLessThan(TURN_MS_MAX);
  });
});
