import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../../support/api-client.ts';
import { metricsOf, openRequestsOf, settle } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';
import { startDashboard, WIDE } from './support.ts';

/**
 * Screens that follow live events stay open while an hour's mail, a thousand messages, arrives within seconds. Their
 * memory is bounded by the content that they show: the first rounds fill it, and later ones must not add to it.
 */

const WARM_UP_ROUNDS = 2;
const LATER_ROUNDS = 3;
/** Messages in a round, sent as one batch. Their events arrive too fast to be drawn one by one. */
const MESSAGES = 200;
/** The events are accepted, sending and delivered. */
const EVENTS_PER_MESSAGE = 3;
const ROUND_MS_MAX = 30_000;

/**
 * Growth allowed in the later rounds. Only the ids of received events are kept, the newest 10,000: about 80 kB a round
 * until that number is reached. Whole events would take ten times as much.
 */
const MORE_MAX = { heap: 500_000, nodes: 100, listeners: 20 } as const;
type Measurement = Readonly<Record<keyof typeof MORE_MAX, number>>;

/** Reads the memory of a page after a garbage collection. */
const meterOf = async (page: Page): Promise<() => Promise<Measurement>> => {
  const metric = await metricsOf(page);
  return async () => {
    await metric.collectGarbage();
    return {
      heap: await metric('JSHeapUsedSize'),
      nodes: await metric('Nodes'),
      listeners: await metric('JSEventListeners'),
    };
  };
};

describe.skipIf(chromiumIsMissing)('screens that follow live events', () => {
  const dashboard = startDashboard();
  let hook: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let sender: ApiClient;
  let webhookId = '';
  const mailTo = (to: string) => ({ from: 'shop@example.test', to, subject: `For ${to}`, text: 'Hello.' });

  beforeAll(async () => {
    hook = await startWebhookReceiver();
    const { api, program } = dashboard;
    const [{ id }] = (await api.get('/v1/domains')).body.data;
    const key = { name: 'Many', domain_id: id, permissions: ['send'], rate_limits: { send: 10_000 } };
    sender = apiClient(program.baseUrl, (await api.post('/v1/api-keys', key)).body.key);
    webhookId = (await api.post('/v1/webhooks', { url: hook.url, events: ['message.*'] })).body.id;
    expect((await sender.post('/v1/messages/send', mailTo('first@example.net'))).status).toBe(202);
    await eventually(
      async () => hook.posts.length,
      (posts) => posts >= EVENTS_PER_MESSAGE,
    );
  });
  afterAll(() => hook?.close());

  /** Opens a tab for each screen. */
  const openScreens = async (events: Page): Promise<ReadonlyMap<string, Page>> => {
    const screens = new Map<string, Page>();
    const paths = {
      events: '/events?types=message.*',
      messages: '/messages',
      overview: '',
      'webhook deliveries': `/webhooks/${webhookId}`,
    };
    const keys = JSON.stringify({ live: dashboard.program.keys.live });
    for (const [name, path] of Object.entries(paths)) {
      const page = name === 'events' ? events : await events.context().newPage();
      await page.addInitScript((text) => sessionStorage.setItem('outbox-keys', text), keys);
      await page.goto(`/dashboard${path}`);
      await page.getByText('first@example.net').first().waitFor();
      screens.set(name, page);
    }
    await events.getByText('live', { exact: true }).waitFor();
    return screens;
  };

  test('do not grow while an hour of mail arrives', async () => {
    const { page: events, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    const openRequests = openRequestsOf(events.context());
    const screens = await openScreens(events);
    const meters = new Map<string, () => Promise<Measurement>>();
    for (const [name, page] of screens) meters.set(name, await meterOf(page));

    const came = async (): Promise<number> =>
      Number(/([\d,]+) since you opened/.exec(await events.locator('.sub').innerText())?.[1]?.replace(',', '') ?? 0);
    const round = async (at: number): Promise<ReadonlyMap<string, Measurement>> => {
      const before = await came();
      const messages = Array.from({ length: MESSAGES }, (_, n) => mailTo(`round${at}-${n}@example.net`));
      expect((await sender.post('/v1/messages/batch', { messages })).status).toBe(202);
      await eventually(came, (now) => now - before >= MESSAGES * EVENTS_PER_MESSAGE, ROUND_MS_MAX);
      // The newest message appears on each screen.
      const last = `last${at}@example.net`;
      expect((await sender.post('/v1/messages/send', mailTo(last))).status).toBe(202);
      for (const page of screens.values()) {
        await page.getByText(last).first().waitFor();
        await settle(page);
      }
      // All screens share one stream, and no request is left unread.
      await eventually(
        async () => [...openRequests].map((request) => new URL(request.url()).pathname),
        (open) => open.length === 1 && open[0] === '/v1/events',
      );
      const measured = new Map<string, Measurement>();
      for (const [name, measure] of meters) measured.set(name, await measure());
      return measured;
    };

    let warm: ReadonlyMap<string, Measurement> = new Map();
    for (let at = 0; at < WARM_UP_ROUNDS; at += 1) warm = await round(at);
    let later = warm;
    for (let at = 0; at < LATER_ROUNDS; at += 1) later = await round(WARM_UP_ROUNDS + at);

    const growth = [...later].flatMap(([name, now]) =>
      (Object.keys(MORE_MAX) as (keyof Measurement)[]).map((what) => {
        const from = warm.get(name)?.[what] ?? Number.NaN;
        return { name, what, from, to: now[what], isBounded: now[what] - from < MORE_MAX[what] };
      }),
    );
    expect(growth).toHaveLength(screens.size * Object.keys(MORE_MAX).length);
    expect(growth.filter(({ isBounded }) => !isBounded)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  }, 180_000);
});
