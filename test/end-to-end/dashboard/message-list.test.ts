import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

describe.skipIf(chromiumIsMissing)('the message list', () => {
  const send = async (mail: object): Promise<string> => {
    const { status, body } = await dashboard.api.post('/v1/messages/send', {
      from: 'Shop <shop@example.test>',
      to: 'ann@example.net',
      text: 'Hello',
      ...mail,
    });
    expect([status, body]).toEqual([202, body]);
    return body.id;
  };
  const statusOf = async (id: string): Promise<string> => (await dashboard.api.get(`/v1/messages/${id}`)).body.status;

  const dashboard = startDashboard(async ({ api }) => {
    await send({ subject: '=HYPERLINK("https://elsewhere.example")', to: 'csv@example.net' });
    for (let at = 0; at < 4; at += 1) {
      await send({ subject: `Waits ${at}`, to: `later${at}@waits.example`, scheduled_at: inAnHour() });
    }
    const id = await send({ subject: 'Delivered', tags: [{ name: 'kind', value: 'order' }] });
    await eventually(
      () => api.get(`/v1/messages/${id}`),
      ({ body }) => body.status === 'delivered',
    );
  });

  test('is searched with operators, whose values are suggested, and narrowed by clicking a cell', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/messages');
    await page.getByText('Waits 3').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('key:');
    await page.getByRole('option', { name: 'key:"first live admin key"' }).click();
    await page.keyboard.press('Enter');
    await page.waitForURL(({ searchParams }) => searchParams.get('key_id')?.startsWith('key_') === true);
    await page.getByRole('button', { name: 'Remove key_id' }).click();
    await page.waitForURL(({ searchParams }) => !searchParams.has('key_id'));
    for (const [text, parameter] of [
      ['recipient_domain:waits.example', ['recipient_domain', 'waits.example']],
      ['status:scheduled', ['status', 'scheduled']],
      ['code:550', ['smtp_code', '550']],
      ['domain:example.test', ['domain_id', expect.stringMatching(/^dom_/)]],
      ['since:2026-01-01', ['since', '2026-01-01T00:00:00.000Z']],
      ['to:wait', ['to', 'wait']],
    ] as const) {
      await page.getByLabel('Search messages').fill(text);
      await page.keyboard.press('Enter');
      await page.waitForURL(({ searchParams }) => searchParams.has(parameter[0]));
      expect([...new URL(page.url()).searchParams]).toContainEqual(parameter);
    }
    await page.getByText('No matching messages').waitFor();
    await page.goto('/dashboard/messages');
    await page.getByText('kind:order').hover();
    await page.keyboard.press('f');
    await page.waitForURL(({ searchParams }) => searchParams.get('tag') === 'kind:order');
    await eventually(
      () => page.locator('.virtual .lr').count(),
      (rows) => rows === 1,
    );
    expect(complaints).toEqual([]);
    await close();
  });

  test('takes several filters at once, and shows each as a chip that can be removed', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/messages');
    await page.getByText('Waits 3').waitFor();
    const field = page.getByLabel('Search messages');
    await field.fill('status:delivered to:ann@exa tag:order since:2d');
    await page.keyboard.press('Enter');
    await page.waitForURL(({ searchParams }) => searchParams.has('since'));
    const { searchParams } = new URL(page.url());
    expect(['status', 'to', 'tag', 'period'].map((name) => searchParams.get(name))).toEqual([
      ...['delivered', 'ann@exa', 'order', null],
    ]);
    await page.locator('.lr', { hasText: 'ann@example.net' }).waitFor();
    expect(await field.inputValue()).toBe('');
    for (const name of ['status', 'to', 'tag', 'since'])
      await page.getByRole('button', { name: `Remove ${name}`, exact: true }).click();
    await page.waitForURL(({ searchParams: left }) => [...left].length === 0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('finds messages by the time of an outcome, with completion and chips', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/messages');
    await page.getByText('Waits 3').waitFor();
    const field = page.getByLabel('Search messages');
    await field.fill('outcome_s');
    await page.getByRole('option', { name: /^outcome_since:/ }).click();
    expect(await field.inputValue()).toBe('outcome_since:');
    await page.keyboard.type('to');
    await page.getByRole('option', { name: 'outcome_since:today' }).click();
    await page.keyboard.press('Enter');
    // Without an outcome, its time would filter nothing.
    await page.getByText('outcome_since needs an outcome that happens at a time').waitFor();
    await field.fill('outcome:delivered outcome_since:2d outcome_until:2099-01-01');
    await page.keyboard.press('Enter');
    await page.locator('.lr', { hasText: 'ann@example.net' }).waitFor();
    await page.getByText('Waits 3').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Remove outcome_until', exact: true }).click();
    await page.waitForURL(({ searchParams }) => !searchParams.has('outcome_until'));
    const { searchParams } = new URL(page.url());
    expect(Date.parse(searchParams.get('outcome_since') ?? '')).toBeLessThan(Date.now());
    expect(complaints).toEqual([]);
    await close();
  });

  test('has no chart where outcomes cannot be counted, and offers every status', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages?status=delivered&subject=waits&period=all');
    await page.getByText('No chart: outcomes are not counted by status or subject.').waitFor();
    expect(await page.getByRole('region', { name: /^Outcomes by/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Remove status', exact: true }).click();
    await page.getByText('No chart: outcomes are not counted by subject.').waitFor();
    await page.getByRole('button', { name: 'Remove subject', exact: true }).click();
    await page.getByRole('region', { name: /^Outcomes by/ }).waitFor();
    await page.goto('/dashboard/messages?outcome=delivered&period=all');
    await page.getByText('The chart shows all outcomes.').waitFor();
    const field = page.getByLabel('Search messages');
    await field.pressSequentially('status:');
    await page.getByRole('option', { name: 'status:delivered' }).waitFor();
    const list = page.getByRole('listbox', { name: 'Completions' });
    expect(await list.getByRole('option').count()).toBe(15);
    await page.keyboard.press('ArrowUp');
    const last = list.getByRole('option', { selected: true });
    const [own, whole] = [await last.boundingBox(), await list.boundingBox()];
    expect((own?.y ?? 0) + (own?.height ?? 0)).toBeLessThanOrEqual((whole?.y ?? 0) + (whole?.height ?? 0));
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(WINDOWS)('never ends in a dead form, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    const name = `${size.theme}-${size.width}`;
    await page.goto('/dashboard/messages?period=all');
    await page.getByText('Waits 3').waitFor();
    const field = page.getByLabel('Search messages');
    await field.pressSequentially('sta');
    await page
      .getByRole('option', { name: /^status:/ })
      .first()
      .waitFor();
    expect(await look(page, `messages-offers-${name}`)).toEqual(FINE);
    const typed = 'statsu:scheduled to:waits key:unknown since:unclear';
    await field.fill(typed);
    await page.keyboard.press('Enter');
    await page.getByText('“statsu” is not a filter').waitFor();
    await page.getByText('“unclear” is not a time').waitFor();
    expect(await field.inputValue()).toBe(typed);
    expect(new URL(page.url()).searchParams.has('to')).toBe(false);
    expect(await look(page, `messages-problems-${name}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'Use status:scheduled' }).click();
    for (const _ of ['key', 'since']) {
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Remove it' }).last().click();
    }
    await page.keyboard.press('Enter');
    await page.waitForURL(({ searchParams }) => searchParams.get('status') === 'scheduled');
    await page.getByText('Waits 0').waitFor();
    expect(await look(page, `messages-chips-${name}`)).toEqual(FINE);
    // A link with a value that the API refuses has ways out.
    await page.goto('/dashboard/messages?status=bogus&to=ann');
    await page.getByRole('link', { name: 'Remove status' }).click();
    await page.waitForURL(({ searchParams }) => !searchParams.has('status') && searchParams.get('to') === 'ann');
    await page.getByText('ann@example.net').first().waitFor();
    expect(complaints.filter((one) => !one.includes('400'))).toEqual([]);
    await close();
  });

  test('completes with the keyboard alone', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages?period=all');
    await page.getByText('Waits 3').waitFor();
    await page.keyboard.press('/');
    for (const text of ['status:sched', 'tag:kind']) {
      await page.keyboard.type(text);
      await page.getByRole('option').first().waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Tab');
    }
    await expect.poll(() => page.getByLabel('Search messages').inputValue()).toBe('status:scheduled tag:kind:order ');
    await page.keyboard.press('Enter');
    await page.waitForURL(({ searchParams }) => searchParams.get('tag') === 'kind:order');
    await page.getByText('1 without the status filter').or(page.getByText('1 with another status')).waitFor();
    await close();
  });

  test('shows what would match with another filter', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages?status=bounced&to=csv@example.net');
    await page.getByText('1 with another status').waitFor();
    expect(await look(page, 'messages-none')).toEqual(FINE);
    await page.getByRole('link', { name: 'Any status' }).click();
    await page.getByText('HYPERLINK').waitFor();
    await close();
  });

  test('can be navigated, opened and returned to with the keyboard', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages');
    await page.getByText('Waits 3').waitFor();
    for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
    const selected = await page.locator('[data-selected]').getAttribute('data-selected');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Explanation' }).waitFor();
    expect(page.url()).toContain(`/messages/${selected}`);
    await page.keyboard.press('Escape');
    await page.locator(`[data-selected="${selected}"]`).waitFor();
    await page.goto('/dashboard/messages?recipient_domain=waits.example');
    await page.getByText('Waits 2').click();
    for (const [key, subject] of [
      ['', 'Waits 2'],
      ['j', 'Waits 1'],
      ['j', 'Waits 0'],
      ['j', 'Waits 0'],
      ['k', 'Waits 1'],
    ] as const) {
      if (key !== '') await page.keyboard.press(key);
      await page.getByRole('heading', { level: 1, name: subject }).waitFor();
    }
    const older = page.getByRole('button', { name: 'Older' });
    const newer = page.getByRole('button', { name: 'Newer' });
    expect(await look(page, 'message-beside')).toEqual(FINE);
    await older.click();
    await page.getByRole('heading', { level: 1, name: 'Waits 0' }).waitFor();
    expect([await older.isDisabled(), await newer.isDisabled()]).toEqual([true, false]);
    await newer.click();
    await page.getByRole('heading', { level: 1, name: 'Waits 1' }).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL(/recipient_domain=waits\.example/);
    expect(await page.locator('[data-selected]').innerText()).toContain('Waits 1');
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Waits 1' }).waitFor();
    // A message that is opened directly has all messages next to it.
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Waits 1' }).waitFor();
    await older.click();
    await page.getByRole('heading', { level: 1, name: 'Waits 0' }).waitFor();
    await close();
  });

  test('exports what it shows as a file without formulas', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages');
    await page.getByText('HYPERLINK').waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const text = await readFile(await (await saved).path(), 'utf8');
    expect(text.split('\r\n')[0]).toBe(
      'id,created_at,status,partial,from,to,subject,tags,api_key_id,api_key_name,domain_id,domain_name,message_id',
    );
    expect(text).toContain(`"'=HYPERLINK(""https://elsewhere.example"")"`);
    await close();
  });

  test('cancels selected messages, and all that match once they were counted', async () => {
    const ids = await Promise.all(
      [0, 1, 2].map((at) => send({ subject: `Bulk ${at}`, to: `b${at}@bulk.example`, scheduled_at: inAnHour() })),
    );
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages?recipient_domain=bulk.example');
    await page.getByText('Bulk 2').waitFor();
    await page.keyboard.press('j');
    await page.locator('[data-selected]').waitFor();
    await page.keyboard.press('x');
    await page.getByRole('button', { name: 'Cancel 1' }).click();
    expect(await look(page, 'messages-cancel')).toEqual(FINE);
    const one = page.getByRole('dialog').getByRole('button', { name: 'Cancel 1' });
    expect(await one.isDisabled()).toBe(true);
    await page.getByLabel('Type 1 to confirm').fill('1');
    await one.click();
    await page.getByText('Cancelled 1').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('button', { name: 'Cancel matching' }).click();
    await page.getByText('Waiting messages that match: 2').waitFor();
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Cancel matching' });
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel('Type cancel matching to confirm').fill('cancel matching');
    await confirm.click();
    await page.getByText('Cancelled 2').waitFor();
    expect(await Promise.all(ids.map(statusOf))).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect(complaints).toEqual([]);
    await close();
  });

  test('updates rows in place, even if another screen has loaded a message before', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByText('Needs attention').waitFor();
    await page.getByRole('link', { name: 'Messages', exact: true }).click();
    await page.getByRole('img', { name: /^Live:/ }).waitFor();
    const id = await send({ subject: 'Cancelled later', to: 'later@example.net', scheduled_at: inAnHour() });
    const row = page.locator('.lr', { hasText: 'Cancelled later' });
    await row.waitFor();
    expect((await dashboard.api.post(`/v1/messages/${id}/cancel`, {})).status).toBe(200);
    await row.getByText('Cancelled').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});
