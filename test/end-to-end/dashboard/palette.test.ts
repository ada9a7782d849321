import { describe, expect, test } from 'vitest';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const ID = `msg_${'a'.repeat(26)}`;

describe.skipIf(chromiumIsMissing)('the palette', () => {
  const dashboard = startDashboard();

  test.each(WINDOWS)('lists screens and actions, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).waitFor();
    await page.keyboard.press('Control+k');
    await page
      .getByRole('option', { name: 'Show times in UTC' })
      .or(page.getByRole('option', { name: 'Show local times' }))
      .waitFor();
    expect(await look(page, `palette-${size.theme}-${size.width}`)).toEqual(FINE);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.keyboard.press('?');
    await page.getByText('go to Overview').waitFor();
    expect(await look(page, `keys-of-keyboard-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('resolves what is pasted, finds things by name, and goes where G says', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).waitFor();
    for (const [text, path, parameter] of [
      [ID, `/dashboard/messages/${ID}`, null],
      ['ann@example.net', '/dashboard/messages', ['to', 'ann@example.net']],
      ['451 4.7.1', '/dashboard/messages', ['smtp_code', '451 4.7.1']],
      ['example.net', '/dashboard/messages', ['recipient_domain', 'example.net']],
      [`req_${'0'.repeat(32)}`, '/dashboard/messages', ['request_id', `req_${'0'.repeat(32)}`]],
      [`<${ID}@example.test>`, '/dashboard/messages', ['message_id', `<${ID}@example.test>`]],
      ['<img src=x onerror=alert(1)>', '/dashboard/messages', ['subject', '<img src=x onerror=alert(1)>']],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search or jump to' }).fill(text);
      await page.keyboard.press('Enter');
      await page.waitForURL(
        ({ pathname, searchParams }) =>
          pathname === path && (parameter === null || searchParams.get(parameter[0]) === parameter[1]),
      );
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill('first live');
    await page.getByRole('option', { name: 'first live admin key' }).click();
    await page.waitForURL(/\/dashboard\/keys\/key_/);
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.waitForURL(/\/dashboard\/domains$/);
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: 'Turn letters off as shortcuts' }).click();
    await page.keyboard.press('g');
    await page.keyboard.press('k');
    await page.waitForTimeout(200);
    expect(new URL(page.url()).pathname).toBe('/dashboard/domains');
    // The browser notes that there is no message of the id that was pasted.
    expect(complaints.filter((text) => !text.includes('404 (Not Found)'))).toEqual([]);
    await close();
  });
});
