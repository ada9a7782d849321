import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '<script>window.ran = 1</script><img src=x onerror="window.ran = 1"> \u202Egnp.exe';
const HTML = '<h1>On its way</h1><script>window.ran = 1</script><img src="https://elsewhere.example.test/pixel.png">';

/** Keyboard shortcuts of the views of a message, and a text that each view shows. */
const VIEWS = [
  ['2', 'preview', 'Sign in as a member to see the preview.'],
  ['3', 'text', '<h1>On its way</h1>'],
  ['4', 'headers', 'Message-ID'],
  ['5', 'raw', 'Content-Transfer-Encoding'],
  ['6', 'attachments', 'order.txt'],
  ['7', 'webhooks', 'No webhook was notified'],
] as const;

describe.skipIf(chromiumIsMissing)('the message screens', () => {
  /** Id of a message whose content would run a script if it could. */
  let hostile: string;

  const send = async (to: string, subject: string): Promise<string> => {
    const mail = {
      from: 'Shop <shop@example.test>',
      to,
      subject,
      html: HTML,
      attachments: [{ filename: 'order.txt', content: 'aGVsbG8=' }],
      tags: [{ name: 'kind', value: 'order' }],
    };
    return (await dashboard.api.post('/v1/messages/send', mail)).body.id;
  };

  const dashboard = startDashboard(async ({ api }) => {
    hostile = await send('ann@example.net', HOSTILE);
    for (let at = 0; at < 20; at += 1) await send(`ann${at}@example.net`, `Your order ${at} has shipped`);
    await eventually(
      () => api.get(`/v1/messages/${hostile}`),
      ({ body }) => body.status === 'delivered',
    );
  });

  test.each(WINDOWS)('show every state, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard/messages');
    await page.getByText('Your order 19 has shipped').waitFor();
    expect(await look(page, `messages-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(WINDOWS)('explain a message, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto(`/dashboard/messages/${hostile}`);
    await page.getByRole('region', { name: 'Explanation' }).waitFor();
    const name = `${size.theme}-${size.width}`;
    expect(await look(page, `message-${name}`)).toEqual(FINE);
    const proof = await page.getByRole('link', { name: 'Entries in the audit log' }).getAttribute('href');
    expect(proof).toBe(`/dashboard/audit?message_id=${hostile}`);
    for (const [digit, tab, text] of VIEWS) {
      await page.keyboard.press(digit);
      await page.getByText(text).first().waitFor();
      expect(await look(page, `message-${tab}-${name}`)).toEqual(FINE);
    }
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.keyboard.press('t');
    const bar = page.getByRole('region', { name: 'Time travel' });
    await bar.waitFor();
    await eventually(
      async () => {
        await page.keyboard.press('ArrowLeft');
        return page.locator('.head').getByText('Accepted', { exact: true }).count();
      },
      (found) => found === 1,
    );
    expect(new URL(page.url()).searchParams.get('at')).toMatch(/Z$/);
    expect(await page.getByRole('button', { name: /^Cancel/ }).isDisabled()).toBe(true);
    expect(await look(page, `message-past-${name}`)).toEqual(FINE);
    await bar.getByRole('button', { name: 'Back to now' }).click();
    await page.locator('.head').getByText('Delivered', { exact: true }).waitFor();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('say which webhook posts are left out', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    const { body } = await dashboard.api.get(`/v1/messages/${hostile}/explain`);
    const at = new Date().toISOString();
    const post = { at, actor: { type: 'worker', id: 'webhooks' }, type: 'webhook_tried', sentence: 'Posted.' };
    const steps = [...body.steps, { ...post, facts: { status: 200 } }];
    const left = 'Earlier webhook attempts are omitted.';
    await page.route('**/explain*', (route) => route.fulfill({ json: { ...body, steps, left_out: left } }));
    await page.goto(`/dashboard/messages/${hostile}`);
    await page.getByRole('link', { name: 'Newest webhook posts: 1 answered 200' }).click();
    await page.getByText('Posted.').waitFor();
    await page.getByText(left).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('violate no content security policy', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/messages');
    await page.getByText('Your order 19 has shipped').waitFor();
    await page.goto(`/dashboard/messages/${hostile}`);
    await page.getByRole('region', { name: 'Explanation' }).waitFor();
    for (const [digit, , text] of VIEWS) {
      await page.keyboard.press(digit);
      await page.getByText(text).first().waitFor();
    }
    await page.keyboard.press('6');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await saved).suggestedFilename()).toBe('order.txt');
    expect(complaints).toEqual([]);
    await close();
  });

  test('show new mail automatically, and execute nothing in it', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/messages');
    await page.getByText('gnp.exe').waitFor();
    await page.getByRole('img', { name: /^Live:/ }).waitFor();
    await send('late@example.net', 'This came while you looked');
    await page.getByText('This came while you looked').waitFor();
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });
});
