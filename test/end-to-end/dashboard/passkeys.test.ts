import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { look, openWindow, type Window } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, type Size, startDashboard, WIDE, WINDOWS } from './support.ts';

/** Sets the clock of the service ahead on a signal. */
const CLOCK = new URL('../../support/clock-ahead.ts', import.meta.url).href;

/** A platform authenticator, emulated by Chromium. */
const AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

describe.skipIf(chromiumIsMissing)('passkeys', () => {
  const dashboard = startDashboard(undefined, async () => ({
    NODE_OPTIONS: `--import=${CLOCK}`,
    TRUSTED_PROXIES: '127.0.0.1,::1',
  }));
  let people = 0;
  let windows = 0;

  const invite = async (role = 'auditor'): Promise<string> => {
    people += 1;
    const email = `person${people}@example.net`;
    const { body } = await dashboard.api.post('/v1/members', { email, name: `<b>Ann</b> ${people}`, role });
    return `/dashboard/sign-in${new URL(body.link.url).hash}`;
  };

  /** Opens the page at a host name, which passkeys require. */
  const open = async (size: Size, more: { readonly keepsPolicy?: true } = {}) => {
    const baseUrl = dashboard.program.baseUrl.replace('127.0.0.1', 'localhost');
    const opened = await openWindow(dashboard.browser, { baseUrl, ...size, ...more });
    windows += 1;
    // All windows together exceed the sign-in limit of one client.
    await opened.page.context().setExtraHTTPHeaders({ 'x-forwarded-for': `127.0.1.${windows}` });
    const devTools = await opened.page.context().newCDPSession(opened.page);
    await devTools.send('WebAuthn.enable');
    const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR });
    return {
      ...opened,
      /** Ids of the passkeys on the virtual device. */
      passkeysOnDevice: async () =>
        (await devTools.send('WebAuthn.getCredentials', { authenticatorId })).credentials.map(
          ({ credentialId }) => credentialId,
        ),
      forgetVerification: () => devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false }),
    };
  };

  const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();

  const signOut = async ({ page }: Pick<Window, 'page'>, { width }: Size): Promise<void> => {
    if (width < 760) await press(page, 'Menu');
    await press(page, 'Sign out');
    await page.getByLabel('API key').waitFor();
  };

  test('can be added by the first owner without another proof, long after signing in with the first link', async () => {
    const { page, complaints, close } = await open(WIDE);
    const link = /#ob_link_\w{49}/.exec(dashboard.program.output())?.[0] ?? '';
    await page.goto(`/dashboard/sign-in${link}`);
    await press(page, 'Sign in');
    await press(page, 'Not now');
    await page.waitForURL(/\/dashboard$/);
    await page.goto('/dashboard/settings');
    await page.getByText('No passkeys').waitFor();
    dashboard.program.child.kill('SIGUSR2');
    await press(page, 'Add a passkey');
    await page.getByRole('list', { name: 'Your passkeys' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(WINDOWS)('are offered, sign in, and are removed, $theme, $width pixels wide', async (size) => {
    const opened = await open(size);
    const { page, complaints, close } = opened;
    const name = `${size.theme}-${size.width}`;
    await page.goto(await invite());
    await press(page, 'Sign in');
    await page.getByRole('button', { name: 'Add a passkey' }).waitFor();
    expect(await look(page, `passkey-offer-${name}`)).toEqual(FINE);
    await press(page, 'Add a passkey');
    await page.waitForURL(/\/dashboard$/);
    await signOut(opened, size);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    expect(await look(page, `passkey-sign-in-${name}`)).toEqual(FINE);
    await press(page, 'Sign in with a passkey');
    await page.getByLabel('API key').waitFor({ state: 'detached' });
    await page.goto('/dashboard/settings');
    const list = page.getByRole('list', { name: 'Your passkeys' });
    await list.getByText('on one device').waitFor();
    expect(await look(page, `passkeys-${name}`)).toEqual(FINE);
    await press(page, 'Add a passkey');
    await page.getByRole('alert').getByText('You already have a passkey on this device').waitFor();
    await list.getByRole('button', { name: 'Remove' }).click();
    await page.getByLabel('Type remove passkey to confirm').fill('remove passkey');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No passkeys').waitFor();
    await signOut(opened, size);
    await press(page, 'Sign in with a passkey');
    await page.getByRole('alert').getByText('This passkey was removed').waitFor();
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
    await close();
  });

  test('can be removed by an owner when a device is lost', async () => {
    const lost = await open(WIDE);
    await lost.page.goto(await invite('developer'));
    const name = `<b>Ann</b> ${people}`;
    await press(lost.page, 'Sign in');
    await press(lost.page, 'Add a passkey');
    await lost.page.waitForURL(/\/dashboard$/);
    const { page, close } = await open(WIDE);
    await page.goto(await invite('owner'));
    await press(page, 'Sign in');
    await press(page, 'Not now');
    await page.goto('/dashboard/settings');
    const row = page.getByRole('list', { name: 'Members' }).getByRole('listitem').filter({ hasText: name });
    await row.getByRole('button', { name: '1 passkey' }).click();
    const dialog = page.getByRole('dialog', { name: `Remove a passkey of ${name}?` });
    await dialog.getByRole('radio', { name: /^Added / }).check();
    expect(await look(page, 'settings-passkey')).toEqual(FINE);
    expect(await dialog.getByRole('button', { name: 'Remove' }).isDisabled()).toBe(true);
    await dialog.getByLabel(/to confirm/).fill(name);
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await row.getByRole('button', { name: '1 passkey' }).waitFor({ state: 'detached' });
    await close();
    await signOut(lost, WIDE);
    await press(lost.page, 'Sign in with a passkey');
    await lost.page.getByRole('alert').getByText('This passkey was removed').waitFor();
    await lost.close();
  });

  const inviteSomebody = async (page: Page, email: string): Promise<void> => {
    await press(page, 'Invite');
    await page.getByLabel('Email address').fill(email);
    await page.getByRole('dialog', { name: 'Invite a member' }).getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor();
  };

  test.each([WIDE, { theme: 'dark', width: 390 } as const])(
    'confirm that it is still the member, $theme, $width pixels wide',
    async (size) => {
      const { page, complaints, close } = await open(size, size === WIDE ? { keepsPolicy: true } : {});
      const name = `${size.theme}-${size.width}`;
      await page.goto(await invite('owner'));
      await press(page, 'Sign in');
      await press(page, 'Add a passkey');
      await page.waitForURL(/\/dashboard$/);
      await page.goto('/dashboard/settings');
      await page.getByRole('list', { name: 'Your passkeys' }).waitFor();
      dashboard.program.child.kill('SIGUSR2');
      await inviteSomebody(page, `late-${name}@example.net`);
      await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
      if (size !== WIDE) expect(await look(page, `presence-${name}`)).toEqual(FINE);
      await press(page, 'Use a passkey');
      await page.getByText(/#ob_link_\w{49}/).waitFor(); // the interrupted request was completed
      await press(page, 'I have copied it');
      await page.getByText(`late-${name}@example.net`).first().waitFor();
      expect(complaints.filter((text) => !text.includes('403'))).toEqual([]);
      await close();
    },
  );

  test('are not needed by a member with a fresh link, and nothing happens if the member cancels', async () => {
    const { page, close } = await open(WIDE);
    await page.goto(await invite('owner'));
    await press(page, 'Sign in');
    await press(page, 'Not now');
    await page.waitForURL(/\/dashboard$/);
    await page.goto('/dashboard/settings');
    await page.getByText('No passkeys').waitFor();
    const email = `person${people}@example.net`;
    dashboard.program.child.kill('SIGUSR2');
    await inviteSomebody(page, 'other@example.net');
    const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
    await dialog.getByRole('button', { name: 'Not now' }).click();
    await page.getByRole('dialog', { name: 'Invite a member' }).getByText('confirm that it is you').waitFor();
    await page.getByRole('dialog', { name: 'Invite a member' }).getByRole('button', { name: 'Invite' }).click();
    const { data } = (await dashboard.api.get('/v1/members')).body;
    const { id } = data.find((member: { readonly email: string }) => member.email === email);
    const { body } = await dashboard.api.post(`/v1/members/${id}/links`, {});
    await dialog.getByLabel('New sign-in link').fill('http://localhost/dashboard/sign-in#<b>');
    await dialog.getByRole('button', { name: 'Use the link' }).click();
    await dialog.getByText('This is not a sign-in link.').waitFor();
    expect(await look(page, 'presence-by-link')).toEqual(FINE);
    await dialog.getByLabel('New sign-in link').fill(body.url);
    await dialog.getByRole('button', { name: 'Use the link' }).click();
    await page.getByText(/#ob_link_\w{49}/).waitFor();
    await close();
  });

  test('are created only after members confirm their presence; the dialog shows the complete command', async () => {
    const { page, passkeysOnDevice, close } = await open(WIDE);
    await page.goto(await invite('owner'));
    await press(page, 'Sign in');
    await press(page, 'Not now');
    await page.waitForURL(/\/dashboard$/);
    await page.goto('/dashboard/settings');
    await page.getByText('No passkeys').waitFor();
    dashboard.program.child.kill('SIGUSR2');
    await press(page, 'Add a passkey');
    const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
    await dialog.getByText(/^outbox members link --member mbr_[a-z2-7]{26} --organization org_[a-z2-7]{26}$/).waitFor();
    await dialog.getByRole('button', { name: 'Not now' }).click();
    await page.getByRole('button', { name: 'Add a passkey', disabled: false }).waitFor();
    expect(await passkeysOnDevice()).toEqual([]);
    await press(page, 'Add a passkey');
    const { data } = (await dashboard.api.get('/v1/members')).body;
    const { id } = data.find((member: { readonly email: string }) => member.email === `person${people}@example.net`);
    const { body } = await dashboard.api.post(`/v1/members/${id}/links`, {});
    await dialog.getByLabel('New sign-in link').fill(body.url);
    await dialog.getByRole('button', { name: 'Use the link' }).click();
    await page.getByRole('list', { name: 'Your passkeys' }).waitFor();
    expect(await passkeysOnDevice()).toHaveLength(1);
    await close();
  });

  test('can be postponed, and require user verification, within the content security policy', async () => {
    const opened = await open(WIDE, { keepsPolicy: true });
    const { page, complaints, close } = opened;
    await page.goto(await invite());
    await press(page, 'Sign in');
    await press(page, 'Not now');
    await page.waitForURL(/\/dashboard$/);
    await page.goto('/dashboard/settings');
    await page.getByText('No passkeys').waitFor();
    await press(page, 'Add a passkey');
    await page.getByRole('list', { name: 'Your passkeys' }).waitFor();
    await signOut(opened, WIDE);
    await opened.forgetVerification();
    await press(page, 'Sign in with a passkey');
    await page.getByRole('button', { name: 'Sign in with a passkey', disabled: false }).waitFor();
    expect(await page.getByLabel('API key').count()).toBe(1);
    expect(complaints).toEqual([]);
    await close();
  });
});
