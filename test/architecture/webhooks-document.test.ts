import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CUSTOMER_EVENT_TYPES } from '../../src/domain/customer-events/customer-event-types.ts';
import { signWebhook, webhookRetryWaitMs } from '../../src/domain/webhook/webhook.ts';
import { EVENT_EXAMPLE } from '../../src/http/openapi/schemas.ts';
import { eventSchema } from '../../src/http/resources/events/event.ts';
import { WEBHOOK_TIMES } from '../../src/workers/webhooks/post-once.ts';

const source = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
const blockOf = (language: string): string => source.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '';
const text = source.replaceAll(/\s+/g, ' ');

type Verify = (secret: string, headers: object, body: string) => unknown;
const { verify } = (await import(`data:text/javascript,${encodeURIComponent(blockOf('js'))}`)) as { verify: Verify };

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
const body = blockOf('json');
const signed = (secrets: readonly string[], at = new Date()) => signWebhook(secrets, { id: 'evt_1', at, body });

test('the snippet in docs/webhooks.md accepts what the service signs, with any of several secrets', () => {
  expect(verify(SECRET, signed([SECRET]), body)).toEqual(JSON.parse(body));
  expect(verify(SECRET, signed([OTHER, SECRET]), body)).toEqual(JSON.parse(body));
});

test('it rejects posts that are changed, from another service, unsigned or old', () => {
  const headers = signed([SECRET]);
  expect(() => verify(SECRET, headers, `${body} `)).toThrow('no signature matches');
  expect(() => verify(SECRET, { ...headers, 'webhook-id': 'evt_2' }, body)).toThrow('no signature matches');
  expect(() => verify(OTHER, headers, body)).toThrow('no signature matches');
  expect(() => verify(SECRET, { ...headers, 'webhook-signature': undefined }, body)).toThrow('no signature matches');
  expect(() => verify(SECRET, signed([SECRET], new Date(Date.now() - 400_000)), body)).toThrow('not current');
  expect(() => verify(SECRET, {}, body)).toThrow('not current');
});

const UNITS = [
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;
const duration = (ms: number): string => {
  const [unit, name] = UNITS.find(([size]) => ms >= size) ?? [1, 'ms'];
  return `${ms / unit} ${name}`;
};

test('the document states the time-out, the retry delays and the events of the code', () => {
  const waits = Array.from({ length: 10 }, (_, index) => duration(webhookRetryWaitMs(index + 1, 0.5, null) ?? 0));
  expect(webhookRetryWaitMs(11, 0.5, null)).toBeNull();
  expect(text).toContain(`retried after ${waits.join(', ')}, each ±10 %`);
  expect(text).toContain(`Any 2xx within ${duration(WEBHOOK_TIMES.postMs)} is success`);
  for (const type of CUSTOMER_EVENT_TYPES) expect(text).toContain(`\`${type}\``);
});

test('its example and the one in the OpenAPI document are valid events', () => {
  for (const example of [JSON.parse(body), EVENT_EXAMPLE])
    expect(eventSchema.safeParse(example).error?.issues ?? []).toEqual([]);
});
