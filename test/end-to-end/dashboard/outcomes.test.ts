import { describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { type Dashboard, FINE, type Size, startDashboard, WIDE, WINDOWS } from './support.ts';

const RECIPIENTS = 50;
const BOUNCED = 10;
const HOSTILE = `<b>x</b>.${'long-'.repeat(9)}\u202Eend`;

/** Client of the test environment, in which addresses choose their outcome. */
const testApi = ({ program }: Dashboard) => apiClient(program.baseUrl, program.keys.test);

/** Opens a window that is signed in to both environments. */
const open = async (dashboard: Dashboard, size: Size) => {
  const opened = await dashboard.open(size);
  const keys = JSON.stringify(dashboard.program.keys);
  await opened.page.addInitScript((text) => sessionStorage.setItem('outbox-keys', text), keys);
  return opened;
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
});
