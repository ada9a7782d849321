import { describe, expect, test } from 'vitest';
import { createTopicTenant } from '../../support/topic-tenant.ts';

const { ask, make, send, outcomeOf, page, other } = createTopicTenant();

describe('an opt-in that the sender records', () => {
  const optIn = (topic: string, ...addresses: readonly string[]) =>
    ask('POST', `/v1/topics/${topic}/opt-ins`, { addresses });
  const listed = async (topic: string, query = '') => (await ask('GET', `/v1/topics/${topic}/opt-ins${query}`)).body;
  const free = { transactional: false, bulk: false };

  test('has mail about the topic sent, and is recorded each time: an earlier unsubscription may reach the list later', async () => {
    const topic = await make({ default: 'out' });
    const [asked, other] = ['opted@example.net', 'stranger@example.net'];
    const { status, body } = await optIn(topic, asked, asked.toUpperCase());
    expect([status, body]).toEqual([
      200,
      {
        object: 'topic_opt_ins',
        topic_id: topic,
        added: 1,
        unchanged: 0,
        data: [{ address: asked, suppressed: free }],
      },
    ]);
    expect((await optIn(topic, asked)).body).toMatchObject({ added: 0, unchanged: 1 });
    expect(await outcomeOf((await send(asked, topic)).id)).toBe('AttemptStarted');
    expect(await outcomeOf((await send(other, topic)).id)).toContain('has not opted in');
    const check = async (address: string) => (await ask('GET', `/v1/suppressions/check?address=${address}`)).body;
    expect(await check(asked)).toMatchObject({ opted_in: [topic], suppression: null });
    expect((await check(other)).opted_in).toEqual([]);
    const feed = (await ask('GET', '/v1/events?types=suppression.resubscribed')).body.data;
    expect(feed.filter(({ data }: { data: { topic_id: string } }) => data.topic_id === topic)).toHaveLength(2);
  });

  test('undoes a refusal of that topic only, and a later refusal undoes it', async () => {
    const [topic, tips] = [await make({ default: 'out' }), await make()];
    const address = 'changes@example.net';
    const refuse = (id: string) => page(`/preferences/${token}`, { action: 'save', shown: [id], topic: [] });
    await optIn(topic, address);
    const { token } = await send(address);
    await refuse(tips);
    await refuse(topic);
    expect(await outcomeOf((await send(address, topic)).id)).toContain('unsubscribed');
    expect((await optIn(topic, address)).body).toMatchObject({ added: 1, data: [{ suppressed: free }] });
    expect(await outcomeOf((await send(address, topic)).id)).toBe('AttemptStarted');
    expect(await outcomeOf((await send(address, tips)).id)).toContain('unsubscribed');
    await ask('POST', '/v1/suppressions', { address, scope: 'topic', topic_id: topic });
    expect(await outcomeOf((await send(address, topic)).id)).toContain('suppressed');
  });

  test('overrides nothing that blocks all mail to the address, and says so', async () => {
    const topic = await make({ default: 'out' });
    const address = 'listed@example.net';
    await ask('POST', '/v1/suppressions', { address, scope: 'bulk' });
    const { data } = (await optIn(topic, address)).body;
    expect(data).toEqual([{ address, suppressed: { transactional: false, bulk: true } }]);
    expect(await outcomeOf((await send(address, topic)).id)).toContain('suppressed');
  });

  test('is listed with its evidence, the latest first, by pages and by address, until it is refused', async () => {
    const topic = await make({ default: 'out' });
    const url = `/v1/topics/${topic}/opt-ins`;
    const evidence = 'At the shop, <3 May>';
    await ask('POST', url, { addresses: ['first@list.test'], evidence });
    await optIn(topic, 'second@list.test');
    await optIn(await make({ default: 'out' }), 'elsewhere@list.test');
    const { token, id } = await send('third@list.test');
    await page(`/preferences/${token}`, { action: 'save', shown: [topic], topic: [topic] });
    const all = await listed(topic);
    expect(all.data).toMatchObject([
      { object: 'topic_opt_in', topic_id: topic, address: 'third@list.test', by: 'recipient', message_id: id },
      { address: 'second@list.test', by: 'sender', evidence: null, message_id: null, recipient_id: null },
      { address: 'first@list.test', by: 'sender', evidence, opted_in_at: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
    const start = await listed(topic, '?limit=2');
    expect([start.has_more, start.data]).toEqual([true, all.data.slice(0, 2)]);
    expect((await listed(topic, `?limit=2&after=${start.next_cursor}`)).data).toEqual(all.data.slice(2));
    expect((await listed(topic, '?address=FIRST@list.test')).data).toEqual(all.data.slice(2));
    expect((await listed(topic, '?address=elsewhere@list.test')).data).toEqual([]);
    await ask('POST', '/v1/suppressions', { address: 'second@list.test', scope: 'topic', topic_id: topic });
    await optIn(topic, 'first@list.test');
    expect((await listed(topic)).data.map(({ address }: { address: string }) => address)).toEqual([
      'first@list.test',
      'third@list.test',
    ]);
    for (const query of ['?address=x', '?after=x', '?limit=0']) {
      expect((await ask('GET', `${url}${query}`)).status).toBe(400);
    }
    expect((await ask('GET', `/v1/topics/${await make({}, other())}/opt-ins`)).status).toBe(403);
    expect((await ask('GET', url, undefined, other())).status).toBe(403);
  });

  test('is refused for an invalid address, and for topics of others', async () => {
    const topic = await make();
    for (const addresses of [[], ['x'], ['a@b.test\r\nx'], Array(1001).fill('a@example.net'), 'a@example.net']) {
      expect((await ask('POST', `/v1/topics/${topic}/opt-ins`, { addresses })).status).toBe(400);
    }
    expect((await optIn(await make({}, other()), 'a@example.net')).status).toBe(403);
    expect((await optIn('top_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'a@example.net')).status).toBe(404);
  });
});
