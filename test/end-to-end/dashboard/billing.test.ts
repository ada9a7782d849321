import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '<img src=x onerror="window.ran = 1"> \u202Egnp.exe';
const PLANS = {
  default: 'free',
  plans: [
    { id: 'free', name: 'Free', currency: 'EUR', price: 0, included: 1000, overage_per_1000: '0', hard_limit: 1000 },
    { id: 'starter', name: HOSTILE, currency: 'EUR', price: 1900, included: 10_000, overage_per_1000: '45.5' },
  ],
};

/** Bars are no wider than this, in pixels, however few days a period has. */
const BAR_MAX = 60;

describe.skipIf(chromiumIsMissing)('the billing screen', () => {
  const dashboard = startDashboard(
    async ({ api }) => {
      for (const to of ['ann@example.net', 'bob@example.net'])
        await api.post('/v1/messages/send', { from: 'shop@example.test', to, subject: 'Order', text: 'Sent.' });
      await eventually(
        () => api.get('/v1/billing/usage'),
        ({ body }) => body.billable_recipients === 2,
      );
    },
    async () => {
      const path = join(tmpdir(), `plans-${process.pid}.json`);
      await writeFile(path, JSON.stringify(PLANS));
      return { PLANS_FILE: path };
    },
  );

  /** An invoice for a past month, since no month ends during a test. Its events are today's. */
  const invoice = () => {
    const day = new Date().toISOString().slice(0, 10);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const types = 'message.accepted,message.suppressed,message.failed';
    const { hard_limit: _limit, ...plan } = { ...PLANS.plans[1], hard_limit: null };
    const nothing = { price: null, rate_per_1000: null, counted: null, included: null, chargeable: null };
    const line = { from: day, to: tomorrow, plan, days: 1, days_of_month: 31, already_charged: null, ...nothing };
    return {
      id: 'inv_aaaaaaaaaaaaaaaaaaaaaaaaaa',
      object: 'invoice',
      title: 'Usage statement',
      number: 'ABCDEFGHJK-0001',
      issuer: null,
      customer: null,
      tax: null,
      total_with_tax: 1909,
      period: { start: '2026-10-01T00:00:00.000Z', end: '2026-11-01T00:00:00.000Z' },
      currency: 'EUR',
      total: 1909,
      lines: [
        {
          ...line,
          kind: 'plan',
          unit: 'days',
          quantity: 1,
          price: 1900,
          amount: 1900,
          calculation: 'x',
          events: null,
        },
        {
          ...line,
          kind: 'recipients',
          unit: 'recipients',
          calculation: '2 recipients',
          quantity: 2,
          amount: 9,
          events: `/v1/events?types=${types}&billed_from=${day}&billed_to=${tomorrow}`,
        },
      ],
      counted_to: { cursor: 'x', time: null },
      closed_at: '2026-11-01T01:00:00.000Z',
    };
  };

  test.each(WINDOWS)('shows plan, usage and invoices, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    const name = `${size.theme}-${size.width}`;
    await page.goto('/dashboard/billing');
    await page.getByText('No invoices yet').waitFor();
    await page.getByText('2 billable recipients', { exact: true }).waitFor();
    expect(await look(page, `billing-${name}`)).toEqual(FINE);
    await page.route('**/v1/billing/invoices?*', (route) =>
      route.fulfill({ json: { object: 'list', data: [invoice()], has_more: false, next_cursor: null } }),
    );
    await page.goto('/dashboard/billing?tables=usage');
    await page.getByText('October 2026').click();
    await page.getByRole('button', { name: 'Show events' }).click();
    await page.getByText('message.accepted').nth(1).waitFor();
    expect(await page.getByText('€19.09').count()).toBe(1);
    const lines = await page.locator('.invoice-line small:first-of-type').allInnerTexts();
    const today = new Date().toISOString().slice(0, 'YYYY-MM-DD'.length);
    expect(lines.map((line) => line.replace(/plan .*,/, 'plan,'))).toEqual([
      `${today}, plan, 1 day`,
      `${today}, plan, 2 recipients`,
    ]);
    expect(await look(page, `billing-invoice-${name}`)).toEqual(FINE);
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('draws a period of two days with narrow bars', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.route('**/v1/billing/usage?*', async (route) => {
      const response = await route.fetch();
      const usage = await response.json();
      const start = `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`;
      const end = new Date(Date.parse(start) + 2 * 86_400_000).toISOString();
      await route.fulfill({ response, json: { ...usage, period: { start, end } } });
    });
    await page.goto('/dashboard/billing');
    const days = page.getByRole('navigation', { name: 'Usage by day' }).getByRole('link');
    await days.first().waitFor();
    expect(await days.count()).toBe(2);
    expect((await days.first().locator('b').boundingBox())?.width).toBeLessThanOrEqual(BAR_MAX);
    expect(complaints).toEqual([]);
    await close();
  });

  test('lets a member choose a plan, and links from a day to its messages', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/billing');
    await page.getByRole('button', { name: 'Choose a plan' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('€19.00 a month, 10,000 recipients included, €0.455 for each 1,000 more').waitFor();
    await dialog
      .getByText('€0.00 a month, 1,000 recipients included, at most 1,000, then sends are rejected')
      .waitFor();
    await dialog.getByText('gnp.exe').click();
    await dialog.getByRole('button', { name: 'Choose a plan' }).click();
    await page.getByText('of 10,000 included').waitFor();
    expect((await dashboard.api.get('/v1/billing')).body.plan.id).toBe('starter');
    await page.getByRole('link', { name: /: 2 billable/ }).click();
    await page.getByText('bob@example.net').waitFor();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });
});
