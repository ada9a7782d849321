import { describe, expect, test } from 'vitest';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

describe.skipIf(chromiumIsMissing)('the API key screens', () => {
  const dashboard = startDashboard();

  test.each(WINDOWS)('rotate a key, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).waitFor();
    const name = `${size.theme}-${size.width}`;
    expect(await look(page, `keys-${name}`)).toEqual(FINE);
    await page.getByText(/^first test admin key/).click();
    await page.getByText('Created with').waitFor();
    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByLabel('End the old secret now').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page
      .getByRole('dialog')
      .getByText(/^ob_test_/)
      .waitFor();
    expect(await look(page, `key-value-${name}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page
      .getByText(/stopped working immediately/)
      .first()
      .waitFor();
    expect(await look(page, `key-${name}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'As of now' }).click();
    await page.keyboard.press('ArrowLeft');
    await page.getByText('One secret works at this moment').waitFor();
    await page.getByText(/^Up to /).waitFor();
    expect(await page.getByRole('button', { name: 'Rotate' }).isDisabled()).toBe(true);
    expect(await look(page, `key-past-${name}`)).toEqual(FINE);
    await page.keyboard.press('t');
    await page.getByRole('button', { name: 'As of now' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('restrict a key, and count down how long its old value works', async () => {
    const { api } = dashboard;
    const [{ id: domain }] = (await api.get('/v1/domains')).body.data;
    const { body: made } = await api.post('/v1/api-keys', { name: 'Shop', domain_id: domain, permissions: ['send'] });
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/keys/${made.id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Shop <b>two</b>');
    await dialog.getByRole('checkbox', { name: /^read/ }).check();
    await dialog.getByLabel('Networks').fill('127.0.0.0/8\n2001:db8::/32');
    await dialog.getByLabel('messages sent').fill('7');
    expect(await look(page, 'key-edit')).toEqual(FINE);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'Shop <b>two</b>' }).waitFor();
    expect((await api.get(`/v1/api-keys/${made.id}`)).body).toMatchObject({
      permissions: ['send', 'read'],
      allowed_cidrs: ['127.0.0.0/8', '2001:db8::/32'],
      rate_limits: { send: 7, read: 1000, manage: 100 },
      expires_at: null,
    });
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Networks').fill('not a network');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/allowed_cidrs/)
      .first()
      .waitFor();
    await dialog.getByRole('button', { name: 'Not now' }).click();
    await page.getByRole('button', { name: 'Rotate' }).click();
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByText(/^grace ends in 2[34] h/).waitFor();
    await page.getByText(/The previous secret, …\w{4}, works until/).waitFor();
    expect(await look(page, 'key-grace')).toEqual(FINE);
    await page.clock.setFixedTime(Date.now() + 48 * 3_600_000);
    await page.reload();
    await page.getByText(/The previous secret, …\w{4}, worked until/).waitFor();
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
    await close();
  });

  test('violate no content security policy', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).click();
    await page.getByText('Created with').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});
