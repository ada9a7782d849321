import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '<script>window.ran = 1</script> \u202Egnp.exe';

describe.skipIf(chromiumIsMissing)('the webhook screens', () => {
  let takes: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let refuses: typeof takes;
  beforeAll(async () => {
    takes = await startWebhookReceiver();
    refuses = await startWebhookReceiver(502);
  });
  afterAll(async () => {
    await takes.close();
    await refuses.close();
  });

  let failing: string;
  const dashboard = startDashboard(async ({ api }) => {
    const hook = { url: refuses.url, events: ['message.*'], description: HOSTILE };
    failing = (await api.post('/v1/webhooks', hook)).body.id;
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: HOSTILE, text: 'Hello.' };
    await api.post('/v1/messages/send', mail);
    await eventually(
      () => api.get(`/v1/webhooks/${failing}`),
      ({ body }) => body.failing_since !== null,
    );
  });

  test.each(WINDOWS)('show what fails and why, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    const name = `${size.theme}-${size.width}`;
    await page.goto('/dashboard/webhooks');
    await page.getByText('gnp.exe').waitFor();
    expect(await look(page, `webhooks-${name}`)).toEqual(FINE);
    await page.getByText(refuses.url).click();
    await page.getByText('"ann@example.net"').waitFor();
    await page.getByRole('link', { name: /message\.accepted.* · ann@example\.net/ }).waitFor();
    await page.getByText(/^Last answer: 502 in/).waitFor();
    await page.getByText(/(?:1 delivery waits|\d+ deliveries wait) since/).waitFor();
    expect(await look(page, `webhook-${name}`)).toEqual(FINE);
    await page.getByRole('link', { name: 'Check a signature' }).click();
    await page.getByRole('button', { name: 'Check' }).waitFor();
    expect(await look(page, `webhook-signature-${name}`)).toEqual(FINE);
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('say that an attempt is due, and since when the oldest waits if too many wait to count', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    const { body } = await dashboard.api.get(`/v1/webhooks/${failing}/deliveries?status=pending`);
    const data = body.data.map((one: object) => ({ ...one, next_attempt_at: '2020-01-01T00:00:00.000Z' }));
    let hasMore = false;
    await page.route(/\/deliveries\?.*status=pending/, (route) =>
      route.fulfill({ json: { ...body, data, has_more: hasMore } }),
    );
    await page.goto(`/dashboard/webhooks/${failing}`);
    await page.getByText(/ since .*\. Next attempt: due now\./).waitFor();
    hasMore = true;
    await page.goto(`/dashboard/webhooks/${failing}`);
    await page
      .getByText(/More than \d+ deliveries wait since .*\. No post has succeeded since .* Next attempt: /)
      .waitFor();
    const webhook = (await dashboard.api.get(`/v1/webhooks/${failing}`)).body;
    expect(webhook.waiting_since).toBe(data.at(-1)?.created_at);
    expect((await dashboard.api.get('/v1/webhooks')).body.data).toContainEqual(webhook);
    await page.route(`**/v1/webhooks/${failing}`, (route) =>
      route.fulfill({ json: { ...webhook, failing_since: null } }),
    );
    await page.goto(`/dashboard/webhooks/${failing}`);
    await page.getByText(/More than \d+ deliveries wait since [^.]+\. Next attempt: /).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('show no recipients without the right to see contents', async () => {
    const { page, complaints, close } = await dashboard.openAs('auditor', WIDE);
    await page.goto(`/dashboard/webhooks/${failing}`);
    await page.getByRole('link', { name: /message\.accepted.* · \*\*\*@example\.net/ }).waitFor();
    expect(await page.locator('main').innerText()).not.toContain('ann@');
    expect(complaints).toEqual([]);
    await close();
  });

  test('add a webhook, ping it, and check the signature it received', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/webhooks');
    await page.getByRole('button', { name: 'Add a webhook' }).click();
    await page.getByLabel('Endpoint URL').fill(takes.url);
    await page.getByLabel('Other event types').fill('template.published');
    await page.getByRole('dialog').getByRole('button', { name: 'Add a webhook' }).click();
    const secret = await page.getByText(/^whsec_/).innerText();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('link').filter({ hasText: takes.url }).click();
    await page.getByRole('button', { name: 'Ping' }).click();
    await page.getByText(/The endpoint answered the ping: 200 in/).waitFor();
    await page.getByRole('link', { name: 'webhook.ping' }).waitFor();
    const [post] = await eventually(
      async () => takes.posts,
      (posts) => posts.length > 0,
    );
    await page.getByRole('link', { name: 'Check a signature' }).click();
    await page.getByLabel('Secret', { exact: true }).fill(secret);
    await page.getByLabel('webhook-timestamp').fill(String(post?.headers['webhook-timestamp']));
    await page.getByLabel('webhook-signature').fill(String(post?.headers['webhook-signature']));
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('The signature is valid').waitFor();
    await page.getByLabel('Body, as received').fill(`${JSON.stringify(JSON.parse(post?.body ?? ''), null, 2)}`);
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('written again').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('add a webhook in the format of SendGrid, and show its verification key until it is copied', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/webhooks');
    await page.getByRole('button', { name: 'Add a webhook' }).click();
    const url = `${takes.url}/sendgrid`;
    await page.getByLabel('Endpoint URL').fill(url);
    await page.getByRole('radio', { name: 'Event Webhook' }).check();
    expect(await look(page, 'webhook-format')).toEqual(FINE);
    await page.getByRole('dialog').getByRole('button', { name: 'Add a webhook' }).click();
    await page.getByRole('heading', { name: 'Verification key' }).waitFor();
    await page.getByRole('button', { name: 'Copy the verification key' }).waitFor();
    const key = await page.getByText(/^MF[A-Za-z0-9+/]+=*$/).innerText();
    await page.keyboard.press('Escape');
    await page.getByText(key).waitFor();
    expect(await look(page, 'webhook-verification-key')).toEqual(FINE);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { body } = await dashboard.api.get('/v1/webhooks');
    const added = body.data.find((webhook: { readonly url: string }) => webhook.url === url);
    expect(added).toMatchObject({ format: 'sendgrid', events: expect.arrayContaining(['message.delivered']) });
    await dashboard.api.delete(`/v1/webhooks/${added.id}`);
    expect(complaints).toEqual([]);
    await close();
  });

  test('execute nothing that an endpoint returns', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    const [listed] = (await dashboard.api.get(`/v1/webhooks/${failing}/deliveries`)).body.data;
    const { body } = await dashboard.api.get(`/v1/webhooks/${failing}/deliveries/${listed.id}`);
    const attempts = body.attempts.map((attempt: object) => ({ ...attempt, response: HOSTILE }));
    await page.route(`**/deliveries/${listed.id}`, (route) => route.fulfill({ json: { ...body, attempts } }));
    await page.goto(`/dashboard/webhooks/${failing}?tab=answer`);
    await page.getByRole('region', { name: 'Response' }).getByText('gnp.exe').waitFor();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('resend a delivery, and replay a period', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/webhooks/${failing}`);
    await page.getByText('"ann@example.net"').waitFor();
    const posted = refuses.posts.length;
    await page.getByRole('button', { name: 'Send now' }).click();
    await page.getByText(/^Sent again: 502 in/).waitFor();
    expect(refuses.posts.length).toBeGreaterThan(posted);
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText(/^Replay(?:ing|ed)$/).waitFor();
    const { body } = await dashboard.api.get(`/v1/webhooks/${failing}/replays`);
    expect(body.data).toHaveLength(1);
    expect(complaints).toEqual([]);
    await close();
  });

  test('list what fails and is tried again as failing, and say in place that a ping failed', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/webhooks/${failing}`);
    await page.getByRole('link', { name: 'Failing' }).click();
    await page
      .getByRole('link', { name: /message\.accepted/ })
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Ping' }).click();
    await page.getByText(/^The ping failed: 502 in/).waitFor();
    expect(await look(page, 'webhook-ping-1280')).toEqual(FINE);
    await page.goto('/dashboard');
    await page
      .getByText(new URL(refuses.url).host + new URL(refuses.url).pathname.replace(/\/$/, ''))
      .first()
      .waitFor();
    await page.getByRole('region', { name: 'Needs attention' }).getByText('gnp.exe').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('pause a webhook, enable it, and delete it after its name was typed', async () => {
    const { body } = await dashboard.api.post('/v1/webhooks', { url: `${takes.url}/other`, events: ['domain.*'] });
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/webhooks/${body.id}`);
    const inDialog = (name: string) => page.getByRole('dialog').getByRole('button', { name });
    await page.getByRole('button', { name: 'Pause' }).click();
    await inDialog('Pause').click();
    await page.getByText('Paused', { exact: true }).waitFor();
    expect((await dashboard.api.get(`/v1/webhooks/${body.id}`)).body.status).toBe('disabled');
    await page.getByRole('button', { name: 'Enable' }).click();
    await inDialog('Enable').click();
    await page.getByText('Active', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    const { host, pathname } = new URL(`${takes.url}/other`);
    await page.getByRole('heading', { name: `Delete ${host}${pathname}?` }).waitFor();
    await page.getByLabel(/to confirm/).fill(host);
    await inDialog('Delete').click();
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
    expect((await dashboard.api.get(`/v1/webhooks/${body.id}`)).status).toBe(404);
    expect(complaints).toEqual([]);
    await close();
  });
});
