import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '=cmd|<img src=x onerror="window.ran = 1"> \u202Egnp.exe';

describe.skipIf(chromiumIsMissing)('the statistics screen', () => {
  const dashboard = startDashboard(async ({ api }) => {
    const addresses = ['ann@example.net', 'bob@example.net', 'cy@example.org'];
    for (const to of addresses) {
      const mail = { from: 'shop@example.test', to, subject: 'Order', text: 'Sent.' };
      await api.post('/v1/messages/send', { ...mail, tags: [{ name: 'kind', value: HOSTILE }] });
    }
    await eventually(
      () => api.get('/v1/stats?metrics=delivered'),
      ({ body }) => body.totals.delivered === addresses.length,
    );
  });

  test.each(WINDOWS)('shows the outcomes of mail, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    const name = `${size.theme}-${size.width}`;
    await page.goto('/dashboard/statistics');
    await page.getByRole('link', { name: 'example.net' }).waitFor();
    expect(await look(page, `statistics-${name}`)).toEqual(FINE);
    await page.goto('/dashboard/statistics?tables=outcomes,latency&period=24h');
    await page.getByRole('button', { name: 'Plot' }).first().waitFor();
    expect(await look(page, `statistics-tables-${name}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('narrows to a group, and lists the messages behind a bar', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/statistics?group_by=tag');
    await page.getByRole('link', { name: 'gnp.exe' }).click();
    await page.waitForURL(/[?&]tag=kind/);
    await page.locator('dd', { hasText: '3' }).first().waitFor();
    const bars = page.getByRole('navigation', { name: 'Outcomes by day' });
    await bars.getByRole('link', { name: /3 delivered/ }).click();
    await page.waitForURL(/\/dashboard\/messages\?since=.*&until=.*&tag=kind/);
    await page.getByText('cy@example.org').waitFor();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('lists messages without a template or a bounce class, and says why others cannot be listed', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    const groups = page.getByRole('region', { name: 'Groups' });
    for (const dimension of ['template', 'bounce_class', 'template,bounce_class']) {
      await page.goto(`/dashboard/statistics?group_by=${dimension}`);
      const none = groups.getByRole('row').filter({ hasText: 'none' });
      const href = `${await none.getByRole('link', { name: '3', exact: true }).getAttribute('href')}`;
      const { searchParams } = new URL(href, page.url());
      expect(searchParams.get('template_id')).toBe(dimension === 'bounce_class' ? null : '(none)');
      const { body } = await dashboard.api.get(`/v1/messages?${searchParams}`);
      expect([dimension, body.data.length]).toEqual([dimension, 3]);
      const bounced = none.getByRole('cell').nth(3);
      expect([dimension, await bounced.getByRole('link').count()]).toEqual([
        dimension,
        dimension === 'template' ? 1 : 0,
      ]);
    }
    await page.goto('/dashboard/statistics?group_by=template');
    await groups.getByRole('link', { name: 'none' }).click();
    await page.getByRole('button', { name: 'Remove Template' }).waitFor();
    await page.getByRole('link', { name: '3', exact: true }).first().click();
    await page.waitForURL(/template_id=%28none%29|template_id=\(none\)/);
    await page.locator('.lr').nth(2).waitFor();
    await page.goto('/dashboard/statistics?group_by=recipient_domain');
    await groups.getByRole('link', { name: 'example.net' }).waitFor();
    expect(await groups.getByText('cannot be listed').count()).toBe(0);
    await page.route('**/v1/stats?*group_by=*', async (route) => {
      const response = await route.fetch();
      const stats = await response.json();
      const groups = stats.groups.map((group: object) => ({ ...group, group: '(other)' }));
      await route.fulfill({ response, json: { ...stats, groups: groups.slice(0, 1) } });
    });
    await page.reload();
    await groups.getByText('(other): all groups after the 25 largest. Add a filter to see them.').waitFor();
    expect(await groups.getByRole('link').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('lists the messages behind a bar in every dimension', async () => {
    const { page, close } = await dashboard.open(WIDE);
    const [message] = (await dashboard.api.get('/v1/messages?limit=1')).body.data;
    for (const [dimension, value, count] of [
      ['recipient_domain', 'example.org', 1],
      ['mailbox_provider', 'other', 3],
      ['domain', message.domain_id, 3],
      ['api_key', message.api_key_id, 3],
      ['tag', `kind:${HOSTILE}`, 3],
      ['stream', message.stream, 3],
    ] as const) {
      await page.goto(`/dashboard/statistics?${new URLSearchParams({ [dimension]: value })}`);
      await page.getByRole('button', { name: /^Remove/ }).waitFor();
      const bar = page.getByRole('navigation', { name: 'Outcomes by day' }).getByRole('link').last();
      const { searchParams } = new URL(`${await bar.getAttribute('href')}`, page.url());
      expect([...searchParams.values()]).toContain(value);
      const { body } = await dashboard.api.get(`/v1/messages?${searchParams}`);
      expect([dimension, body.data.length]).toEqual([dimension, count]);
    }
    await close();
  });

  test('stores the selection in its address, and moves along the bars with the keyboard', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/statistics');
    await page.getByRole('combobox', { name: 'Time' }).selectOption('24h');
    await page.getByRole('button', { name: 'By event' }).click();
    await page.getByText('Filter', { exact: true }).click();
    await page.getByLabel('Value').fill('example.org');
    await page.getByRole('button', { name: 'Show only these' }).click();
    await page.waitForURL(/period=24h&attribution=event&recipient_domain=example\.org/);
    await page.reload();
    await page.getByRole('button', { name: 'Remove Recipient domain' }).waitFor();
    const bars = page.getByRole('navigation', { name: 'Outcomes by hour' }).getByRole('link');
    await bars.first().focus();
    await page.keyboard.press('ArrowRight');
    expect(await bars.nth(1).evaluate((bar) => bar.matches(':focus'))).toBe(true);
    await close();
  });

  test('exports its groups as CSV, without formulas', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/statistics?group_by=tag&period=24h');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const csv = await readFile(await (await download).path(), 'utf8');
    expect(csv).toMatch(/^start,tag,tag_id,accepted,/);
    expect(csv).toContain('"kind:=cmd|<img');
    await close();
  });

  test('wraps the time zone together with the attribution', async () => {
    const { page, close } = await dashboard.open(WIDE);
    const top = async (name: RegExp): Promise<number | undefined> =>
      (await page.locator('main').getByRole('button', { name }).boundingBox())?.y;
    await page.goto('/dashboard/statistics?recipient_domain=example.org');
    for (let width = 800; width <= 1280; width += 40) {
      await page.setViewportSize({ width, height: 860 });
      const [zone = 0, attribution = 0] = [await top(/^Times are in/), await top(/^By event$/)];
      expect([width, Math.abs(zone - attribution) < 10]).toEqual([width, true]);
    }
    await close();
  });

  test('explains which dimensions cannot be combined', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/statistics?group_by=recipient_domain&tag=${encodeURIComponent(`kind:${HOSTILE}`)}`);
    await page.getByText(/tag cannot be combined with recipient_domain/).waitFor();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    await close();
  });

  test('violates no content security policy', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/statistics');
    await page.getByRole('link', { name: 'example.net' }).waitFor();
    await page.getByRole('link', { name: /3 delivered/ }).hover();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    await download;
    expect(complaints).toEqual([]);
    await close();
  });
});
