import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '<script>window.ran = 1</script><img src=x onerror="window.ran = 1"> \u202Egnp.exe';

describe.skipIf(chromiumIsMissing)('the inbox', () => {
  const send = (to: string, subject: string) =>
    dashboard.api.post('/v1/messages/send', {
      from: 'Shop <shop@example.test>',
      to,
      subject,
      text: `Hello ${HOSTILE}`,
      html: `<p>Hello</p>${HOSTILE}`,
      attachments: [{ filename: 'invoice.txt', content: btoa('eleven euros'), content_type: 'text/plain' }],
    });

  const dashboard = startDashboard(async ({ api }) => {
    await send('ann@example.net', HOSTILE);
    await send('bob@example.net', 'Your order has shipped');
    await eventually(
      () => api.get('/v1/inbox'),
      ({ body }) => body.data.length === 2,
    );
  });

  test.each(WINDOWS)('shows captured mail, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard/inbox');
    await page.getByText('gnp.exe').waitFor();
    const name = `${size.theme}-${size.width}`;
    expect(await look(page, `inbox-${name}`)).toEqual(FINE);
    await page.getByText('gnp.exe').click();
    await page.getByText(/^Hello <script>/).waitFor();
    expect(await look(page, `captured-${name}`)).toEqual(FINE);
    await page.getByRole('link', { name: 'Headers' }).click();
    await page.getByText('MIME-Version', { exact: true }).waitFor();
    expect(await look(page, `captured-headers-${name}`)).toEqual(FINE);
    await page.getByRole('link', { name: 'Source' }).click();
    await page.getByText(/Content-Type: multipart/).waitFor();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('saves attachments, and deletes unwanted mail, within its content security policy', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/inbox');
    await page.getByText('Your order has shipped').waitFor();
    await send('late@example.net', 'This came while you looked');
    await page.getByText('This came while you looked').click();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save' }).click();
    expect((await saved).suggestedFilename()).toBe('invoice.txt');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Your order has shipped').waitFor();
    await page.getByText('This came while you looked').waitFor({ state: 'detached' });
    await page.getByLabel('Part of the subject').fill('no such subject');
    await page.keyboard.press('Enter');
    await page.getByText('No matching mail').waitFor();
    expect((await dashboard.api.get('/v1/inbox')).body.data).toHaveLength(2);

    await page.getByLabel('Part of the subject').fill('has shipped');
    await page.keyboard.press('Enter');
    await page.getByText('Your order has shipped').waitFor();
    await page.getByRole('button', { name: 'Delete listed mail' }).click();
    const remove = page.getByRole('dialog').getByRole('button', { name: 'Delete listed mail' });
    expect(await remove.isDisabled()).toBe(true);
    await page.getByLabel('Type delete mail to confirm').fill('delete mail');
    await remove.click();
    await page.getByText('Your order has shipped').waitFor({ state: 'detached' });
    expect((await dashboard.api.get('/v1/inbox')).body.data).toHaveLength(1);
    expect(complaints).toEqual([]);
    await close();
  });
});
