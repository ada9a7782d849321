import { describe, expect, test } from 'vitest';
import { apiClient } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '<img src=x onerror="window.ran=1"> \u202Egnp.exe';
const MAIL = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Your bill', text: 'Hello.' };

describe.skipIf(chromiumIsMissing)('the refused requests screen', () => {
  let keyId: string;
  let malformed: string;
  const dashboard = startDashboard(async ({ api, program }) => {
    const { body: domains } = await api.get('/v1/domains');
    const key = { name: 'Shop', domain_id: domains.data[0].id, permissions: ['send'] };
    const { body } = await api.post('/v1/api-keys', key);
    keyId = body.id;
    const shop = apiClient(program.baseUrl, body.value ?? body.key);
    await api.get('/v1/topics/nothing');
    await shop.post('/v1/messages/send', { ...MAIL, [HOSTILE]: HOSTILE, stream: 'bulky' });
    const answer = await fetch(`${program.baseUrl}/v1/messages/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${body.value ?? body.key}`, 'content-type': 'application/json' },
      body: '{\n  "from": "shop@example.test",\n  "to": "ann@example.net"\n  "subject": "Your bill"\n}',
    });
    malformed = String(answer.headers.get('x-request-id'));
  });

  test.each(WINDOWS)('shows why and where, by error and by key, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard/requests');
    await page.getByRole('region', { name: 'Body' }).getByText('***@example.net').waitFor();
    await page.getByText('line 4, column 3').waitFor();
    await page.getByText('3 requests were refused').waitFor();
    expect(await page.getByRole('region', { name: 'Body' }).locator('mark').innerText()).toBe('…');
    expect(await page.locator('body').innerText()).not.toMatch(/ann@|Your bill/);
    expect(await look(page, `requests-${size.theme}-${size.width}`)).toEqual(FINE);
    await page.getByRole('region', { name: 'By error' }).getByRole('link', { name: 'invalid_request' }).click();
    await page.getByRole('region', { name: 'Body' }).locator('mark', { hasText: '"bulky"' }).waitFor();
    await page.waitForURL(({ searchParams }) => searchParams.get('code') === 'invalid_request');
    expect(await look(page, `requests-one-line-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('is reached from a request id, from a key, and with the keyboard only', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto(`/dashboard/keys/${keyId}`);
    await page.getByRole('link', { name: 'Refused requests' }).click();
    await page.getByText('2 requests were refused').waitFor();
    await page.getByRole('button', { name: 'Remove key Shop' }).click();
    await page.getByText('3 requests were refused').waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(({ searchParams }) => searchParams.has('request'));
    await page.getByRole('heading', { level: 2, name: 'invalid_request' }).waitFor();
    await page.keyboard.press('k');
    await page.getByRole('heading', { level: 2, name: 'invalid_json' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill(malformed);
    await page.keyboard.press('Enter');
    await page.waitForURL(({ searchParams }) => searchParams.get('request') === malformed);
    await page.getByRole('heading', { level: 2, name: 'invalid_json' }).waitFor();
    await page.goto('/dashboard/requests?status=403');
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.goto(`/dashboard/requests?request=req_${'0'.repeat(32)}`);
    await page.getByRole('link', { name: 'Messages from this request' }).waitFor();
    // The browser logs a 404 for an unknown id.
    expect(complaints.filter((text) => !text.includes('404 (Not Found)'))).toEqual([]);
    await close();
  });

  test('shows no body without the right to see contents, and an empty state when nothing was refused', async () => {
    const { page, close } = await dashboard.openAs('analyst', WIDE);
    await page.goto(`/dashboard/requests?request=${malformed}`);
    await page.getByText('Your role cannot see request bodies').waitFor();
    expect(await page.getByRole('region', { name: 'Body' }).count()).toBe(0);
    await page.goto('/dashboard/requests?environment=test&code=not_found');
    await page.getByText('No matching requests').waitFor();
    await close();
  });
});
