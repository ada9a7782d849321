import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look, openWindow, type Window } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { operator } from '../../support/operator.ts';
import { FINE, type Size, startDashboard, WIDE, WINDOWS } from './support.ts';

describe.skipIf(chromiumIsMissing)('members', () => {
  const dashboard = startDashboard();
  let people = 0;

  const invite = async (role: string): Promise<string> => {
    people += 1;
    const { status, body } = await dashboard.api.post('/v1/members', {
      email: `person${people}@example.net`,
      name: `Person <b>${people}</b>`,
      role,
    });
    expect(status).toBe(201);
    return new URL(body.link.url).hash;
  };

  /** A window without keys. */
  const open = (size: Size, more: { readonly keepsPolicy?: true } = {}): Promise<Window> =>
    openWindow(dashboard.browser, { baseUrl: dashboard.program.baseUrl, ...size, ...more });

  const signIn = async (page: Page, role: string): Promise<void> => {
    await page.goto(`/dashboard/sign-in${await invite(role)}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  };

  test.each(WINDOWS)('sign in with a link, invite others and sign out, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await open(size);
    const name = `${size.theme}-${size.width}`;
    const token = await invite('owner');
    await page.goto(`/dashboard/sign-in${token}`);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await look(page, `sign-in-link-${name}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/\/dashboard$/); // the token is removed from the URL
    await page.goto('/dashboard/settings');
    await page.getByRole('list', { name: 'Members' }).waitFor();
    await page.getByText('this browser').waitFor();
    expect(await look(page, `settings-${name}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByLabel('Email address').fill(`new-${name}@example.net`);
    await page.getByRole('radio', { name: /analyst/ }).check();
    await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click();
    await page.getByText(/#ob_link_\w{49}/).waitFor();
    expect(await look(page, `settings-link-${name}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    const invited = page.getByRole('listitem').filter({ hasText: `new-${name}@example.net` });
    await invited.getByText(/invited, until/).waitFor();
    await invited.getByRole('button', { name: 'Renew' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Renew' }).click();
    await page.getByText(/#ob_link_\w{49}/).waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await invited.getByRole('button', { name: 'Withdraw' }).click();
    const withdraw = page.getByRole('dialog').getByRole('button', { name: 'Withdraw' });
    expect(await withdraw.isDisabled()).toBe(true);
    await page.getByLabel(/to confirm/).fill(`new-${name}@example.net`);
    await withdraw.click();
    await invited.waitFor({ state: 'detached' });
    if (size.width < 760) await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    await page.reload();
    await page.getByLabel('API key').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('change the settings of their organization, and see why a value is invalid', async () => {
    const { page, complaints, close } = await open(WIDE);
    await signIn(page, 'owner');
    await page.goto('/dashboard/settings');
    await page.getByText('after 12 h of inactivity').waitFor();
    const dialog = page.getByRole('dialog');
    const change = page.getByRole('button', { name: 'Change' });
    await change.first().click();
    await dialog.getByLabel('Name').fill('Nordlys <i>Books</i>');
    await dialog.getByLabel(/^Idle session time-out/).fill('60');
    await dialog.getByLabel(/^\/v1/).selectOption('any HTML that a browser shows');
    await dialog.getByLabel(/^SMTP/).selectOption('valid HTML only');
    await dialog.getByLabel('Time zone').fill('Europe/Nowhere');
    expect(await look(page, 'settings-change')).toEqual(FINE);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/timezone/)
      .first()
      .waitFor();
    await dialog.getByLabel('Time zone').fill('Europe/Oslo');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('after 1 h of inactivity').waitFor();
    await page.getByText('/v1: any HTML that a browser shows; ').waitFor();
    const { body } = await dashboard.api.get('/v1/organization');
    expect(body).toMatchObject({ name: 'Nordlys <i>Books</i>', timezone: 'Europe/Oslo', session_idle_minutes: 60 });
    expect(body.html_validation).toEqual({ api: 'browser', compat: 'browser', smtp: 'strict' });
    expect([body.session_hours, body.content_retention_days, body.contact]).toEqual([168, 30, null]);
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
    await close();
  });

  test('see the contents of mail while an owner allows it to their role', async () => {
    const { api } = dashboard;
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Your parcel', text: 'Soon.' };
    const { id } = (await api.post('/v1/messages/send', mail)).body;
    const [owner, analyst] = [await open(WIDE), await open(WIDE)];
    await signIn(owner.page, 'owner');
    await signIn(analyst.page, 'analyst');
    const heading = async (): Promise<string> => {
      await analyst.page.goto(`/dashboard/messages/${id}`);
      await analyst.page.getByRole('region', { name: 'Explanation' }).waitFor();
      return analyst.page.getByRole('heading', { level: 1 }).innerText();
    };
    expect(await heading()).not.toContain('Your parcel');
    const dialog = owner.page.getByRole('dialog');
    const allow = async (isAllowed: boolean): Promise<void> => {
      await owner.page.getByRole('button', { name: 'Message contents' }).click();
      await dialog.getByRole('checkbox', { name: /^Analysts/ }).setChecked(isAllowed);
      if (isAllowed) expect(await look(owner.page, 'settings-contents')).toEqual(FINE);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'hidden' });
    };
    await owner.page.goto('/dashboard/settings');
    await owner.page.getByText('owners, developers', { exact: true }).waitFor();
    await allow(true);
    await owner.page.getByText('owners, developers, analysts', { exact: true }).waitFor();
    expect(await heading()).toContain('Your parcel');
    await allow(false);
    await owner.page.getByText('owners, developers', { exact: true }).waitFor();
    expect(await heading()).not.toContain('Your parcel');
    await owner.page.goto('/dashboard/audit');
    await owner.page
      .getByText(/changed which roles see mail contents/)
      .first()
      .waitFor();
    expect(owner.complaints).toEqual([]);
    await owner.close();
    await analyst.close();
  });

  test('switch organization by a mailed link, which only the owner of the address gets', async () => {
    const { page, complaints, close } = await dashboard.openAs('developer', WIDE);
    await page.goto('/dashboard/settings');
    await page.getByRole('button', { name: 'Switch organization by mail' }).click();
    await page
      .getByText('A sign-in link for each of your organizations is on its way to developer@example.net')
      .waitFor();
    await eventually(
      () => dashboard.api.get('/v1/inbox?to=developer@example.net'),
      ({ body }) => body.data.some(({ confidential }: { readonly confidential: boolean }) => confidential),
    );
    await page.goto('/dashboard/messages');
    const notice = page.locator('.lr', { hasText: 'Your sign-in link' }).first();
    await notice.getByText('service', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('of two organizations switch between them by the mailed link', async () => {
    const { organization_id: id } = await operator(dashboard.place, 'organizations', 'create', '--name', 'Second Ltd');
    const email = 'two@example.net';
    await dashboard.api.post('/v1/members', { email, name: 'Two', role: 'analyst' }).then(async ({ body }) => {
      const { page, close } = await open(WIDE);
      await page.goto(`/dashboard/sign-in${new URL(body.link.url).hash}`);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('analyst', { exact: true }).waitFor();
      await close();
    });
    const elsewhere = ['--organization', id, '--email', email, '--role', 'developer', '--name', 'Two'];
    const { link } = await operator(dashboard.place, 'members', 'invite', ...elsewhere);
    const { page, complaints, close } = await open(WIDE);
    await page.goto(`/dashboard/sign-in${new URL(link).hash}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Second Ltd').first().waitFor();
    await page.goto('/dashboard/settings');
    await page.getByRole('button', { name: 'Switch organization by mail' }).click();
    await page.getByText('Mail is captured and not sent: the link is in the inbox').waitFor();
    expect(await look(page, 'settings-switch')).toEqual(FINE);

    const owner = await dashboard.openAs('owner', WIDE);
    await owner.page.goto('/dashboard/inbox?to=two%40example.net');
    await owner.page
      .getByRole('link', { name: /Your sign-in link/ })
      .first()
      .click();
    const text = await owner.page.locator('pre', { hasText: '#ob_link_' }).innerText();
    await owner.close();
    await page.goto(`/dashboard/sign-in${/#ob_link_\w+/.exec(text)?.[0]}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('analyst', { exact: true }).waitFor();
    expect(await page.getByText('Second Ltd').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('use up a link only with the button, and only once', async () => {
    const token = await invite('developer');
    const [one, other] = [await open(WIDE), await open(WIDE)];
    for (const { page } of [one, other]) {
      await page.goto(`/dashboard/sign-in${token}`);
      await page.reload();
    }
    await one.page.getByRole('button', { name: 'Sign in' }).click();
    await one.page.getByText('developer', { exact: true }).waitFor();
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByRole('alert').waitFor();
    expect(await other.page.getByRole('button', { name: 'Sign out' }).count()).toBe(0);
    await one.close();
    await other.close();
  });

  test('ignore redirect targets in the address of a sign-in link', async () => {
    const { page, close } = await open(WIDE);
    const token = await invite('developer');
    await page.goto(`/dashboard/sign-in?next=https://evil.example/&redirect=//evil.example${token}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(new URL(page.url()).href).toBe(`${dashboard.program.baseUrl}/dashboard`);
    await close();
  });

  test.each(['developer', 'analyst', 'auditor'] as const)('see as %s what their role shows', async (role) => {
    const { page, close } = await open(WIDE);
    await signIn(page, role);
    await page.getByText(role, { exact: true }).waitFor();
    await page.goto('/dashboard/settings');
    if (role === 'auditor') await page.getByText('@example.net').first().waitFor();
    else await page.getByText('Owners manage the organization and its members.').waitFor();
    for (const name of ['Invite', 'Role', 'Link', 'Renew', 'Remove', 'Withdraw', 'End'])
      expect([name, await page.getByRole('button', { name, exact: true }).count()]).toEqual([name, 0]);
    await page.goto('/dashboard/messages?environment=test');
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    await close();
  });

  test('see the browser, address and start of each session', async () => {
    const { page, complaints, close } = await open(WIDE);
    await signIn(page, 'owner');
    await page.goto('/dashboard/settings');
    const own = page.getByRole('list', { name: 'Sessions' }).getByRole('listitem').filter({ hasText: 'this browser' });
    await own.getByText(/Chrome \d+ on Linux, 127\.0\.0\.1, since \d/).waitFor();
    // A program is no browser, and another browser has a session of its own.
    const other = await page.context().browser()?.newContext({
      baseURL: dashboard.program.baseUrl,
      userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:128.0) Gecko/20100101 Firefox/128.0',
    });
    const second = await other?.newPage();
    await second?.goto(`/dashboard/sign-in${await invite('analyst')}`);
    await second?.getByRole('button', { name: 'Sign in' }).click();
    await second?.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.reload();
    const row = page.getByRole('listitem').filter({ hasText: 'Firefox 128' });
    await row.getByText(/Firefox 128 on macOS, 127\.0\.0\.1/).waitFor();
    await row.getByRole('button', { name: 'End' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
    await row.waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
    await other?.close();
    await close();
  });

  test('violate no content security policy', async () => {
    const { page, complaints, close } = await open(WIDE, { keepsPolicy: true });
    await signIn(page, 'owner');
    await page.goto('/dashboard/settings');
    await page.getByText('this browser').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('are signed out within a second after their session is ended', async () => {
    const { page, close } = await open(WIDE);
    await signIn(page, 'owner');
    await page.goto('/dashboard/settings');
    const { body } = await dashboard.api.get('/v1/sessions');
    for (const { id } of body.data) await dashboard.api.delete(`/v1/sessions/${id}`);
    // Sign-out needs no user action: the stream of events ends and is not reopened.
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await page.getByRole('button', { name: 'Discard and sign out' }).click();
    await page.getByLabel('API key').waitFor();
    await close();
  });
});
