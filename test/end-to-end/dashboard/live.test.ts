import type { BrowserContext, Page, Request } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startDashboard, WIDE } from './support.ts';

const BURST = 70;
/** Each message of the burst has three events: accepted, sending and delivered. */
const BURST_EVENTS = BURST * 3;

/** Records the times at which the list was drawn, in ms. */
const OBSERVE = `
  globalThis.drawn = [];
  new MutationObserver(() => drawn.push(performance.now())).observe(document.querySelector('.evs'), { childList: true })`;

describe.skipIf(chromiumIsMissing)('live events', () => {
  const send = (to: string) =>
    dashboard.api.post('/v1/messages/send', { from: 'shop@example.test', to, subject: 'Hi', text: 'Hello.' });
  const dashboard = startDashboard(async () => {
    await send('first@example.net');
  });

  /** Counts the open streams of a context. */
  const streamsOf = (context: BrowserContext): (() => number) => {
    const open = new Set<Request>();
    context.on('request', (request) => {
      if (request.headers().accept === 'text/event-stream') open.add(request);
    });
    const end = (request: Request): boolean => open.delete(request);
    context.on('requestfinished', end);
    context.on('requestfailed', end);
    return () => [...open].filter((request) => !request.frame().page().isClosed()).length;
  };
  const goTo = async (page: Page): Promise<void> => {
    await page.goto('/dashboard/events?types=message.delivered');
    await page.getByText('live', { exact: true }).waitFor();
  };

  test('reach all tabs through one stream, which the next tab takes over without a gap', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    const context = page.context();
    const open = streamsOf(context);
    await goTo(page);
    const second = await context.newPage();
    await second.addInitScript(
      (text) => sessionStorage.setItem('outbox-keys', text),
      JSON.stringify({ live: dashboard.program.keys.live }),
    );
    await goTo(second);
    expect(open()).toBe(1);
    await send('both@example.net');
    for (const tab of [page, second]) await tab.getByText('both@example.net').waitFor();
    expect(open()).toBe(1);
    const gone = page.close();
    await send('between@example.net');
    await gone;
    await send('after@example.net');
    for (const name of ['between', 'after']) await second.getByText(`${name}@example.net`).waitFor();
    expect(await second.getByText('both@example.net').count()).toBe(1);
    expect(open()).toBe(1);
    expect(complaints).toEqual([]);
    await close();
  });

  test('end in all tabs of a session when one of them signs out', async () => {
    const member = { email: 'ann@example.net', name: 'Ann', role: 'developer' };
    const { body } = await dashboard.api.post('/v1/members', member);
    const context = await dashboard.browser.newContext({ baseURL: dashboard.program.baseUrl });
    const open = streamsOf(context);
    const page = await context.newPage();
    await page.goto(`/dashboard/sign-in${new URL(body.link.url).hash}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await goTo(page);
    const second = await context.newPage();
    await goTo(second);
    expect(open()).toBe(1);
    await second.getByRole('button', { name: 'Sign out' }).click();
    for (const tab of [page, second]) await tab.getByRole('heading', { name: 'Sign in' }).waitFor();
    await eventually(
      () => Promise.resolve(open()),
      (streams) => streams === 0,
    );
    await context.close();
  });

  test('are drawn about once a second when they arrive in a burst', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/events?types=message.*');
    await page.getByText('live', { exact: true }).waitFor();
    await page.locator('.evs').waitFor();
    await page.evaluate(OBSERVE);
    const messages = Array.from({ length: BURST }, (_, at) => ({
      from: 'shop@example.test',
      to: `b${at}@example.net`,
      subject: 'Hi',
      text: 'Hello.',
    }));
    expect((await dashboard.api.post('/v1/messages/batch', { messages })).status).toBe(202);
    const came = async (): Promise<number> =>
      Number(/([\d,]+) since you opened/.exec(await page.locator('.sub').innerText())?.[1]?.replace(',', '') ?? 0);
    await eventually(came, (events) => events >= BURST_EVENTS);
    const drawn = await page.evaluate<number[]>('drawn');
    const seconds = ((drawn.at(-1) ?? 0) - (drawn[0] ?? 0)) / 1_000;
    // The first events of the burst are drawn immediately, and the rest once a second.
    expect(drawn.length).toBeLessThanOrEqual(3 + 2 * seconds);
    await close();
  });

  test('are loaded in pages if no stream lasts', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.route('**/v1/events*', (route) =>
      route.request().headers().accept === 'text/event-stream' ? route.abort() : route.continue(),
    );
    await page.goto('/dashboard/events?types=message.delivered');
    await page.getByText(/Not live since \d\d:\d\d:\d\d/).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    expect(await page.getByText('Not live since').count()).toBe(0);
    await send('polled@example.net');
    await page.getByText('polled@example.net').waitFor();
    await close();
  });
});
