import { describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../../support/api-client.ts';
import { look, openWindow } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { operator } from '../../support/operator.ts';
import { FINE, type Size, startDashboard, WIDE, WINDOWS } from './support.ts';

describe.skipIf(chromiumIsMissing)('the delivery screen', () => {
  const dashboard = startDashboard(async ({ api, program }) => {
    const [domain] = (await api.get('/v1/domains')).body.data;
    await api.call('PUT', `/v1/domains/${domain.id}/warm-up`, {});
    const tester = apiClient(program.baseUrl, program.keys.test);
    for (const to of ['deferred+3600s@sandbox.outbox.test', 'delivered@sandbox.outbox.test', 'ann@example.net'])
      await tester.post('/v1/messages/send', { from: 'shop@example.test', to, subject: 'Order', text: 'Sent.' });
    const backlog = await eventually(
      () => tester.get('/v1/destinations/backlog'),
      ({ body }) => body.data.length > 0,
    );
    expect(backlog.body).toMatchObject({
      complete: true,
      data: [{ recipient_domain: 'sandbox.outbox.test', recipients: 1, attempts: 1, last_reply: { code: 451 } }],
    });
    expect((await api.get('/v1/destinations/backlog')).body.data).toEqual([]);
  });

  test.each(WINDOWS)('shows which mail waits and why, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.addInitScript(
      (keys) => sessionStorage.setItem('outbox-keys', keys),
      JSON.stringify(dashboard.program.keys),
    );
    const name = `${size.theme}-${size.width}`;
    await page.goto('/dashboard/delivery');
    await page.getByText('No deferred mail').waitFor();
    await page.getByText('Day 1 of').waitFor();
    expect(await look(page, `delivery-live-${name}`)).toEqual(FINE);
    await page.goto('/dashboard/delivery?environment=test&show=all');
    await page.getByText('Deferring').first().waitFor();
    expect(await look(page, `delivery-${name}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('pauses bulk mail and resumes it', async () => {
    const { page, complaints, close } = await dashboard.openAs('owner', WIDE);
    await page.goto('/dashboard/delivery');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Pause bulk mail' }).click();
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('status').getByText('Bulk mail is paused').waitFor();
    expect(await look(page, 'delivery-paused')).toEqual(FINE);
    const since = async () => (await dashboard.api.get('/v1/organization/reputation')).body.bulk_mail_paused_since;
    expect(await since()).not.toBeNull();
    const news = { from: 'shop@example.test', to: 'ann@example.net', subject: 'News', text: 'News.', stream: 'bulk' };
    const { id } = (await dashboard.api.post('/v1/messages/send', news)).body;
    const explained = await eventually(
      () => dashboard.api.get(`/v1/messages/${id}/explain`),
      ({ body }) => body.waiting_because[0]?.reason === 'held',
    );
    expect(JSON.stringify(explained.body)).toContain('all bulk mail of the organization is paused');
    await page.getByRole('button', { name: 'Resume bulk mail' }).click();
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause bulk mail' }).waitFor();
    await page.getByText('Bulk mail is paused').waitFor({ state: 'detached' });
    await eventually(
      () => dashboard.api.get(`/v1/messages/${id}`),
      ({ body }) => body.status === 'delivered',
    );
    expect(complaints).toEqual([]);
    await close();
    const auditor = await dashboard.openAs('auditor', WIDE);
    await auditor.page.goto('/dashboard/delivery');
    await auditor.page.getByText('No deferred mail').waitFor();
    expect(await auditor.page.getByRole('button', { name: 'Pause bulk mail' }).count()).toBe(0);
    await auditor.close();
  });

  test('shows the state of the whole service to operators only', async () => {
    const signIn = async (size: Size, prepare: (id: string) => Promise<unknown>) => {
      const { body } = await dashboard.api.post('/v1/members', { email: `${size.theme}@example.net`, role: 'owner' });
      await prepare(body.id);
      const shown = await openWindow(dashboard.browser, { baseUrl: dashboard.program.baseUrl, ...size });
      await shown.page.goto(`/dashboard/sign-in${new URL(body.link.url).hash}`);
      await shown.page.getByRole('button', { name: 'Sign in' }).click();
      await shown.page.getByRole('button', { name: 'Sign out' }).waitFor();
      await shown.page.goto('/dashboard/delivery');
      return shown;
    };
    const grant = (id: string) => operator(dashboard.place, 'members', 'grant-operator', '--member', id);
    const other = await signIn({ theme: 'dark', width: 1280 }, async () => undefined);
    await other.page.getByText('No deferred mail').waitFor();
    expect(await other.page.getByRole('heading', { name: 'Service health' }).count()).toBe(0);
    await other.close();

    const { page, complaints, close } = await signIn(WIDE, grant);
    const health = page.getByRole('region', { name: 'Service health' });
    const processes = health.getByRole('region', { name: 'Processes' });
    await processes.getByText('1 up').waitFor();
    await health.getByText('Current', { exact: true }).waitFor();
    for (const { theme, width } of WINDOWS) {
      await page.setViewportSize({ width, height: 1600 });
      await page.emulateMedia({ colorScheme: theme });
      expect(await look(page, `delivery-operator-${theme}-${width}`)).toEqual(FINE);
    }
    const answer = await page.evaluate(async () => (await fetch('/v1/service')).text());
    expect(JSON.parse(answer)).toMatchObject({
      object: 'service',
      parts: {
        instances: { status: 'ok', facts: { data: [{ roles: ['api', 'projections', 'workers'] }] } },
        queues: { facts: { data: [{ name: 'transactional_mail', active: 0 }, {}, {}, {}] } },
        process: { facts: { is_leader: true } },
        database: { facts: { connections: expect.any(Number) } },
      },
    });
    for (const ofTenant of ['example.test', 'example.net', 'sandbox', 'org_', 'dom_', 'msg_', '@'])
      expect(answer).not.toContain(ofTenant);
    const read = page.waitForResponse('**/v1/service');
    expect((await read).status()).toBe(200); // the page reads it again automatically
    expect(complaints).toEqual([]);
    await close();
  });

  const SUSPENDED = {
    object: 'suspended_destination',
    destination: 'mx.example.net',
    reason: 'unreachable',
    message: '<img src=x onerror="window.ran = 1"> \u202Egnp.exe',
    since: new Date(Date.now() - 60_000).toISOString(),
    until: new Date(Date.now() + 60_000).toISOString(),
    times: 3,
    smtp: { code: 421, enhanced: '4.7.0', mx: 'mx.example.net' },
  };

  test('retries a suspended destination at once, and executes nothing in its replies', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.route('**/v1/destinations', (route) =>
      route.fulfill({ json: { object: 'list', data: [SUSPENDED], has_more: false, next_cursor: null } }),
    );
    await page.goto('/dashboard/delivery');
    await page.getByText('gnp.exe').waitFor();
    await page.getByRole('button', { name: 'Try now' }).click();
    const released = page.waitForResponse('**/v1/destinations/release');
    await page.getByRole('dialog').getByRole('button', { name: 'Try now' }).click();
    expect(await (await released).json()).toMatchObject({ destination: 'mx.example.net', released: false });
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });
});
