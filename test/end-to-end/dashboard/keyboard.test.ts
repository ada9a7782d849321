import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Keyboard, keyboardOf } from './keyboard.ts';
import { type Role, startDashboard, WIDE } from './support.ts';

/** Every purpose of the dashboard, without a mouse. */

const SUSPENDED = {
  object: 'suspended_destination',
  destination: 'mx.example.net',
  reason: 'unreachable',
  message: 'it does not answer',
  since: new Date(Date.now() - 60_000).toISOString(),
  until: new Date(Date.now() + 60_000).toISOString(),
  times: 3,
  smtp: { code: 421, enhanced: '4.7.0', mx: 'mx.example.net' },
};

describe.skipIf(chromiumIsMissing)('with the keyboard only', { timeout: 240_000 }, () => {
  let hook: Awaited<ReturnType<typeof startWebhookReceiver>>;
  const dashboard = startDashboard();
  const unseen = new Set<string>();

  beforeAll(async () => {
    hook = await startWebhookReceiver();
    const { api } = dashboard;
    await api.post('/v1/webhooks', { url: hook.url, events: ['message.*'] });
    await api.post('/v1/domains', { name: 'news.nordlys.example' });
    await api.post('/v1/templates', { alias: 'order', name: 'Order', subject: 'An order', html: '<p>Soon.</p>' });
    await api.post('/v1/suppressions', { address: 'eve@example.net', note: 'by telephone' });
    const mail = { from: 'shop@example.test', subject: 'Your order', text: 'Soon.' };
    await api.post('/v1/messages/send', { ...mail, to: 'eve@example.net', subject: 'Not for Eve' });
    const scheduled = { scheduled_at: new Date(Date.now() + 3_600_000).toISOString() };
    for (const at of [1, 2])
      await api.post('/v1/messages/send', { ...mail, ...scheduled, to: `b${at}@bulk.example`, subject: `Bulk ${at}` });
    for (const path of ['messages/send', 'webhooks', 'domains', 'templates'])
      expect((await api.post(`/v1/${path}`, {})).status).toBe(400);
    await eventually(
      async () => hook.posts.length,
      (posts) => posts > 2,
    );
  });
  afterAll(() => hook?.close());

  /** Works as a member of the role whose job it is. */
  const sit = async (role: Role, walk: (page: Page, keyboard: Keyboard) => Promise<void>): Promise<void> => {
    const { page, complaints, close } = await dashboard.openAs(role, WIDE, { keepsPolicy: true });
    await page.goto('/dashboard');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await walk(page, keyboardOf(page, unseen));
    // The browser logs the 409 of a proof for an entry that is not signed yet.
    expect(complaints.filter((text) => !text.includes('409 (Conflict)'))).toEqual([]);
    await close();
  };

  test.concurrent('a key can be created, rotated, and viewed in the past', () =>
    sit('developer', async (page, keyboard) => {
      const { go, confirm, follow, type } = keyboard;
      await go('k', 'API keys');
      await confirm('Create a key', () => type('Name', 'The shop'), 'I have copied it');
      await follow(/The shop/);
      await page.getByRole('heading', { level: 1, name: 'The shop' }).waitFor();
      await confirm('Rotate', undefined, 'I have copied it');
      await page.keyboard.press('t');
      await page.getByText('As it was on').waitFor();
      await page.keyboard.press('ArrowLeft');
      await page.getByText('One secret works at this moment').waitFor();
      await page.keyboard.press('t');
      await page.getByText('As it was on').waitFor({ state: 'detached' });
    }));

  test.concurrent('a message explains why it did not arrive, and waiting messages can be cancelled in bulk', () =>
    sit('developer', async (page, { go, confirm, type }) => {
      await go('m', 'Messages');
      await page.getByText('Not for Eve').waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('to:eve@example.net');
      await page.keyboard.press('Enter');
      await page.getByText('Bulk 2').waitFor({ state: 'detached' });
      await page.keyboard.press('Escape');
      await page.keyboard.press('j');
      await page.locator('[data-selected]').waitFor();
      await page.keyboard.press(' ');
      await page.locator('.peek').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('.peek').waitFor({ state: 'detached' });
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Not for Eve' }).waitFor();
      await page
        .locator('.why')
        .getByText(/suppress/)
        .first()
        .waitFor();
      await page.keyboard.press('3');
      await page.waitForURL(/tab=/);
      await page.keyboard.press('Escape');
      await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
      await go('m', 'Messages');
      await page.getByText('Bulk 2').waitFor();
      // Returning to the list selects the previous row.
      for (const subject of ['Bulk 1', 'Bulk 2']) {
        await page.keyboard.press('k');
        await page.locator('[data-selected]', { hasText: subject }).waitFor();
        await page.keyboard.press('x');
      }
      await confirm('Cancel 2', () => type('Type 2 to confirm', '2'), 'Done');
      await page.locator('.lr', { hasText: 'Bulk 1' }).getByText('Cancelled').waitFor();
    }));

  test.concurrent('a template can be edited, previewed, tested and published', () =>
    sit('developer', async (page, { go, follow, reach, confirm, type }) => {
      await go('t', 'Templates');
      await follow(/Order/);
      await page.frameLocator('iframe:not(.behind)').getByText('Soon.').waitFor();
      await reach(page.getByRole('textbox', { name: 'Source of the HTML' }));
      await page.keyboard.press('Control+End');
      await page.keyboard.type('<p>Thank you.</p>');
      await reach(page.getByRole('button', { name: 'Phone' }));
      await page.keyboard.press('Enter');
      await page.frameLocator('iframe:not(.behind)').getByText('Thank you.').waitFor();
      await page.getByText('Draft saved').waitFor();
      await confirm('Send a test', () => type('To', 'ann@example.net'), 'Close');
      await confirm('Publish version 1');
    }));

  test.concurrent('a webhook shows its attempts, resends one and replays a period', () =>
    sit('developer', async (page, { go, follow, press }) => {
      await go('w', 'Webhooks');
      await follow(new RegExp(new URL(hook.url).host));
      await page.getByRole('button', { name: 'Send now' }).waitFor();
      await follow('Response');
      await page.waitForURL(/tab=answer/);
      const posted = hook.posts.length;
      await press('Send now');
      await eventually(
        async () => hook.posts.length,
        (posts) => posts > posted,
      );
      await press('Replay');
      await page.getByText(/^Replay(?:ing|ed)$/).waitFor();
    }));

  test.concurrent('a destination can be retried at once, and a DNS record copied and checked', () =>
    sit('owner', async (page, { go, follow, press, confirm }) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.route('**/v1/destinations', (route) =>
        route.fulfill({ json: { object: 'list', data: [SUSPENDED], has_more: false, next_cursor: null } }),
      );
      await go('l', 'Delivery');
      await page.getByText('it does not answer').waitFor();
      const released = page.waitForResponse('**/v1/destinations/release');
      await confirm('Try now');
      expect(await (await released).json()).toMatchObject({ destination: 'mx.example.net' });
      await go('d', 'Domains');
      await follow(/news\.nordlys\.example/);
      await page.getByRole('heading', { level: 1, name: 'news.nordlys.example' }).waitFor();
      await press(/^Copy/);
      await eventually(
        () => page.evaluate('navigator.clipboard.readText()'),
        (copied) => `${copied}`.includes('nordlys'),
      );
      const checked = page.waitForResponse('**/verify');
      await press('Check now');
      await checked;
    }));

  test.concurrent('statistics can be grouped, exported and followed to messages', () =>
    sit('analyst', async (page, { go, press, choose }) => {
      await go('s', 'Statistics');
      await choose('Time', 'Last 24');
      await page.waitForURL(/period=24h/);
      await choose(/Group/, 'Group: api key');
      await page.waitForURL(/group_by=api_key/);
      const saved = page.waitForEvent('download');
      await press('CSV');
      expect((await saved).suggestedFilename()).toMatch(/\.csv$/);
    }));

  test.concurrent('a proof can be created, checked and exported', () =>
    sit('owner', async (page, { go, follow, press }) => {
      await go('a', 'Audit');
      await follow(/created a template/);
      const sign = page.getByRole('button', { name: 'Sign now' });
      const verified = page.getByText('Verified here');
      await sign.or(verified).first().waitFor(); // both are visible at the moment of signing
      // The service may have signed it by then, as it does periodically. The button is then absent, or disappears
      // before it is reached.
      if (await sign.isVisible()) await press('Sign now').catch(() => verified.waitFor());
      await verified.waitFor();
      await page.getByText('The log is intact.').waitFor();
    }));

  /** Presses keys, and waits each time until a parameter of the URL has changed. */
  const steps = async (page: Page, parameter: string, keys: readonly string[]): Promise<readonly (string | null)[]> => {
    const values: (string | null)[] = [];
    for (const key of keys) {
      const before = new URL(page.url()).searchParams.get(parameter);
      await page.keyboard.press(key);
      await page.waitForURL((url) => url.searchParams.get(parameter) !== before);
      values.push(new URL(page.url()).searchParams.get(parameter));
    }
    return values;
  };

  /** Moves down twice and up once, which must return to the first item. */
  const walkDown = async (page: Page, parameter: string): Promise<void> => {
    const [first, second, third] = await steps(page, parameter, ['j', 'j', 'k']);
    expect([second === first, third === first, first === null]).toEqual([false, true, false]);
  };

  test.concurrent('letter keys move through refusals, deliveries and entries, search entries, and pause events', () =>
    sit('owner', async (page, { go, follow }) => {
      await go('r', 'Requests');
      await page.getByRole('region', { name: 'Refused requests' }).getByRole('link').nth(3).waitFor();
      await walkDown(page, 'request');
      expect(await steps(page, 'request', ['Escape'])).toEqual([null]);

      await go('w', 'Webhooks');
      await follow(new RegExp(new URL(hook.url).host));
      await page.getByRole('button', { name: 'Send now' }).waitFor();
      await page.locator('.dl > a').nth(2).waitFor();
      await walkDown(page, 'delivery');

      await go('e', 'Events');
      const [pause, resume] = ['Pause', /^Resume/].map((name) => page.getByRole('button', { name }));
      await pause?.waitFor();
      await page.keyboard.press('p');
      await resume?.waitFor();
      await page.keyboard.press('p');
      await pause?.waitFor();

      await go('a', 'Audit');
      await page.getByRole('link', { name: /created a template/ }).waitFor();
      await walkDown(page, 'entry');
      await page.keyboard.press('/');
      await page.keyboard.type('type:DomainRegistered');
      await page.keyboard.press('Enter');
      await page.waitForURL(/type=DomainRegistered/);
      await page.getByRole('link', { name: /created a template/ }).waitFor({ state: 'detached' });
    }));

  // The walks of a role share its session, so it ends last.
  test('the member can sign out', () =>
    sit('owner', async (page, { press }) => {
      await press('Sign out');
      await page.getByLabel('API key').waitFor();
    }));

  test('each tab stop shows its focus', () => expect([...unseen]).toEqual([]));
});
