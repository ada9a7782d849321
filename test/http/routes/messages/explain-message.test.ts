import type { LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { suspendDestination } from '../../../../src/commands/destination.ts';
import { claimAttempt, recordAttempt } from '../../../../src/commands/message/attempt.ts';
import { customerEvents } from '../../../../src/domain/customer-events/customer-events.ts';
import { LOG_START } from '../../../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../../../src/domain/kernel/streams.ts';
import type { AttemptOutcome } from '../../../../src/domain/message/attempt.ts';
import { deliveryId, type WebhookDeliveries } from '../../../../src/domain/ports/webhooks.ts';
import type { Explanation } from '../../../../src/http/resources/messages/explain/explanation.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { type Service, startService } from '../../support/service.ts';

let database: DatabaseService;
let service: Service;
const keys: Record<string, string> = {};

/** Lookups of these domains never end or always fail. */
const providerOf = async (domain: string): Promise<string> => {
  if (domain === 'nobody-answers.org') return new Promise(() => undefined);
  if (domain === 'broken.org') throw new Error('SERVFAIL');
  return `operator.${domain}`;
};

beforeAll(async () => {
  database = await startDatabaseService();
  service = await startService({ ...database.deps, providerOf });
  const own = await service.makeOrganization();
  const domain = await service.makeDomain(own, 'example.test');
  const foreign = await service.makeOrganization();
  const make = async (name: string, ...args: Parameters<Service['makeKey']>): Promise<void> => {
    keys[name] = (await service.makeKey(...args)).value;
  };
  await make('admin', own, domain, { name: 'Shop' });
  await make('reader', own, domain, { permissions: ['read'] });
  await make('sender', own, domain, { permissions: ['send'] });
  await make('elsewhere', own, await service.makeDomain(own, 'second.test'), { permissions: ['read'] });
  await make('test', own, domain, { environment: 'test' });
  await make('foreign', foreign, await service.makeDomain(foreign, 'foreign.test'));
});
afterAll(async () => {
  await service.server.close();
  await database.close();
});

const send = async (more: object = {}, headers: Record<string, string> = {}, by = 'admin'): Promise<string> => {
  const mail = { from: 'a@example.test', to: ['ada@example.org', 'bob@example.org'], subject: 'Order', text: 'Thanks' };
  const payload = { ...mail, ...more };
  const key = keys[by] ?? '';
  const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key, headers, payload });
  expect(answer.statusCode).toBe(202);
  return answer.json().id;
};
const ask = (id: string, by = 'reader'): Promise<LightMyRequestResponse> =>
  service.request({ url: `/v1/messages/${id}/explain`, key: keys[by] ?? '' });
const explain = async (id: string, by?: string): Promise<Explanation> => {
  const answer = await ask(id, by);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json();
};

