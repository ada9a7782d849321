import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../../support/api-client.ts';
import { look, settle } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, ROLES, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '<img src=x onerror="window.ran = 1"> \u202Egnp.exe';

describe.skipIf(chromiumIsMissing)('the overview of an organization without mail', () => {
  const dashboard = startDashboard();

  test.each(WINDOWS)('explains how to send the first one, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard');
    await page.getByText('Mail is captured.').waitFor();
    expect(await look(page, `first-run-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('completes its steps automatically', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard');
    await page.getByText('Waiting for your first message').waitFor();
    expect(await page.getByRole('button', { name: 'SMTP' }).count()).toBe(0); // no SMTP listener is running
    await page.getByRole('img', { name: /^Live:/ }).waitFor();
    const command = await page.getByText('curl http').innerText();
    const [, body = ''] = /-d '([^']+)'/.exec(command) ?? [];
    expect((await dashboard.api.post('/v1/messages/send', JSON.parse(body))).status).toBe(202);
    await page.getByText('Your first message has arrived.').waitFor();
    const invited = { email: 'ben@example.net', role: 'analyst' };
    expect((await dashboard.api.post('/v1/members', invited)).status).toBe(201);
    await dashboard.api.post('/v1/domains', { name: 'mail.example.net' });
    await eventually(
      () => page.locator('.st4.done').count(),
      (done) => done === 4,
    );
    await page.getByRole('button', { name: 'Go to the overview' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});

describe.skipIf(chromiumIsMissing)('the first run makes no request that is refused', () => {
  const dashboard = startDashboard();
  const begins = async (page: Page): Promise<void> => {
    await page.getByText('Waiting for your first message').waitFor();
    await settle(page);
  };

  test.each(ROLES)('as %s', async (role) => {
    const { page, complaints, close } = await dashboard.openAs(role, WIDE, { keepsPolicy: true });
    for (const environment of ['live', 'test']) {
      await page.goto(`/dashboard?environment=${environment}`);
      await begins(page);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  test('with a key of the test environment', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    const { keys } = dashboard.program;
    await page.addInitScript((text) => sessionStorage.setItem('outbox-keys', text), JSON.stringify(keys));
    await page.goto('/dashboard?environment=test');
    await begins(page);
    expect(complaints).toEqual([]);
    await close();
  });
});

describe.skipIf(chromiumIsMissing)('the overview of an organization that may send by SMTP', () => {
  const dashboard = startDashboard(undefined, async () => ({ SUBMISSION_PORT: '0' }));

  test('shows a command that works', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard');
    await page.getByRole('button', { name: 'SMTP' }).click();
    const command = await page.getByText('curl smtp').innerText();
    expect(command).toMatch(/^# Host 127\.0\.0\.1, port \d+\n# TLS none: .*\n# User outbox, password: an API key$/m);
    const env = { ...process.env, OUTBOX_KEY: dashboard.program.keys.live };
    await promisify(execFile)('sh', ['-c', command], { env });
    await page.getByText('Your first message has arrived.').waitFor();
    const { body } = await dashboard.api.get('/v1/messages');
    expect(body.data[0]).toMatchObject({ subject: 'It works', recipients: [{ address: 'you@example.net' }] });
    expect(complaints).toEqual([]);
    await close();
  });
});

describe.skipIf(chromiumIsMissing)('the overview', () => {
  const dashboard = startDashboard(async ({ api }) => {
    const send = (to: string) =>
      api.post('/v1/messages/send', { from: 'shop@example.test', to, subject: HOSTILE, text: 'Hello.' });
    for (let at = 0; at < 30; at += 1) await send(`ann${at}@example.net`);
    const [{ id }] = (await api.get('/v1/domains')).body.data;
    const expires = new Date(Date.now() + 86_400_000).toISOString();
    const { body } = await api.post('/v1/api-keys', {
      ...{ name: HOSTILE, domain_id: id, permissions: ['send'], expires_at: expires },
    });
    await api.post(`/v1/api-keys/${body.id}/rotate`, {});
    await api.post('/v1/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['message.*'] });
    await send('late@example.net');
    await eventually(
      () => api.get('/v1/webhooks'),
      ({ body: { data } }) => data[0].failing_since !== null,
    );
  });

  test.each(WINDOWS)('shows what needs attention and the state of mail, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard');
    await page.getByText('A webhook has been failing').waitFor();
    await page.getByText('late@example.net').waitFor();
    expect(await look(page, `overview-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(await page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem').count()).toBe(3);
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('violates no content security policy, and updates live', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard');
    await page.getByText('A webhook has been failing').waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    const mail = { from: 'shop@example.test', to: 'just-now@example.net', subject: 'Hello', text: 'Hello.' };
    await dashboard.api.post('/v1/messages/send', mail);
    await page.getByText('just-now@example.net').click();
    await page.getByRole('region', { name: 'Explanation' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('names each problem with its remedy, and escapes its text', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    const soon = new Date(Date.now() + 86_400_000).toISOString();
    const list = (data: readonly unknown[]) => ({ json: { object: 'list', data, has_more: false, next_cursor: null } });
    const [domain] = (await dashboard.api.get('/v1/domains')).body.data;
    const record = { ...domain.records[0], required: true, status: 'pending', problem: HOSTILE };
    const degraded = { ...domain, name: HOSTILE, status: 'degraded', fails_at: soon, records: [record] };
    const share = { count: 31, of: 1_000, percent: 3.1 };
    const reputation = { level: 'paused', measure: 'bounces', since: soon, bounces: share, complaints: share };
    const smtp = { code: 421, enhanced: '4.7.0', mx: null };
    await page.route('**/v1/domains?*', (route) => route.fulfill(list([degraded])));
    await page.route('**/v1/domains/*/reputation', (route) => route.fulfill({ json: reputation }));
    await page.route('**/v1/destinations?*', (route) =>
      route.fulfill(list([{ destination: '@slow.example.net', message: HOSTILE, since: soon, until: soon, smtp }])),
    );
    await page.route('**/v1/billing', (route) =>
      route.fulfill({ json: { quota: { limit: 1_000, remaining: 0, hard: true }, period: { end: soon } } }),
    );
    await page.goto('/dashboard');
    await page.getByText('Your quota is used up').waitFor();
    const items = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem');
    expect((await items.allInnerTexts()).map((text) => text.split('\n')[0])).toEqual([
      expect.stringMatching(/^Bulk mail of .* is paused$/),
      expect.stringContaining('A webhook has been failing'),
      'Your quota is used up',
      expect.stringContaining('stops sending on'),
      'slow.example.net is not accepting mail',
      expect.stringContaining('expires on'),
    ]);
    await page.getByText('And 1 more.').waitFor();
    const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
    const named = (await links.allTextContents()).filter((text) => /attention/.test(text));
    expect(named).toEqual([
      expect.stringMatching(/^API keys\d, .* attention$/),
      'Webhooks1, 1 needs attention',
      'Domains1, 1 needs attention',
      'Delivery1, 1 needs attention',
      'Billing1, 1 needs attention',
    ]);
    expect(await look(page, 'overview-troubles')).toEqual(FINE);
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('explains why mail bounced', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    const { test: key } = dashboard.program.keys;
    await page.addInitScript((text) => sessionStorage.setItem('outbox-keys', text), JSON.stringify({ test: key }));
    const tests = apiClient(dashboard.program.baseUrl, key);
    for (const to of ['bounced+1@sandbox.outbox.test', 'bounced+2@sandbox.outbox.test', 'ann@example.net'])
      await tests.post('/v1/messages/send', { from: 'shop@example.test', to, subject: 'Hello', text: 'Hello.' });
    await page.goto('/dashboard?environment=test');
    await page.getByRole('link', { name: 'All 2' }).waitFor();
    expect(await look(page, 'overview-bounces')).toEqual(FINE);
    await page.getByRole('link', { name: 'All 2' }).click();
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('shows what needs attention in the test environment too', async () => {
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE, { keepsPolicy: true });
    await page.goto('/dashboard?environment=test');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settle(page);
    expect(complaints).toEqual([]);
    await close();
  });

  test('shows what a key may see, and names what it may not', async () => {
    const [{ id }] = (await dashboard.api.get('/v1/domains')).body.data;
    const { body } = await dashboard.api.post('/v1/api-keys', {
      ...{ name: 'Analyst', domain_id: id, permissions: ['read'], environment: 'live' },
    });
    const { page, close } = await dashboard.open(WIDE);
    await page.addInitScript((text) => sessionStorage.setItem('outbox-keys', text), JSON.stringify({ live: body.key }));
    await page.goto('/dashboard');
    await page.getByText('You do not have access to').waitFor();
    await page.getByText('Why mail bounced').waitFor();
    expect(await page.getByText('You do not have access to').count()).toBe(1);
    await close();
  });
});
