import { describe, expect, test } from 'vitest';
import { createTopicTenant } from '../support/topic-tenant.ts';

const { message, ask, make, send, outcomeOf, page, request, other, secondDomainId } = createTopicTenant();

const ofOneClick = { 'List-Unsubscribe': 'One-Click' };

describe('a topic', () => {
  test('is made, read, listed, changed and deleted', async () => {
    const made = await ask('POST', '/v1/topics', {
      name: 'Weekly & “new”',
      description: 'Once a week',
      default: 'out',
    });
    expect(made.body).toMatchObject({
      ...{ object: 'topic', name: 'Weekly & “new”', description: 'Once a week', default: 'out', domain_id: null },
    });
    const url = `/v1/topics/${made.body.id}`;
    expect((await ask('GET', url)).body).toEqual(made.body);
    expect((await ask('GET', '/v1/topics')).body.data).toContainEqual(made.body);
    const changed = await ask('PATCH', url, { description: null });
    expect(changed.body).toEqual({ ...made.body, description: null });
    expect((await ask('PATCH', url, {})).headers.etag).toBe(changed.headers.etag);
    expect((await ask('DELETE', url)).status).toBe(204);
    for (const method of ['GET', 'DELETE'] as const) expect((await ask(method, url)).status).toBe(404);
    expect((await ask('GET', '/v1/topics')).body.data).not.toContainEqual(
      expect.objectContaining({ id: made.body.id }),
    );
    const feed = (await ask('GET', '/v1/events?types=topic.created,topic.updated,topic.deleted')).body.data;
    const types = feed.flatMap(({ type, data }: { type: string; data: { topic_id: string } }) =>
      data.topic_id === made.body.id ? [type] : [],
    );
    expect(types.sort()).toEqual(['topic.created', 'topic.deleted', 'topic.updated']);
  });

  test.each([
    [{ name: 'a\r\nb' }, 'name must not contain line breaks or control characters'],
    [{ name: 'a\0b' }, 'name must not contain line breaks or control characters'],
    [{ name: '' }, 'name must not be empty'],
    [{ name: ' \u00a0' }, 'name must not be blank'],
    [{ name: 'x\u202ey' }, 'name must not contain characters that change the direction of text'],
    [{ description: 'a\nb' }, 'description must not contain line breaks or control characters'],
    [{ description: 'x'.repeat(301) }, 'description must have at most 300 characters'],
    [{ default: 'maybe' }, 'default must be one of in, out'],
    [{ colour: 'red' }, 'colour'],
  ])('with %j is refused', async (fields, problem) => {
    const { status, body } = await ask('POST', '/v1/topics', { name: 'Offers', default: 'in', ...fields });
    expect([status, JSON.stringify(body.error.details)]).toEqual([400, expect.stringContaining(problem)]);
  });

  test('keeps its default forever', async () => {
    expect((await ask('PATCH', `/v1/topics/${await make()}`, { default: 'out' })).status).toBe(400);
  });

  test('of another organization, of another domain, deleted or unknown cannot be sent about', async () => {
    const [foreign, elsewhere, gone] = [
      await make({}, other()),
      await make({ domain_id: secondDomainId() }),
      await make(),
    ];
    await ask('DELETE', `/v1/topics/${gone}`);
    const refusals = await Promise.all(
      [foreign, elsewhere, gone, 'top_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'nonsense', 'a\r\nb\0'].map(async (topic) => {
        const { status, body } = await ask('POST', '/v1/messages/send', { ...message, to: 'a@example.net', topic });
        return [status, body.error.code];
      }),
    );
    const unusable = [422, 'topic_not_usable'];
    expect(refusals).toEqual([[403, 'other_organization'], unusable, unusable, unusable, unusable, unusable]);
    expect((await ask('GET', `/v1/topics/${foreign}`)).status).toBe(403);
    expect((await ask('POST', '/v1/topics', { name: 'x', default: 'in', domain_id: 'dom_x' })).status).toBe(404);
  });

  test('that was deleted since does not change the response to a repeated send', async () => {
    const topic = await make();
    const again = () =>
      request({
        ...{ method: 'POST', url: '/v1/messages/send', headers: { 'idempotency-key': 'about a topic' } },
        payload: { ...message, to: 'a@example.net', topic },
      });
    const first = await again();
    await ask('DELETE', `/v1/topics/${topic}`);
    const second = await again();
    expect([second.statusCode, second.json()]).toEqual([202, first.json()]);
    expect((await ask('GET', `/v1/messages/${first.json().id}`)).body.topic_id).toBe(topic);
  });
});

describe('one click on mail about a topic', () => {
  test('ends that topic only, and the reason is reported', async () => {
    const [offers, news] = [await make(), await make({ name: 'News' })];
    const first = await send('one@example.net', offers);
    expect((await page(`/unsubscribe/${first.token}`)).html).toContain('Do you want to stop getting “Offers”?');
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => page(`/unsubscribe/${first.token}`, ofOneClick)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const events = (await ask('GET', `/v1/messages/${first.id}/events`)).body.data;
    const unsubscribed = events.filter(({ type }: { type: string }) => type === 'message.unsubscribed');
    expect(unsubscribed).toMatchObject([{ data: { method: 'one_click', topic_id: offers } }]);
    expect((await ask('GET', `/v1/messages/${first.id}`)).body.recipients[0].unsubscribed).toBe(true);
    // A worker does this in response to the event.
    await ask('POST', '/v1/suppressions', { address: 'one@example.net', scope: 'topic', topic_id: offers });
    const [about, other, none] = [
      await send('one@example.net', offers),
      await send('one@example.net', news),
      await send('one@example.net'),
    ];
    expect(await outcomeOf(about.id)).toBe(`the address is suppressed: it was added to the list (${offers})`);
    expect(await outcomeOf(other.id)).toBe('AttemptStarted');
    expect(await outcomeOf(none.id)).toBe('AttemptStarted');
    expect(JSON.stringify((await ask('GET', `/v1/messages/${about.id}/explain`)).body)).toContain(offers);
    const check = (await ask('GET', '/v1/suppressions/check?address=one@example.net')).body;
    expect(check).toMatchObject({ suppressed: { transactional: false, bulk: false }, suppression: { scope: 'topic' } });
  });

  test('leaves the choice to end everything', async () => {
    const { id, token } = await send('all@example.net', await make());
    const done = await page(`/unsubscribe/${token}`, { confirmed: 'yes' });
    expect(done.html).toContain('Unsubscribe from all mail like this');
    await page(`/unsubscribe/${token}`, { confirmed: 'all' });
    const { body } = await ask('GET', `/v1/messages/${id}/events`);
    const topics = body.data.flatMap(({ type, data }: { type: string; data: { topic_id?: string } }) =>
      type === 'message.unsubscribed' ? [data.topic_id === undefined] : [],
    );
    expect(topics.sort()).toEqual([false, true]);
  });
});