const smtp = (code: number, replyId: string) => ({
  code,
  enhanced: code === 250 ? '2.0.0' : '4.7.1',
  mx: 'mx.example.org',
  address: '192.0.2.7',
  replyId,
  ...({ tls: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384', policy: 'opportunistic', stage: 'recipient' } as const),
});

/** Makes one attempt for the recipients that are due. @param said the code and text for each in turn. */
const attempt = async (messageId: string, ...said: (readonly [code: number, text: string])[]): Promise<void> => {
  const { context } = service.deps;
  const claimed = await claimAttempt(context, { messageId, leaseMs: 60_000, random: 0.5 });
  if (!claimed.claimed) throw new Error('it could not be claimed');
  const { message, recipientIds } = claimed;
  const ids = said.map(() => context.system.uuid());
  const outcomes = said.map(([code], index): AttemptOutcome => {
    const about = { recipientId: recipientIds[index] ?? '', smtp: smtp(code, ids[index] ?? '') };
    return code === 250
      ? { ...about, outcome: 'delivered' }
      : { ...about, outcome: 'deferred', reason: 'the mail server may accept it later', retryAfterSeconds: 1 };
  });
  const replies = said.map(([, text], index) => ({
    id: ids[index] ?? '',
    organizationId: message.state.organizationId,
    body: { kind: 'reply' as const, messageId, text },
  }));
  await recordAttempt(context, { message, attempt: message.state.attempts, outcomes, replies, random: 0.5 });
};

/**
 * Records webhook deliveries for the message: the first attempt of the first one fails, the others are still pending.
 */
const post = async (messageId: string, webhookId: string): Promise<void> => {
  const { store, system } = service.deps.context;
  const deliveries = service.deps.webhookDeliveries as WebhookDeliveries; // the in-memory implementation is complete
  const events = (await store.readStream(messageStream(messageId))).flatMap(customerEvents);
  const owed = events.map((event) => ({ id: deliveryId(webhookId, event.id), webhookId, event }));
  const recording = { logId: await store.logId(), from: null, to: `${LOG_START}1`, owed, now: system.now() };
  expect(await deliveries.record(recording)).toBe(true);
  const request = { url: 'https://example.com/hook', headerNames: [], bodyBytes: 2, bodySha256: 'ab'.repeat(32) };
  const at = system.now();
  const tried = { deliveryId: owed[0]?.id ?? '', at, request, durationMs: 12, text: '', dueAt: at };
  await deliveries.finish([{ ...tried, attempt: 1, status: 500, state: 'pending' }]);
  await deliveries.finish([{ ...tried, attempt: 2, status: 200, state: 'delivered' }]);
};

const sentences = ({ steps }: Explanation): readonly string[] => steps.map(({ sentence }) => sentence);

describe('GET /v1/messages/{id}/explain', () => {
  test('explains the whole chain: request, key, checks, attempts, replies, waits and webhooks', async () => {
    const hook = await service.request({
      method: 'POST',
      url: '/v1/webhooks',
      key: keys.admin ?? '',
      payload: { url: 'http://127.0.0.1:9/', events: ['message.*'] },
    });
    const webhookId = hook.json().id;
    await service.request({ url: '/v1/webhooks', key: keys.admin ?? '' });
    const id = await send({ html: '<p>Thanks</p>', analysis: 'warn' }, { 'idempotency-key': 'order-1' });
    await attempt(id, [250, 'OK'], [451, 'Greylisted, try later']);

    const waiting = await explain(id);
    expect(waiting).toMatchObject({ object: 'explanation', message_id: id, left_out: null });
    expect(waiting.waiting_because).toMatchObject([
      { recipient: { address: 'bob@example.org' }, reason: 'greylisted', next_attempt_at: expect.any(String) },
    ]);
    expect(waiting.summary).toMatch(
      /^2 recipients: 1 delivered and 1 waiting\. Deferred for bob@example\.org: mx\.example\.org .*Next attempt at/,
    );

    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await attempt(id, [250, 'OK now']);
    await post(id, webhookId);

    const done = await explain(id);
    expect(done.waiting_because).toEqual([]);
    expect(done.summary).toMatch(/^All 2 recipients: delivered\. Last outcome at /);
    const types = done.steps.slice(0, 11).map(({ type }) => type);
    expect(types.join(' ')).toBe(
      'requested key_checked domain_checked html_checked analyzed accepted ' +
        'attempt_started delivered deferred attempt_started delivered',
    );
    expect(sentences(done).slice(0, 6)).toEqual([
      expect.stringMatching(/^Request req_[0-9a-f]{32} came from API key key_\w+ with an Idempotency-Key\./),
      expect.stringMatching(/^API key "Shop" \(key_\w+\) is valid/),
      expect.stringMatching(/^Domain example\.test was verified at .* automatically: mail is captured/),
      'The HTML was checked and is valid.',
      expect.stringMatching(/^Content analysis: \d+ of 100 points/),
      expect.stringMatching(/^Accepted for ada@example\.org and bob@example\.org as transactional mail/),
    ]);
    expect(done.steps[8]).toMatchObject({
      sentence: expect.stringMatching(
        /^Deferred for bob@example\.org: mx\.example\.org \(192\.0\.2\.7\) asked to try again later \(451 4\.7\.1 "Greylisted, try later", in reply to the recipient\)\. Next attempt at .* The connection was encrypted \(opportunistic TLS\), by TLSv1\.3 with TLS_AES_256_GCM_SHA384\.$/,
      ),
      facts: { attempt: 1, smtp: { text: 'Greylisted, try later', tls: 'TLSv1.3' } },
    });
    const tried = done.steps.filter(({ type }) => type === 'webhook_tried');
    expect(tried.map(({ sentence }) => sentence)).toEqual([
      `Posted message.accepted for ada@example.org to endpoint ${webhookId}: response 500 after 12 ms.`,
      `Posted message.accepted for ada@example.org to endpoint ${webhookId}: response 200 after 12 ms.`,
    ]);
    expect(done.steps.filter(({ type }) => type === 'webhook_owed')).toHaveLength(7);
  });

  test('says who cancelled it, and what a test key sends', async () => {
    const id = await send({ scheduled_at: new Date(Date.now() + 3_600_000).toISOString() }, {}, 'test');
    expect((await explain(id, 'test')).waiting_because).toMatchObject([
      { reason: 'scheduled' },
      { reason: 'scheduled' },
    ]);
    await service.request({ method: 'POST', url: `/v1/messages/${id}/cancel`, key: keys.test ?? '' });
    const { summary, steps } = await explain(id, 'test');
    expect(summary).toMatch(
      /^All 2 recipients: cancelled\. Cancelled for ada@example\.org and bob@example\.org by API key key_\w+\.$/,
    );
    expect(steps.at(-1)).toMatchObject({ type: 'cancelled', actor: { type: 'key' } });
    expect(steps[1]?.sentence).toContain('nothing is sent');
  });

  test('reports a suspended destination, and leaves it out if the DNS does not answer in time', async () => {
    const until = new Date(Date.now() + 600_000).toISOString();
    await suspendDestination(service.deps.context, {
      operator: 'operator.example.com',
      domain: 'example.com',
      reason: 'busy',
      code: 421,
      enhanced: null,
      mx: 'mx.example.com',
      times: 1,
      until,
    });
    const to = ['a@example.com', 'b@nobody-answers.org', 'c@broken.org', 'd@example.org'];
    const begun = Date.now();
    const { waiting_because: waits } = await explain(await send({ to }));
    expect(waits.map(({ reason }) => reason)).toEqual(['destination_suspended', 'due_now', 'due_now', 'due_now']);
    expect(waits[0]).toMatchObject({ next_attempt_at: until });
    expect(Date.now() - begun).toBeLessThan(5_000);
  });

  test('shows no address once the contents are gone', async () => {
    const { contents } = service.deps.context;
    const nothing = { ...contents, get: async () => new Map(), heads: async () => new Map() };
    const id = await send();
    const context = { ...service.deps.context, contents: nothing };
    const without = await startService({ ...database.deps, context });
    const answer = await without.request({ url: `/v1/messages/${id}/explain`, key: keys.reader ?? '' });
    await without.server.close();
    expect(answer.statusCode).toBe(200);
    expect(answer.body).not.toContain('@');
    expect(answer.json().waiting_because[0].recipient.address).toBeNull();
  });

  test('is answered while webhook deliveries cannot be read, and says so', async () => {
    const id = await send();
    const away = async (): Promise<never> => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const { readModels } = database.deps;
    const without = await startService({
      ...database.deps,
      readModels: { ...readModels, webhooks: { list: away, count: away, endpointsOf: away } },
    });
    const answer = await without.request({ url: `/v1/messages/${id}/explain`, key: keys.reader ?? '' });
    await without.server.close();
    expect(answer.json()).toMatchObject({
      left_out: 'Webhook attempts are omitted: they cannot be read right now.',
      waiting_because: [{ reason: 'due_now' }, { reason: 'due_now' }],
    });
  });

  test('is not found for another environment and another domain, and refused to others', async () => {
    const id = await send();
    const refusal = async (by: string, of = id): Promise<unknown[]> => {
      const answer = await ask(of, by);
      return [answer.statusCode, answer.json().error?.code];
    };
    expect(await refusal('test')).toEqual([404, 'not_found']);
    expect(await refusal('elsewhere')).toEqual([404, 'not_found']);
    expect(await refusal('foreign')).toEqual([403, 'other_organization']);
    expect(await refusal('sender')).toEqual([403, 'permission_missing']);
    for (const none of [`msg_${'a'.repeat(26)}`, 'msg_1', '%00', '%0d%0a', 'a'.repeat(2000)]) {
      expect(await refusal('reader', none)).toEqual([404, 'not_found']);
    }
    expect((await service.request({ url: `/v1/messages/${id}/explain?x=1`, key: keys.reader ?? '' })).statusCode).toBe(
      400,
    );
  });
});
