import { describe, expect, test } from 'vitest';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

describe.skipIf(chromiumIsMissing)('the screens of API keys', () => {
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
    await page.getByLabel('End the old value now').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page.getByText(/^ob_test_/).waitFor();
    expect(await look(page, `key-value-${name}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'It is stored' }).click();
    await page
      .getByText(/ended at once/)
      .first()
      .waitFor();
    expect(await look(page, `key-${name}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'As of now' }).click();
    await page.keyboard.press('ArrowLeft');
    await page.getByText('One value works at this moment').waitFor();
    await page.getByText(/^Up to /).waitFor();
    expect(await page.getByRole('button', { name: 'Rotate' }).isDisabled()).toBe(true);
    expect(await look(page, `key-past-${name}`)).toEqual(FINE);
    await page.keyboard.press('t');
    await page.getByRole('button', { name: 'As of now' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('do nothing that their policy forbids', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).click();
    await page.getByText('Created with').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});
