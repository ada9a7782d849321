import { describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { type Dashboard, FINE, type Size, startDashboard, WIDE, WINDOWS } from './support.ts';

const RECIPIENTS = 50;
const BOUNCED = 10;
const HOSTILE = `<b>x</b>.${'long-'.repeat(9)}\u202Eend`;

/** Client of the test environment, in which addresses choose their outcome. */
const testApi = ({ program }: Dashboard) => apiClient(program.baseUrl, program.keys.test);

/** The same with a key of its own: a screen of figures takes most of the limit of one. */
const newReader = async (dashboard: Dashboard): Promise<ApiClient> => {
  const api = testApi(dashboard);
  const { body: domains } = await api.get('/v1/domains');
  const reader = { name: 'Reader', domain_id: domains.data[0].id, permissions: ['read', 'manage'] };
  const { status, body } = await api.post('/v1/api-keys', { ...reader, environment: 'test' });
  expect(status).toBe(201);
  return apiClient(dashboard.program.baseUrl, body.key);
};

/** Opens a window that is signed in to both environments. */
const open = async (dashboard: Dashboard, size: Size) => {
  const opened = await dashboard.open(size);
  const keys = JSON.stringify(dashboard.program.keys);
  await opened.page.addInitScript((text) => sessionStorage.setItem('outbox-keys', text), keys);
  return opened;
};

const ENDED = ['delivered', 'bounced', 'failed', 'expired', 'suppressed', 'cancelled'];

const waitingIn = (totals: Readonly<Record<string, number>>): number =>
  ENDED.reduce((left, name) => left - (totals[name] ?? 0), totals.accepted ?? 0);

interface AnyRecipient {
  readonly address: string;
  readonly status: string;
  readonly opened: boolean;
  readonly clicked: boolean;
  readonly complained: boolean;
  readonly unsubscribed: boolean;
}

const WAITING: readonly string[] = ['accepted', 'scheduled', 'sending', 'deferred'];

/** Whether the recipient of a message of this test has the outcome. */
const hasOutcome = (recipient: AnyRecipient, outcome: string): boolean => {
  if (outcome === 'accepted') return true;
  if (outcome === 'waiting') return WAITING.includes(recipient.status);
  return recipient.status === outcome || recipient[outcome as keyof AnyRecipient] === true;
};

interface ShownFigure {
  readonly text: string;
  /** Address of its messages. */
  readonly href: string;
}

const figureIn = (totals: Readonly<Record<string, number>>, outcome: string): number | undefined =>
  outcome === 'waiting' ? waitingIn(totals) : totals[outcome];

/** Compares a figure with the statistics of the same period, and with the messages that it leads to. */
const compareFigure = async ({ text, href }: ShownFigure, api: ApiClient): Promise<void> => {
  const { searchParams } = new URL(href, 'http://127.0.0.1');
  const attribution = searchParams.has('outcome_since') ? 'event' : 'cohort';
  const times = attribution === 'event' ? ['outcome_since', 'outcome_until'] : ['since', 'until'];
  const [outcome = '', since = '', until, place = ''] = ['outcome', ...times, 'recipient_domain'].map(
    (name) => searchParams.get(name) ?? '',
  );
  searchParams.delete('environment');
  const { body } = await api.get(`/v1/messages?limit=100&${searchParams}`);
  const period = new URLSearchParams({
    granularity: 'month',
    attribution,
    from: since,
    ...(until && { to: until }),
    ...(place && { recipient_domain: place }),
  });
  const number = figureIn((await api.get(`/v1/stats?${period}`)).body.totals, outcome);
  // Shares and times are not counts.
  if (/^[\d,]+$/.test(text)) expect([href, text]).toEqual([href, String(number)]);
  const recipients: AnyRecipient[] = body.data.flatMap((one: { recipients: AnyRecipient[] }) => one.recipients);
  const matching = recipients.filter((one) => one.address.endsWith(place) && hasOutcome(one, outcome));
  expect([href, matching.length]).toEqual([href, number]);
};

describe.skipIf(chromiumIsMissing)('a message that some recipients did not get', () => {
  let partial: string;
  const dashboard = startDashboard(async (started) => {
    const api = testApi(started);
    const to = Array.from({ length: RECIPIENTS }, (_, at) =>
      at < BOUNCED ? `bounced+${at}@sandbox.outbox.test` : `${'long-'.repeat(9)}ann${at}@example.net`,
    );
    const mail = { from: 'shop@example.test', to, subject: HOSTILE, text: 'Hello.' };
    partial = (await api.post('/v1/messages/send', mail)).body.id;
    await eventually(
      () => api.get(`/v1/messages/${partial}`),
      ({ body }) => body.partial === true,
    );
    for (const word of ['complained', 'suppressed', 'deferred+3600s'])
      await api.post('/v1/messages/send', { ...mail, to: `${word}@sandbox.outbox.test`, subject: word });
    await eventually(
      () => api.get('/v1/stats?metrics=complained,suppressed,deferred'),
      ({ body }) => body.totals.complained + body.totals.suppressed + body.totals.deferred === 3,
    );
  });

  test('is "Partly delivered, 40 of 50" in its heading, in the list and in the peek, and not green', async () => {
    const { page, complaints, close } = await open(dashboard, WIDE);
    const words = 'Partly delivered, 40 of 50';
    await page.goto(`/dashboard/messages?environment=test&peek=${partial}`);
    await page.locator('.lr .status', { hasText: words }).waitFor();
    await page.locator('.peekbar .pill', { hasText: words }).waitFor();
    await page.goto(`/dashboard/messages/${partial}?environment=test`);
    const pill = page.locator('.titled .pill', { hasText: words });
    await pill.waitFor();
    expect(await pill.getAttribute('class')).toBe('pill wait');
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(WINDOWS)('opens all its recipients, by outcome, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await open(dashboard, size);
    await page.goto(`/dashboard/messages/${partial}?environment=test`);
    await page.getByRole('link', { name: '42 more recipients' }).click();
    const list = page.getByRole('list', { name: 'Recipients' });
    await list.getByRole('link').first().waitFor();
    expect(await look(page, `recipients-${size.theme}-${size.width}`)).toEqual(FINE);
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('bounced');
    await page.getByText('10 of 50').waitFor();
    expect(new URL(page.url()).searchParams.get('outcome')).toBe('bounced');
    await page.reload();
    await page.getByText('10 of 50').waitFor();
    expect(await list.getByText('Bounced').count()).toBeGreaterThan(0);
    expect(await list.getByText('Delivered').count()).toBe(0);
    await list.getByRole('link', { name: /bounced\+0@/ }).click();
    await page.getByRole('button', { name: /Show all recipients/ }).waitFor();
    expect(new URL(page.url()).searchParams.get('recipient')).toMatch(/^rcp_/);
    expect(await look(page, `recipient-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('has one rate in the overview and the statistics, each with what it is a share of', async () => {
    const { page, complaints, close } = await open(dashboard, WIDE);
    await page.goto('/dashboard?environment=test');
    const figure = page.locator('.fig', { hasText: 'Delivered' });
    await figure.getByText('41 of 53 accepted').waitFor();
    expect(await figure.locator('.dd').innerText()).toBe('77.36 %');
    await page.goto('/dashboard/statistics?environment=test&period=24h');
    const counted = page.locator('.figs div', { hasText: /^Delivered/ });
    await counted.getByText('41 of 53 accepted').waitFor();
    expect(await counted.locator('dd').innerText()).toMatch(/^77\.36 %/);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([
    ['', '.fig .dd a', 4],
    ['/statistics', '.figs dd a, table td a[title="View these messages"]', 20],
    ['/statistics?tables=outcomes', 'section[aria-label^="Outcomes"] td a[title="View these messages"]', 20],
    ['/statistics?tables=latency', 'section[aria-label="Time to deliver"] td a[title="View these messages"]', 3],
    ['/statistics?attribution=event', '.figs dd a, table td a[title="View these messages"]', 20],
    [
      '/statistics?attribution=event&period=24h&tables=outcomes',
      'section[aria-label^="Outcomes"] td a[title="View these messages"]',
      20,
    ],
    ['/statistics?period=90d&granularity=week', 'table td a[title="View these messages"]', 20],
  ])('leads from each figure of /dashboard%s to the messages that it counts', async (path, links, least) => {
    const { page, complaints, close } = await open(dashboard, WIDE);
    await page.goto(`/dashboard${path}${path.includes('?') ? '&' : '?'}environment=test`);
    await page.locator(links).first().waitFor();
    const figures = await page
      .locator(links)
      .evaluateAll((all) =>
        all.map((link) => ({ text: link.textContent ?? '', href: link.getAttribute('href') ?? '' })),
      );
    expect(figures.length).toBeGreaterThanOrEqual(least);
    const reader = await newReader(dashboard);
    for (const figure of figures) await compareFigure(figure, reader);
    expect(complaints).toEqual([]);
    await close();
  });

  test('counts the recipients of a figure by event above its messages, and leads from a bar to its day', async () => {
    const { page, complaints, close } = await open(dashboard, WIDE);
    await page.goto('/dashboard/statistics?environment=test&attribution=event');
    await page
      .getByRole('row', { name: /^Bounced/ })
      .getByRole('link')
      .first()
      .click();
    await page.getByText('Bounced: 10 recipients in these messages').waitFor();
    await page.locator('.lr').first().waitFor();
    expect(await page.locator('.lr').count()).toBe(1);
    const chip = page.locator('.chip', { hasText: 'outcome_since' });
    expect(await chip.count()).toBe(1);
    expect(await look(page, 'messages-by-outcome-time')).toEqual(FINE);
    await page.getByRole('button', { name: 'Remove outcome', exact: true }).click();
    await chip.waitFor({ state: 'detached' });
    await page.locator('.lr').nth(1).waitFor();
    await page.goto('/dashboard/statistics?environment=test&attribution=event');
    await page
      .getByRole('link', { name: /View these statistics/ })
      .last()
      .click();
    await page.getByRole('region', { name: 'Outcomes by hour' }).waitFor();
    const { searchParams } = new URL(page.url());
    expect(searchParams.get('attribution')).toBe('event');
    await page
      .locator('.figs div', { hasText: /^Bounced/ })
      .getByText('10 of 53 accepted')
      .waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('lists messages in the order of an outcome, each below the day of its acceptance', async () => {
    const { page, complaints, close } = await open(dashboard, WIDE);
    const { body } = await testApi(dashboard).get('/v1/messages?limit=3');
    const days = ['2026-01-02', '2026-01-01', '2026-01-02'];
    const data = body.data.map((one: object, at: number) => ({ ...one, created_at: `${days[at]}T12:00:00.000Z` }));
    await page.route(/\/v1\/messages\?.*outcome_since/, (route) =>
      route.fulfill({ json: { ...body, data, has_more: false, next_cursor: null } }),
    );
    await page.goto('/dashboard/messages?environment=test&outcome=delivered&outcome_since=2026-01-01T00:00:00.000Z');
    await page.locator('.lr').nth(2).waitFor();
    for (const _ of days) await page.keyboard.press('j');
    const shown = await page.locator('.virtual > li').evaluateAll((rows) =>
      rows
        .map((row) => ({ text: row.textContent ?? '', top: row.getBoundingClientRect().top }))
        .toSorted((one, other) => one.top - other.top)
        .map(({ text }) => /January/.exec(text)?.[0] ?? 'message'),
    );
    expect(shown).toEqual(['January', 'message', 'January', 'message', 'January', 'message']);
    expect(complaints).toEqual([]);
    await close();
  });

  test('lists complaints from the search, with how many recipients they are', async () => {
    const { page, complaints, close } = await open(dashboard, WIDE);
    await page.goto('/dashboard/messages?environment=test');
    await page.getByRole('combobox', { name: 'Status' }).selectOption('outcome:complained');
    await page.getByText('Complained: 1 recipient in these messages').waitFor();
    expect(await page.locator('.lr').count()).toBe(1);
    expect(await look(page, 'messages-complained')).toEqual(FINE);
    await page.getByLabel('Search messages').fill('status:unsubscribed');
    await page.keyboard.press('Enter');
    await page.getByText('No matching messages').waitFor();
    expect(new URL(page.url()).searchParams.get('outcome')).toBe('unsubscribed');
    expect(complaints).toEqual([]);
    await close();
  });
});
