import { describe, expect, test } from 'vitest';
import { createTopicTenant } from '../../support/topic-tenant.ts';

const { ask, make, send, outcomeOf, bringToList, page, other, secondDomainId, revisionOf } = createTopicTenant();

const tickedIn = (html: string): readonly string[] =>
  [...html.matchAll(/<input type="checkbox" id="([^"]+)"[^>]* checked>/g)].map(([, id = '']) => id);

describe('the page of preferences', () => {
  test('shows what is sent, saves what is ticked, and mail follows it', async () => {
    const [offers, tips] = [await make(), await make({ name: 'Tips', default: 'out', description: 'For <b>fans</b>' })];
    const elsewhere = await make({ name: 'Elsewhere', domain_id: secondDomainId() });
    const { token } = await send('pat@example.net');
    const path = `/preferences/${token}`;
    const before = await page(path);
    expect(tickedIn(before.html)).toContain(offers);
    expect(tickedIn(before.html)).not.toContain(tips);
    expect(before.html).toContain('For &lt;b&gt;fans&lt;/b&gt;');
    expect(before.html).not.toContain(elsewhere);
    const waiting = await send('pat@example.net', tips);
    expect(await outcomeOf(waiting.id)).toBe(
      `the recipient has not opted in to topic ${tips}, which requires an opt-in`,
    );

    const shown = [offers, tips];
    const saved = await page(path, { action: 'save', shown, topic: [tips] });
    expect(saved.html).toContain('role="status">Your choice has been saved.');
    expect(tickedIn((await page(path)).html).filter((id) => shown.includes(id))).toEqual([tips]);
    const [about, other] = [await send('pat@example.net', tips), await send('pat@example.net', offers)];
    expect(await outcomeOf(about.id)).toBe('AttemptStarted');
    expect(await outcomeOf(other.id)).toBe(`the address is suppressed: the recipient unsubscribed (${offers})`);

    await page(path, { action: 'save', shown, topic: [offers] });
    expect(tickedIn((await page(path)).html).filter((id) => shown.includes(id))).toEqual([offers]);
  });

  test('applies what was ticked when it was saved, whatever has not reached the list yet', async () => {
    const [offers, tips] = [await make(), await make({ name: 'Tips', default: 'out' })];
    const shown = [offers, tips];
    const [first, second] = [await send('wait@example.net', offers), await send('wait@example.net')];
    await page(`/preferences/${second.token}`, { action: 'save', shown, topic: shown });
    await page(`/unsubscribe/${first.token}`, { 'List-Unsubscribe': 'One-Click' });
    const path = `/preferences/${second.token}`;
    expect(tickedIn((await page(path)).html)).toEqual(expect.arrayContaining(shown));
    const before = await revisionOf('wait@example.net');
    await page(path, { action: 'save', shown, topic: shown });
    expect(await revisionOf('wait@example.net')).not.toBe(before);
    await bringToList(first.id);
    expect(tickedIn((await page(path)).html)).toEqual(expect.arrayContaining(shown));
    expect(await outcomeOf((await send('wait@example.net', offers)).id)).toBe('AttemptStarted');
  });

  test('accepts several posts at once, and a repeated refusal writes nothing', async () => {
    const offers = await make();
    const { token } = await send('twice@example.net');
    const path = `/preferences/${token}`;
    const form = { action: 'save', shown: [offers], topic: [] };
    const answers = await Promise.all(Array.from({ length: 8 }, () => page(path, form)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await page(path, form);
    expect(await revisionOf('twice@example.net')).toBe(0);
  });

  test('ends all mail, and ticking a topic takes that back', async () => {
    const offers = await make();
    const { token } = await send('back@example.net');
    const path = `/preferences/${token}`;
    const left = await page(path, { action: 'leave' });
    expect(left.html).toContain('You have unsubscribed from all mail like this.');
    expect(tickedIn(left.html)).toEqual([]);
    const back = await page(path, { action: 'save', shown: [offers], topic: [offers] });
    expect(tickedIn(back.html)).toContain(offers);
    expect(back.html).not.toContain('You have unsubscribed');
    const feed = (await ask('GET', '/v1/events')).body.data;
    expect(feed).toContainEqual(
      expect.objectContaining({ type: 'suppression.resubscribed', data: expect.objectContaining({ topic_id: null }) }),
    );
  });

  test('changes nothing about the topics of others, and refuses what it did not send', async () => {
    const foreign = await make({}, other());
    const { token } = await send('mallory@example.net');
    const path = `/preferences/${token}`;
    const forged = { action: 'save', shown: [foreign, 'x\r\n\0<script>'], topic: [foreign] };
    expect((await page(path, forged)).status).toBe(200);
    expect(await revisionOf('mallory@example.net')).toBe('no-stream');
    for (const form of [{}, { action: 'drop' }, { topic: [foreign] }]) {
      expect((await page(path, form as Record<string, string>)).status).toBe(400);
    }
    expect((await page(path, { action: 'x'.repeat(10_000_000) })).status).toBe(413);
    const spoiled = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    for (const bad of [spoiled, 'x', `${token}%00`]) {
      expect((await page(`/preferences/${bad}`)).status).toBe(404);
      expect((await page(`/preferences/${bad}`, { action: 'leave' })).status).toBe(404);
    }
  });
});
