import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../../support/api-client.ts';
import { openWindow } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';
import { startDashboard, WIDE } from './support.ts';

/** From the first start to signing out, in the browser alone. */
describe.skipIf(chromiumIsMissing)('a user who starts the service', () => {
  const dashboard = startDashboard();
  let hook: Awaited<ReturnType<typeof startWebhookReceiver>>;
  beforeAll(async () => {
    hook = await startWebhookReceiver();
  });
  afterAll(() => hook.close());

  test('finds everything it does in its dashboard', async () => {
    const { program, browser } = dashboard;
    const { page, complaints, close } = await openWindow(browser, {
      baseUrl: program.baseUrl,
      ...WIDE,
      keepsPolicy: true,
    });
    const dialog = page.getByRole('dialog');
    const open = (name: string) => page.getByRole('link', { name, exact: true }).click();
    const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click();
    const confirm = (name: string) => dialog.getByRole('button', { name, exact: true }).click();
    const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor();

    // The sign-in link printed at the start.
    const [printed = ''] = /\/dashboard\/sign-in#ob_link_\w+/.exec(program.output()) ?? [];
    await page.goto(printed);
    await press('Sign in');
    await heading(/./);

    await open('Settings');
    await press('Invite');
    await dialog.getByLabel('Email address').fill('ben@example.net');
    await dialog.getByRole('radio', { name: /analyst/ }).check();
    await confirm('Invite');
    await dialog.getByText(/#ob_link_\w{49}/).waitFor();
    await press('I have copied it');
    await page.getByText('ben@example.net').first().waitFor();

    await open('Domains');
    await press('Add a domain');
    await dialog.getByLabel('Domain name').fill('news.nordlys.example');
    await page.keyboard.press('Enter');
    await heading('news.nordlys.example');
    await page
      .getByText(/_domainkey\.news\.nordlys\.example/)
      .first()
      .waitFor();

    await open('API keys');
    await press('Create a key');
    await dialog.getByLabel('Name', { exact: true }).fill('The shop');
    await dialog.getByLabel('Sending domain').selectOption('example.test');
    await confirm('Create a key');
    const key = await dialog.getByText(/^ob_live_/).innerText();
    await press('I have copied it');

    await open('Webhooks');
    await press('Add a webhook');
    await dialog.getByLabel('Endpoint URL').fill(hook.url);
    await confirm('Add a webhook');
    await press('I have copied it');

    // New mail from the shop arrives while the list is open.
    await open('Messages');
    await page.getByRole('img', { name: /^Live:/ }).waitFor();
    const mail = {
      from: 'shop@example.test',
      to: 'ann@example.net',
      subject: 'Your order has shipped',
      html: '<p>Soon.</p>',
    };
    const sent = await apiClient(program.baseUrl, key).post('/v1/messages/send', mail);
    expect(sent.status).toBe(202);
    await page.getByText('Your order has shipped').first().click();
    await heading('Your order has shipped');
    await page.locator('.head').getByText('Delivered', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Preview' }).click();
    await page.frameLocator('iframe').getByText('Soon.').waitFor();

    await open('API keys');
    await page.getByRole('link', { name: /The shop/ }).click();
    await heading('The shop');
    await press('Rotate');
    await confirm('Rotate');
    await dialog.getByText(/^ob_live_/).waitFor();
    await press('I have copied it');

    await open('Templates');
    await press('Create a template');
    await dialog.getByLabel('Name', { exact: true }).fill('Welcome');
    await page.keyboard.press('Enter');
    await heading('Welcome');
    await page.getByRole('textbox', { name: 'Source of the HTML' }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('<p>Good to see you.</p>');
    await page.getByText('Draft saved').waitFor();
    await press('Publish version 1');
    await confirm('Publish version 1');
    await page.getByText('Version 1 is live').waitFor();

    await open('Webhooks');
    await page.getByRole('link').filter({ hasText: hook.url }).click();
    await page.getByRole('link').filter({ hasText: 'message.delivered' }).first().click();
    const posted = hook.posts.length;
    await press('Send now');
    await eventually(
      async () => hook.posts.length,
      (posts) => posts > posted,
    );

    // The event reaches the log, and then the screen, a moment later.
    await open('Audit');
    const resent = page.getByRole('link', { name: /First owner resent a webhook delivery/ });
    await resent.click();
    await page.getByRole('region', { name: 'Proof' }).waitFor();

    await open('Statistics');
    await page
      .getByRole('link', { name: /1 delivered/ })
      .first()
      .waitFor();

    await open('Audit');
    await page.getByRole('link', { name: /First owner rotated an API key/ }).click();
    await page.getByRole('region', { name: 'Proof' }).getByRole('button', { name: 'Sign now' }).click();
    await page.getByText('Verified here').waitFor();
    await page.getByText('The log is intact.').waitFor();

    await press('Sign out');
    await page.getByLabel('API key').waitFor();
    await page.goto('/dashboard/messages');
    await page.getByLabel('API key').waitFor();
    // The browser logs the 409 of a proof for an entry that is not signed yet.
    expect(complaints.filter((text) => !text.includes('409 (Conflict)'))).toEqual([]);
    await close();
  }, 240_000);
});
