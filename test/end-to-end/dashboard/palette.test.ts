import { describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '<img src=x onerror=alert(1)>';

describe.skipIf(chromiumIsMissing)('the command palette', { timeout: 240_000 }, () => {
  let messageId = '';
  let requestId = '';
  let eventId = '';
  let webhookId = '';

  const dashboard = startDashboard(async ({ api }) => {
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: HOSTILE, text: 'Sent.' };
    const sent = await api.post('/v1/messages/send', mail);
    [messageId, requestId] = [sent.body.id, sent.headers.get('x-request-id') ?? ''];
    const url = 'https://localhost:1/hook';
    webhookId = (await api.post('/v1/webhooks', { url, events: ['message.*'] })).body.id;
    await api.post('/v1/suppressions', { address: 'bob@example.net' });
    const { body } = await eventually(
      () => api.get(`/v1/messages/${messageId}/events`),
      (answer) => answer.body.data.length > 0,
    );
    eventId = body.data[0].id;
  });

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
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('region', { name: 'Go to' }).getByText('Overview').waitFor();
    expect(await look(page, `keys-of-keyboard-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('opens for a key press before the browser reports that it was closed', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).waitFor();
    await page.keyboard.press('Control+k');
    const search = page.getByRole('combobox', { name: 'Search or jump to' });
    const closeAndPress = (pressed: string) =>
      page.evaluate(`
        document.querySelector('dialog[open]').close();
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { ${pressed}, bubbles: true }));`);
    await search.waitFor();
    await closeAndPress("key: 'k', ctrlKey: true");
    await search.fill('nobody@example.com');
    await page.getByText('No results').waitFor();
    await closeAndPress("key: '?'");
    await page.getByRole('region', { name: 'Go to' }).getByText('Overview').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
    await close();
  });

  test('finds ids of the other environment, and offers the switch', async () => {
    const { program } = dashboard;
    const test = apiClient(program.baseUrl, program.keys.test);
    const to = ['tom@example.net', 'bounced@sandbox.outbox.test'];
    const mail = { from: 'shop@example.test', to, subject: 'Only a test', text: 'Sent.' };
    const { body } = await test.post('/v1/messages/send', mail);
    await eventually(
      () => test.get(`/v1/messages/${body.id}`),
      (answer) => answer.body.partial === true,
    );
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).waitFor();
    const search = page.getByRole('combobox', { name: 'Search or jump to' });
    const read: string[] = [];
    page.on('request', (request) => read.push(new URL(request.url()).pathname));
    await page.keyboard.press('Control+k');
    await search.fill(body.id);
    await page.getByRole('option', { name: /In the test environment: Message .*Partly delivered, 1 of 2/ }).waitFor();
    expect(await look(page, 'palette-elsewhere')).toEqual(FINE);
    // Each reading is recorded for the audit: a search shows the state of a message without one.
    expect(read).toContain('/v1/search');
    expect(read).not.toContain(`/v1/messages/${body.id}`);
    await page.keyboard.press('Enter');
    await page.waitForURL(
      ({ pathname, searchParams }) =>
        pathname === `/dashboard/messages/${body.id}` && searchParams.get('environment') === 'test',
    );
    await page.getByRole('heading', { level: 1, name: 'Only a test' }).waitFor();
    await page.keyboard.press('Control+k');
    await search.fill(messageId);
    await page.getByRole('option', { name: /In the live environment: Message .*Delivered/ }).waitFor();
    await page.getByRole('option', { name: /In the live environment: Message/ }).click();
    await page.waitForURL(
      ({ pathname, searchParams }) =>
        pathname === `/dashboard/messages/${messageId}` && !searchParams.has('environment'),
    );
    expect(complaints).toEqual([]);
    await close();
  });

  test('resolves pasted ids, finds things by name, and follows the shortcuts that begin with G', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/keys');
    await page.getByText(/^first test admin key/).waitFor();
    const message = `/dashboard/messages/${messageId}`;
    for (const [text, path, parameter] of [
      [messageId, message, null],
      ['ann@example.net', '/dashboard/messages', ['to', 'ann@example.net']],
      ['bob@example.net', '/dashboard/suppressions', ['address', 'bob@example.net']],
      ['example.net', '/dashboard/messages', ['recipient_domain', 'example.net']],
      [requestId, '/dashboard/messages', ['request_id', requestId]],
      [`<${messageId}@example.test>`, message, null],
      [eventId, message, null],
      [webhookId, `/dashboard/webhooks/${webhookId}`, null],
      ['localhost:1/h', `/dashboard/webhooks/${webhookId}`, null],
      [HOSTILE, '/dashboard/messages', ['subject', HOSTILE]],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search or jump to' }).fill(text);
      await page.keyboard.press('Enter');
      // Two of these have the same URL. The palette must be closed before the next input.
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.waitForURL(
        ({ pathname, searchParams }) =>
          pathname === path && (parameter === null || searchParams.get(parameter[0]) === parameter[1]),
      );
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill('nobody@example.com');
    await page.getByText('No results').waitFor();
    expect(await look(page, 'palette-nothing')).toEqual(FINE);
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill('ann@example.net');
    await page.getByRole('option', { name: 'Messages to ann@example.net' }).waitFor();
    expect(await look(page, 'palette-found')).toEqual(FINE);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or jump to' }).fill('first live');
    await page.getByRole('option', { name: 'first live admin key' }).click();
    await page.waitForURL(/\/dashboard\/keys\/key_/);
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.waitForURL(/\/dashboard\/domains$/);
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: 'Turn letter shortcuts off' }).click();
    await page.keyboard.press('g');
    await page.keyboard.press('k');
    await page.waitForTimeout(200);
    expect(new URL(page.url()).pathname).toBe('/dashboard/domains');
    expect(complaints).toEqual([]);
    await close();
  });
});
