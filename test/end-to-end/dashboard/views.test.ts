import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, NARROW, startDashboard, WIDE } from './support.ts';

describe.skipIf(chromiumIsMissing)('views', () => {
  const ids: string[] = [];

  const dashboard = startDashboard(async ({ api }) => {
    for (const at of [1, 2, 3]) {
      const mail = { from: 'shop@example.test', to: `ann${at}@example.net`, subject: `Order ${at}`, text: 'Hello' };
      ids.push((await api.post('/v1/messages/send', mail)).body.id);
      await eventually(
        () => api.get('/v1/messages'),
        ({ body }) => body.data.length === at,
      );
    }
    await eventually(
      () => api.get('/v1/stats?metrics=delivered'),
      ({ body }) => body.totals.delivered === ids.length,
    );
  });

  test('of messages accept any time range, written like other times', async () => {
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE);
    await page.goto('/dashboard/messages');
    await page.getByText('Order 3').waitFor();
    await page.getByRole('combobox', { name: /^Time/ }).selectOption('chosen');
    const from = page.getByLabel('From', { exact: true });
    expect(await from.getAttribute('placeholder')).toBe('any time');
    expect(await page.getByLabel('To; empty: now').getAttribute('placeholder')).toBe('now');
    expect(await from.inputValue()).toMatch(/^\d{1,2} [A-Z][a-z]{2} 20\d\d, \d\d:\d\d$/);
    await from.fill('1 Jan 2020, 08:00');
    await from.press('Tab');
    await page.waitForURL(/since=20(?:19|20)-/);
    const to = page.getByLabel('To; empty: now');
    await to.fill('2020-02-01');
    await to.press('Tab');
    await page.waitForURL(/until=2020-0/);
    await page.getByText('No matching messages').waitFor();
    expect(await to.inputValue()).toBe('1 Feb 2020, 00:00');
    await to.fill('31 Feb');
    await to.press('Tab');
    expect(await to.evaluate((input) => (input as unknown as { validationMessage: string }).validationMessage)).toMatch(
      /^Enter a date such as /,
    );
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([WIDE, NARROW])('are saved under a name and opened again, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.openAs('owner', size);
    await page.goto('/dashboard/statistics?period=7d&group_by=stream');
    await page.getByText('Views', { exact: true }).click();
    const name = page.getByLabel('Name of the view');
    await name.fill('\u202Egnp');
    await page.getByRole('button', { name: 'Save this view' }).click();
    await page.getByRole('alert').getByText('direction of text').waitFor();
    await name.fill('<img src=x> gnp');
    expect(await look(page, `views-${size.width}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'Save this view' }).click();
    await page.getByText('Only you see your views').waitFor({ state: 'hidden' });
    // Another member of the organization has views of their own.
    const other = await dashboard.openAs('auditor', size);
    await other.page.goto('/dashboard/statistics');
    await other.page.getByText('Views', { exact: true }).click();
    await other.page.getByText('Save these filters under a name').waitFor();
    await other.close();
    await page.goto('/dashboard/statistics');
    await page.getByText('Views', { exact: true }).click();
    const view = page.getByRole('list', { name: 'Saved views' }).getByRole('link');
    expect(await view.textContent()).toBe('<img src=x> gnp');
    await view.click();
    await page.waitForURL(/period=7d&group_by=stream/);
    await page.goto('/dashboard/messages');
    await page.getByText('Views', { exact: true }).click();
    await page.getByText('Save these filters under a name').waitFor();
    await page.goto('/dashboard/statistics');
    await page.getByText('Views', { exact: true }).click();
    await page.getByRole('button', { name: /^Delete the view/ }).click();
    await page.getByText('Save these filters under a name').waitFor();
    expect(complaints.filter((one) => !one.includes('400'))).toEqual([]);
    await close();
  });

  test('of an earlier version are moved from the browser to the member, once', async () => {
    const { page, complaints, close } = await dashboard.openAs('developer', WIDE);
    await page.goto('/dashboard/messages');
    await page.getByText('Order 3').waitFor();
    const key = await page.evaluate<string>(
      `fetch('/v1/session').then((answer) => answer.json()).then(({ member }) => 'outbox-views-' + member.id)`,
    );
    const views = [
      { name: 'Bounces', path: '/messages', query: 'status=bounced' },
      { name: 'refused \u202Egnp', path: '/messages', query: '' },
      { name: 'Bounces', path: '/messages', query: 'status=failed' },
      { name: 7, path: '/messages' },
      { name: 'By stream', path: '/statistics', query: 'group_by=stream' },
    ];
    const keep = (text: string) =>
      page.evaluate(([name, stored]) => localStorage.setItem(name ?? '', stored ?? ''), [key, text]);
    const isKept = () => page.evaluate((name) => localStorage.getItem(name) !== null, key);
    await keep(JSON.stringify(views));
    await page.goto('/dashboard/messages');
    await eventually(isKept, (isThere) => !isThere);
    await page.getByText('Views', { exact: true }).click();
    const list = page.getByRole('list', { name: 'Saved views' }).getByRole('link');
    await eventually(
      () => list.allTextContents(),
      (names) => names.join() === 'Bounces',
    );
    await page.goto('/dashboard/statistics');
    await page.getByText('Views', { exact: true }).click();
    await eventually(
      () => list.allTextContents(),
      (names) => names.join() === 'By stream',
    );
    await keep('no list');
    await page.goto('/dashboard/messages');
    await eventually(isKept, (isThere) => !isThere);
    // The browser logs the 400 of the refused view.
    expect(complaints.filter((one) => !one.includes('400'))).toEqual([]);
    await close();
  });

  test('show names from right to left without turning the text around them', async () => {
    const name = 'طلبك في الطريق';
    const { body } = await dashboard.api.get('/v1/domains');
    const key = { name, domain_id: body.data[0].id, permissions: ['read'] };
    const { id } = (await dashboard.api.post('/v1/api-keys', key)).body;
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE);
    for (const path of ['/dashboard/keys', `/dashboard/keys/${id}`]) {
      await page.goto(path);
      const shown = page.getByRole('main').locator('bdi', { hasText: name }).first();
      await shown.waitFor();
      const looks = await page.evaluate(`(() => {
        const one = [...document.querySelectorAll('main bdi')].find(({ textContent }) => textContent.includes('${name}'));
        const { direction, unicodeBidi } = getComputedStyle(one);
        return [direction, unicodeBidi, getComputedStyle(one.parentElement).direction];
      })()`);
      expect([path, looks]).toEqual([path, ['rtl', 'isolate', 'ltr']]);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  test('of a domain leave out the steps that captured mail does not need', async () => {
    const [domain] = (await dashboard.api.get('/v1/domains')).body.data;
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE);
    await page.goto(`/dashboard/domains/${domain.id}`);
    await page.getByText('mail is captured on this machine, so no records are needed').waitFor();
    await page.getByRole('heading', { name: 'DKIM keys' }).waitFor();
    expect(await page.locator('.steps3').count()).toBe(0);
    expect(await page.getByText('Not needed', { exact: true }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('of one message lead to the older and the newer, also without a list', async () => {
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE);
    await page.goto(`/dashboard/messages/${ids[1]}`);
    await page.getByRole('heading', { level: 1, name: 'Order 2' }).waitFor();
    await page.getByRole('button', { name: 'Newer' }).click();
    await page.getByRole('heading', { level: 1, name: 'Order 3' }).waitFor();
    await page.getByRole('button', { name: 'Newer' }).click();
    await eventually(
      () => page.getByRole('button', { name: 'Newer' }).isDisabled(),
      (isDisabled) => isDisabled,
    );
    await page.keyboard.press('j');
    await page.getByRole('heading', { level: 1, name: 'Order 2' }).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { level: 1, name: 'Order 1' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('are saved as CSV with names beside ids', async () => {
    const { page, close } = await dashboard.openAs('owner', WIDE);
    const saved = async (path: string): Promise<readonly string[]> => {
      await page.goto(path);
      await page.getByRole('button', { name: 'CSV' }).and(page.locator(':enabled')).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'CSV' }).click(),
      ]);
      return (await readFile(await download.path(), 'utf8')).split('\r\n');
    };
    await page.goto('/dashboard/messages');
    await page.getByText('first live admin key').first().waitFor();
    const messages = await saved('/dashboard/messages');
    expect(messages[0]).toContain('api_key_id,api_key_name,domain_id,domain_name');
    expect(messages[1]).toMatch(/,key_\w+,first live admin key,dom_\w+,example\.test,/);
    const stats = await saved('/dashboard/statistics?group_by=api_key,domain');
    expect(stats[0]).toMatch(/^start,api_key,domain,api_key_name,domain_name,accepted/);
    expect(stats.find((line) => /,key_/.test(line))).toMatch(/,key_\w+,dom_\w+,first live admin key,example\.test,/);
    await close();
  });

  test('that do not exist have a heading and a way out', async () => {
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE);
    await page.goto('/dashboard/nowhere');
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    expect(await look(page, 'nowhere')).toEqual(FINE);
    await page.getByRole('main').getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});
