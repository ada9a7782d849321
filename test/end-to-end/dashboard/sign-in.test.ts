import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { look, openWindow } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { freePort } from '../../support/free-port.ts';
import { type OpenIdProvider, startOpenIdProvider } from '../../support/openid-provider.ts';
import { FINE, type Size, startDashboard, WIDE, WINDOWS } from './support.ts';

describe.skipIf(chromiumIsMissing)('signing in', () => {
  let provider: OpenIdProvider;
  const dashboard = startDashboard(undefined, async () => {
    const port = await freePort();
    provider = await startOpenIdProvider(`http://localhost:${port}/dashboard/sign-in/oidc`);
    const { clientId, clientSecret } = provider.client;
    return {
      PORT: String(port),
      OIDC_ISSUER: provider.issuer,
      TRUSTED_PROXIES: '127.0.0.1,::1',
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
    };
  });
  afterAll(() => provider.close());
  let people = 0;

  let spent = 0;

  /** Uses a link from a new address each time: together the tests exceed the sign-in limit. */
  const spend = (url: string): Promise<Response> => {
    spent += 1;
    return fetch(`${dashboard.program.baseUrl}/v1/session`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'sec-fetch-site': 'same-origin',
        'x-forwarded-for': `127.0.2.${spent}`,
      },
      body: JSON.stringify({ token: new URL(url).hash.slice(1) }),
    });
  };

  const invite = async (): Promise<{ readonly email: string; readonly url: string }> => {
    people += 1;
    const email = `person${people}@example.net`;
    const person = { email, name: `<b>Ann</b> ${people}`, role: 'auditor' };
    const { body } = await dashboard.api.post('/v1/members', person);
    return { email, url: body.link.url };
  };

  /** Email address of a member who has accepted the invitation. */
  const join = async (): Promise<string> => {
    const { email, url } = await invite();
    expect((await spend(url)).status).toBe(200);
    return email;
  };

  const open = (size: Size, more: { readonly keepsPolicy?: true } = {}) => {
    const baseUrl = dashboard.program.baseUrl.replace('127.0.0.1', 'localhost');
    return openWindow(dashboard.browser, { baseUrl, ...size, ...more });
  };

  /** Session cookie of an owner who has just signed in, which reading captured links requires. */
  const owner = async (): Promise<string> => {
    const email = `owner${randomUUID()}@example.net`;
    const { body } = await dashboard.api.post('/v1/members', { email, role: 'owner' });
    const answer = await spend(body.link.url);
    return String(answer.headers.get('set-cookie')).split(';')[0] ?? '';
  };

  /** The captured link for an address. */
  const linkTo = async (email: string): Promise<string> => {
    const cookie = await owner();
    const find = async () => {
      const { body } = await dashboard.api.get(`/v1/inbox?to=${email}`);
      const [mail] = body.data;
      if (mail === undefined) return '';
      const answer = await fetch(`${dashboard.program.baseUrl}/v1/inbox/${mail.id}`, { headers: { cookie } });
      return (await answer.text()).replaceAll('\\n', '\n');
    };
    await expect.poll(find, { timeout: 60_000 }).toContain('#ob_link_');
    return /\/dashboard\/sign-in#\w+/.exec(await find())?.[0] ?? '';
  };

  test.each(WINDOWS)('works with a mailed link, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await open(size);
    const name = `${size.theme}-${size.width}`;
    const email = await join();
    await page.goto('/dashboard/messages');
    await page.getByText('Mail is captured and not sent').waitFor();
    expect(await look(page, `sign-in-ways-${name}`)).toEqual(FINE);
    await page.getByLabel('Email address').fill('<img src=x onerror=alert(1)>');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This is not an email address').waitFor();
    await page.getByLabel('Email address').fill(email);
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('A link is on its way').waitFor();
    expect(await look(page, `sign-in-mailed-${name}`)).toEqual(FINE);
    await page.goto(await linkTo(email));
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Not now' }).click();
    await page.waitForURL(/\/dashboard$/);
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
    await close();
  });

  test('works with a mailed link, within the content security policy', async () => {
    const { page, complaints, close } = await open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard');
    await page.getByLabel('Email address').fill('nobody@example.net');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('nobody@example.net').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(WINDOWS)('works with an identity provider, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await open(size);
    const enter = page.getByRole('button', { name: `Sign in with ${new URL(provider.issuer).host}` });
    provider.person = { email: '<script>alert(1)</script>@example.net', email_verified: true };
    await page.goto('/dashboard/messages?status=delivered');
    await enter.click();
    await page.getByRole('alert').getByText('oidc_no_member').waitFor();
    expect(page.url()).toMatch(/\/dashboard\/messages\?status=delivered$/);
    expect(await look(page, `sign-in-provider-${size.theme}-${size.width}`)).toEqual(FINE);
    provider.person = { email: await join(), email_verified: true };
    await page.context().clearCookies(); // the provider must forget the signed-in person
    await enter.click();
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    expect(page.url()).toMatch(/\/dashboard\/messages\?status=delivered$/);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    expect(complaints.filter((text) => !text.includes('403'))).toEqual([]);
    await close();
  });

  test('with an identity provider accepts an invitation only by explicit choice', async () => {
    const { page, complaints, close } = await open(WIDE);
    const { email } = await invite();
    provider.person = { email, email_verified: true };
    await page.goto('/dashboard/messages');
    await page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click();
    await page.getByRole('heading', { name: 'Choose an organization' }).waitFor();
    expect(await look(page, 'sign-in-choice')).toEqual(FINE);
    await page.getByRole('button', { name: /^Join organization/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    await page.goto('/dashboard/settings');
    await page.getByRole('button', { name: 'Switch organization' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('with an identity provider stays within the content security policy, and contacts no other site', async () => {
    const { page, complaints, close } = await open(WIDE, { keepsPolicy: true });
    page.setDefaultTimeout(15_000);
    const { port } = new URL(dashboard.program.baseUrl);
    await page.goto('/dashboard/sign-in/oidc?error=access_denied&error_description=Call+0900&return_to=//evil.example');
    await page.getByRole('alert').getByText('oidc_refused').waitFor();
    expect(await page.getByText('0900').count()).toBe(0);
    expect(page.url()).toBe(`http://localhost:${port}/dashboard`);
    await page.goto('/dashboard/sign-in/oidc?code=x&state=x&iss=javascript:alert(1)');
    await page.getByRole('alert').getByText('oidc_invalid').waitFor();
    expect(page.url()).toBe(`http://localhost:${port}/dashboard`);
    provider.person = { email: await join(), email_verified: true };
    await page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click();
    await page.getByRole('navigation').first().waitFor();
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
    await close();
  });
});
