import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, NARROW, startDashboard, WIDE } from './support.ts';

/** Typed text and secrets that are shown once survive Escape, the back button and the end of a session. */

describe.skipIf(chromiumIsMissing)('the dashboard loses nothing', () => {
  const dashboard = startDashboard();
  const inDialog = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });

  test('that is shown once: only its button closes it', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages');
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Create a key' }).first().click();
    await page.getByLabel('Name').fill('shown once');
    await inDialog(page, 'Create a key').click();
    const secret = page.getByText(/^ob_live_\w+$/);
    const shown = await secret.innerText();
    for (const key of ['Escape', 'Escape', 'Escape', 'g', 'm']) await page.keyboard.press(key);
    await page.mouse.click(5, 5);
    await page.goBack();
    await page.goBack().catch(() => undefined);
    expect(await secret.innerText()).toBe(shown);
    expect(new URL(page.url()).pathname).toBe('/dashboard/keys');
    await inDialog(page, 'I have copied it').click();
    await secret.waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: 'Messages' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('that is typed into a dialog: Escape asks', async () => {
    const { page, complaints, close } = await dashboard.open(NARROW);
    await page.goto('/dashboard/webhooks');
    const open = page.getByRole('button', { name: 'Add a webhook' }).first();
    await open.click();
    await page.keyboard.press('Escape');
    await page.getByLabel('Endpoint URL').waitFor({ state: 'hidden' });
    await open.click();
    await page.getByLabel('Endpoint URL').fill('https://example.com/typed');
    await page.keyboard.press('Escape');
    await page.getByText('Discard what you typed?').waitFor();
    expect(await look(page, 'discard-390')).toEqual(FINE);
    await inDialog(page, 'Keep editing').click();
    expect(await page.getByLabel('Endpoint URL').inputValue()).toBe('https://example.com/typed');
    await page.keyboard.press('Escape');
    await inDialog(page, 'Discard').click();
    await page.getByLabel('Endpoint URL').waitFor({ state: 'hidden' });
    expect(complaints).toEqual([]);
    await close();
  });

  test('of unsaved settings: leaving asks, by a link and by the back button', async () => {
    const domainId = (await dashboard.api.get('/v1/domains')).body.data[0].id;
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/domains');
    await page.getByRole('link').filter({ hasText: 'example.test' }).first().click();
    const name = page.getByLabel('Name on recipient pages');
    await name.fill('Nordlys');
    await page.getByText('Not saved yet').waitFor();
    await page.getByRole('link', { name: 'Messages' }).first().click();
    await page.getByText('Leave without saving?').waitFor();
    expect(await look(page, 'leave-1280')).toEqual(FINE);
    await inDialog(page, 'Stay').click();
    await page.goBack();
    await page.getByText('Leave without saving?').waitFor();
    await inDialog(page, 'Stay').click();
    expect(await name.inputValue()).toBe('Nordlys');
    expect(new URL(page.url()).pathname).toBe(`/dashboard/domains/${domainId}`);
    await page.goBack();
    await inDialog(page, 'Leave').click();
    await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor();
    expect((await dashboard.api.get(`/v1/domains/${domainId}`)).body.branding).toBe(null);
    expect(complaints).toEqual([]);
    await close();
  });

  test('when a session ends: it says so, and continues where it was after signing in again', async () => {
    const { page, close } = await dashboard.openAs('developer', WIDE);
    await page.goto('/dashboard/webhooks');
    await page.getByRole('button', { name: 'Add a webhook' }).first().click();
    await page.getByLabel('Endpoint URL').fill('http://127.0.0.1:9/typed');
    const { data } = (await dashboard.api.get('/v1/sessions')).body;
    const own = data.find((one: { member_name: string }) => one.member_name === 'The developer');
    await dashboard.api.delete(`/v1/sessions/${own.id}`);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await page.getByText('Sign in again as The developer to continue.').waitFor();
    expect(await look(page, 'ended-1280')).toEqual(FINE);
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();

    const { url } = (await dashboard.api.post(`/v1/members/${own.member_id}/links`, {})).body;
    const other = await page.context().newPage();
    await other.goto(`/dashboard/sign-in${new URL(url).hash}`);
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.bringToFront();
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'hidden' });
    expect(await page.getByLabel('Endpoint URL').inputValue()).toBe('http://127.0.0.1:9/typed');
    await inDialog(page, 'Add a webhook').click();
    await inDialog(page, 'I have copied it').click();
    const added = await eventually(
      () => dashboard.api.get('/v1/webhooks'),
      ({ body }) => body.data.length > 0,
    );
    expect(added.body.data[0].url).toBe('http://127.0.0.1:9/typed');
    await close();
  });

  test('of a key by one click: revoking it asks for its name', async () => {
    const domainId = (await dashboard.api.get('/v1/domains')).body.data[0].id;
    const asked = { name: 'to be revoked', domain_id: domainId, permissions: ['send'] };
    const { id } = (await dashboard.api.post('/v1/api-keys', asked)).body;
    const { page, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/keys/${id}`);
    await page.getByRole('button', { name: 'Revoke' }).click();
    expect(await inDialog(page, 'Revoke').isDisabled()).toBe(true);
    await page.getByLabel(/to confirm/).fill('to be revoked');
    await inDialog(page, 'Revoke').click();
    await eventually(
      () => dashboard.api.get(`/v1/api-keys/${id}`),
      ({ body }) => body.status === 'revoked',
    );
    await close();
  });
});
