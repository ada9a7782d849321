import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { look, openWindow, type Window } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, type Size, startDashboard, WIDE, WINDOWS } from './support.ts';

/** A phone or a key, as Chromium pretends to have it. */
const AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

describe.skipIf(chromiumIsMissing)('passkeys', () => {
  const dashboard = startDashboard();
  let people = 0;

  const invite = async (): Promise<string> => {
    people += 1;
    const email = `person${people}@example.net`;
    const { body } = await dashboard.api.post('/v1/members', { email, name: `<b>Ann</b> ${people}`, role: 'auditor' });
    return `/dashboard/sign-in${new URL(body.link.url).hash}`;
  };

  /** At the name of the host, which passkeys need. */
  const open = async (size: Size, more: { readonly keepsPolicy?: true } = {}) => {
    const baseUrl = dashboard.program.baseUrl.replace('127.0.0.1', 'localhost');
    const opened = await openWindow(dashboard.browser, { baseUrl, ...size, ...more });
    const devTools = await opened.page.context().newCDPSession(opened.page);
    await devTools.send('WebAuthn.enable');
    const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR });
    return {
      ...opened,
      forgetVerification: () => devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false }),
    };
  };

  const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();

  const signOut = async ({ page }: Pick<Window, 'page'>, { width }: Size): Promise<void> => {
    if (width < 760) await press(page, 'Menu');
    await press(page, 'Sign out');
    await page.getByLabel('API key').waitFor();
  };

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
    await page.getByRole('alert').getByText('has a passkey of yours already').waitFor();
    await list.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No passkeys').waitFor();
    await signOut(opened, size);
    await press(page, 'Sign in with a passkey');
    await page.getByRole('alert').getByText('This passkey was removed').waitFor();
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
    await close();
  });

  test('can wait, and need whoever signs in to be verified, within the policy of the page', async () => {
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
