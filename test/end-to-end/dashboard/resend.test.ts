import { describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, NARROW, startDashboard, WIDE } from './support.ts';

describe.skipIf(chromiumIsMissing)('sending again', () => {
  const ids: string[] = [];

  const dashboard = startDashboard(async ({ program }) => {
    const api = apiClient(program.baseUrl, program.keys.test);
    for (const at of [1, 2, 3]) {
      const { body } = await api.post('/v1/messages/send', {
        from: 'shop@example.test',
        to: [`bounced+${at}@sandbox.outbox.test`, `delivered+${at}@sandbox.outbox.test`],
        subject: `Order ${at}`,
        text: 'Hello',
      });
      ids.push(body.id);
    }
    for (const id of ids)
      await eventually(
        () => api.get(`/v1/messages/${id}`),
        ({ body }) => body.partial === true,
      );
  });

  test.each([WIDE, NARROW])('from the message links both messages, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.openAs('developer', size);
    const id = ids[size === WIDE ? 0 : 1] ?? '';
    await page.goto(`/dashboard/messages/${id}?environment=test`);
    await page.getByRole('button', { name: 'Send again' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send this message again?' });
    await dialog.getByText(/^bounced\+\d@sandbox/).waitFor();
    expect(await dialog.getByText(/^delivered\+\d@sandbox/).count()).toBe(0);
    expect(await look(page, `resend-${size.width}`)).toEqual(FINE);
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Sends again', { exact: true }).waitFor();
    await page.locator(`aside a[href*="${id}"]`).click();
    await page.getByText('Sent again as', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Send again' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('of selected messages says how many were sent, and why others were not', async () => {
    const { page, complaints, close } = await dashboard.openAs('developer', WIDE);
    await page.goto('/dashboard/messages?environment=test&subject=Order');
    await page.getByText('Order 3').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByRole('button', { name: 'Send 1 again' }).waitFor();
    for (let at = 0; at < 4; at += 1) {
      await page.keyboard.press('j');
      await page.keyboard.press('x');
    }
    await page.getByRole('button', { name: 'Send 5 again' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send 5 messages again?' });
    await dialog.getByRole('button', { name: 'Send 5 again' }).click();
    await dialog.getByRole('heading', { name: /^Sent again: \d of 5/ }).waitFor();
    await dialog.getByText(/not sent: it was sent again before/).waitFor();
    expect(await look(page, 'resend-picked')).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('is not offered to analysts', async () => {
    const { page, close } = await dashboard.openAs('analyst', WIDE);
    await page.goto(`/dashboard/messages/${ids[2]}?environment=test`);
    await page.getByRole('region', { name: 'Explanation' }).waitFor();
    expect(await page.getByRole('button', { name: 'Send again' }).count()).toBe(0);
    await close();
  });
});
