import { describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '<script>window.ran = 1</script>\u202Egnp.exe';
const ROWS_MAX = 100;

describe.skipIf(chromiumIsMissing)('the events screen', () => {
  const send = (to: string) =>
    dashboard.api.post('/v1/messages/send', { from: 'shop@example.test', to, subject: HOSTILE, text: 'Hello.' });
  const dashboard = startDashboard(async ({ api }) => {
    await send('ann@example.net');
    const [{ id }] = (await api.get('/v1/domains')).body.data;
    await api.post('/v1/api-keys', { name: HOSTILE, domain_id: id, permissions: ['send'] });
    await api.post('/v1/suppressions', { address: 'ben@example.net' });
  });

  test.each(WINDOWS)('shows events, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard/events');
    await page.getByText('message.delivered').first().waitFor();
    await page.getByText('gnp.exe').first().waitFor();
    await page
      .getByRole('button', { name: /^JSON of/ })
      .first()
      .click();
    await page.getByRole('region', { name: /^Event/ }).waitFor();
    expect(await look(page, `events-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('follows events by type, pauses and resumes, and links to the subject of an event', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/events?types=message.delivered');
    await page.getByText('live', { exact: true }).waitFor();
    await send('first@example.net');
    await page.getByText('first@example.net').waitFor();
    expect(await page.getByText('message.accepted').count()).toBe(0);
    await page.keyboard.press('p');
    await send('second@example.net');
    await page.getByRole('button', { name: 'Resume, 1 new' }).waitFor();
    expect(await page.getByText('second@example.net').count()).toBe(0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('link', { name: 'second@example.net' }).click();
    await page.getByRole('region', { name: 'Explanation' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('lists the existing types when one is unknown', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/events');
    await page.getByLabel('Types, separated by commas').fill('message.eaten');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('message.accepted');
    await close();
  });

  test('keeps a readable number of rows when thousands of events arrive', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/events?types=message.*');
    await page.getByText('live', { exact: true }).waitFor();
    const mail = (at: number) => ({
      from: 'shop@example.test',
      to: `n${at}@example.net`,
      subject: 'Hi',
      text: 'Hello.',
    });
    const [{ id }] = (await dashboard.api.get('/v1/domains')).body.data;
    const { body } = await dashboard.api.post('/v1/api-keys', {
      ...{ name: 'Many', domain_id: id, permissions: ['send'], rate_limits: { send: 10_000 } },
    });
    const many = apiClient(dashboard.program.baseUrl, body.key);
    for (let batch = 0; batch < 5; batch += 1) {
      const messages = Array.from({ length: 100 }, (_, at) => mail(batch * 100 + at));
      expect((await many.post('/v1/messages/batch', { messages })).status).toBe(202);
    }
    const came = async (): Promise<number> =>
      Number(/([\d,]+) since you opened/.exec(await page.locator('.sub').innerText())?.[1]?.replace(',', '') ?? 0);
    await eventually(came, (events) => events >= 1_500);
    expect(await page.getByRole('list', { name: 'Events' }).getByRole('listitem').count()).toBe(ROWS_MAX);
    expect(complaints).toEqual([]);
    await close();
  });
});
