import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { FINE, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '<img src=x onerror="window.ran = 1"> \u202Egnp.exe';

describe.skipIf(chromiumIsMissing)('the audit log screen', () => {
  let keyId: string;
  let domainId: string;

  const dashboard = startDashboard(async ({ api }) => {
    domainId = (await api.get('/v1/domains')).body.data[0].id;
    const key = { name: HOSTILE, domain_id: domainId, permissions: ['send'], environment: 'test' };
    keyId = (await api.post('/v1/api-keys', key)).body.id;
    for (let at = 0; at < 5; at += 1) await api.patch(`/v1/api-keys/${keyId}`, { name: `${HOSTILE} ${at}` });
    await api.post(`/v1/api-keys/${keyId}/rotate`, {});
    const mail = { from: 'a@example.test', to: 'b@example.net', subject: 'Opened by an auditor', text: 'x' };
    const { body } = await api.post('/v1/messages/send', mail);
    await api.get(`/v1/messages/${body.id}/content`);
    await api.post('/v1/audit/checkpoints');
  });

  const openRotation = async (page: Page): Promise<void> => {
    await page.goto(`/dashboard/audit?key_id=${keyId}`);
    await page.getByRole('link', { name: /rotated an API key/ }).click();
  };

  test.each(WINDOWS)('checks the log and an entry, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    const name = `${size.theme}-${size.width}`;
    await page.goto('/dashboard/audit');
    await page.getByText('The log is intact').waitFor();
    await page.getByRole('link', { name: /rotated an API key/ }).waitFor();
    expect(await look(page, `audit-log-${name}`)).toEqual(FINE);
    await openRotation(page);
    await page.getByText('Verified here').waitFor();
    expect(await look(page, `audit-${name}`)).toEqual(FINE);
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([
    [
      'a byte of the entry',
      ({ leaf }: Proof) => ({ leaf: leaf.replace('KeyRotated', 'KeyRevoked') }),
      /different entry/,
    ],
    ['a hash', ({ hashes }: Proof) => ({ hashes: hashes.toReversed() }), /do not lead to the root/],
    ['a missing hash', ({ hashes }: Proof) => ({ hashes: hashes.slice(1) }), /do not lead to the root/],
    ['the place', ({ leaf_index: at }: Proof) => ({ leaf_index: at - 1 }), /do not lead to the root/],
    [
      'the size',
      ({ checkpoint }: Proof) => ({ checkpoint: checkpoint.replace(/\n(\d+)\n/, '\n1$1\n') }),
      /not signed by/,
    ],
    ['the note', () => ({ checkpoint: 'trust me' }), /no signed checkpoint/],
  ] as const)('reports a wrong proof if %s differs', async (_what, change, sentence) => {
    const { page, close } = await dashboard.open(WIDE);
    await page.route('**/v1/audit/proof/*', async (route) => {
      const response = await route.fetch();
      const proof = (await response.json()) as Proof;
      await route.fulfill({ response, json: { ...proof, ...change(proof) } });
    });
    await openRotation(page);
    const shown = page.getByRole('region', { name: 'Proof' });
    await shown.getByText('Invalid').waitFor();
    await expect.poll(() => shown.innerText()).toMatch(sentence);
    await close();
  });

  test('stores the key and the checkpoint that it saw, and checks later ones against them', async () => {
    const { page, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/audit');
    await page.getByText('first visit from this browser').waitFor();
    for (let at = 0; at < 3; at += 1) {
      await dashboard.api.patch(`/v1/api-keys/${keyId}`, { name: `grown ${at}` });
      await dashboard.api.post('/v1/audit/checkpoints');
      await page.reload();
      await page.getByText('extends the checkpoint of').waitFor();
    }
    await page.route('**/v1/audit/consistency?*', async (route) => {
      const response = await route.fetch();
      const proof = (await response.json()) as { readonly hashes: readonly string[] };
      await route.fulfill({ response, json: { ...proof, hashes: proof.hashes.toReversed().slice(1) } });
    });
    await dashboard.api.patch(`/v1/api-keys/${keyId}`, { name: 'grown again' });
    await dashboard.api.post('/v1/audit/checkpoints');
    await page.reload();
    await page.getByText('This is not the log that this browser knows').waitFor();
    await page.unroute('**/v1/audit/consistency?*');
    await page.evaluate(() => {
      const name = 'outbox-audit-logs';
      const kept = JSON.parse(localStorage.getItem(name) ?? '{}') as Record<string, { vkey: string }>;
      for (const one of Object.values(kept)) one.vkey = one.vkey.replace(/\+[0-9a-f]{8}\+/, '+00000000+');
      localStorage.setItem(name, JSON.stringify(kept));
    });
    await page.reload();
    await page.getByText('not signed by the key that this browser has stored').waitFor();
    await page.getByRole('button', { name: 'Forget the stored log' }).click();
    await page.getByText('first visit from this browser').waitFor();
    expect(await page.getByText('not signed by the key that this browser has stored').count()).toBe(0);
    await close();
  });

  test.each(WINDOWS)('is searched by words and names people and keys, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.openAs('auditor', size);
    const name = `${size.theme}-${size.width}`;
    await page.goto('/dashboard/audit');
    await page.getByText('The log is intact').waitFor();
    await page
      .getByRole('link', { name: /worker events?$/ })
      .first()
      .waitFor();
    expect(await page.getByRole('link', { name: /^\S+ Worker / }).count()).toBe(0);
    const field = page.getByLabel('Search the log');
    await field.fill('invited');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=invited/);
    const row = page.getByRole('link', { name: /invited a member/ }).first();
    await row.waitFor();
    await expect.poll(() => row.innerText()).toMatch(/The auditor/);
    await row.click();
    await page.getByText('About').waitFor();
    expect(await look(page, `audit-words-${name}`)).toEqual(FINE);
    await field.fill('address:nowhere person:nobody');
    await page.keyboard.press('Enter');
    await page.getByText('is not a value of address').waitFor();
    expect(await field.inputValue()).toBe('address:nowhere person:nobody');
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.keyboard.press('Enter');
    await page.getByText('No matching entries').waitFor();
    expect(await look(page, `audit-none-${name}`)).toEqual(FINE);
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.getByLabel('Kind').selectOption('reads');
    await page.waitForURL(/kind=reads/);
    await page.getByText('read the contents of a message').waitFor();
    await page.goto('/dashboard/audit');
    await page.getByRole('link', { name: 'Show worker events' }).click();
    await page.waitForURL(/workers=include/);
    await page.getByText('signed a checkpoint of this log').first().waitFor();
    // The browser logs the 409 of a proof that does not exist yet.
    expect(complaints.filter((one) => !one.includes('409'))).toEqual([]);
    await close();
  });

  test('folds the lists that one person was shown, and unfolds them when they are selected', async () => {
    const developer = await dashboard.openAs('developer', WIDE);
    const { data } = (await dashboard.api.get('/v1/messages')).body;
    for (const path of ['messages', `messages/${data[0].id}`, `messages/${data[0].id}/events`, 'suppressions']) {
      expect((await developer.page.request.get(`/v1/${path}`)).status()).toBe(200);
    }
    await developer.close();
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto('/dashboard/audit');
    const views = page.getByRole('link', { name: /The developer was shown addresses/ });
    const folded = views.filter({ hasText: /\d times since \d\d:\d\d:\d\d/ }).first();
    await folded.waitFor();
    const rows = await views.count();
    await folded.click();
    await views.filter({ hasText: /GET \/v1\/messages\/:id\/events/ }).waitFor();
    expect(await views.count()).toBeGreaterThan(rows);
    await page.getByLabel('Kind').selectOption('reads');
    await page.waitForURL(/kind=reads/);
    await expect.poll(() => folded.count()).toBe(0);
    expect(await views.count()).toBeGreaterThan(rows);
    // The browser logs the 409 of a proof that does not exist yet.
    expect(complaints.filter((one) => !one.includes('409'))).toEqual([]);
    await close();
  });

  test('shows the time that was typed, and accepts any range', async () => {
    const { page, complaints, close } = await dashboard.openAs('auditor', WIDE);
    await page.goto('/dashboard/audit?q=rotated');
    const period = page.getByRole('combobox', { name: /^Time/ });
    const entry = page.getByRole('link', { name: /rotated an API key/ }).first();
    await entry.waitFor();
    expect(await period.inputValue()).toBe('all');
    await page.getByLabel('Search the log').fill('since:1h');
    await page.keyboard.press('Enter');
    await page.waitForURL(/since=/);
    expect(await period.inputValue()).toBe('chosen');
    await period.selectOption('7d');
    await page.waitForURL(/period=7d/);
    await period.selectOption('chosen');
    const from = page.getByLabel('From', { exact: true });
    await from.fill('1 Jan 2020, 08:00');
    await from.press('Tab');
    const to = page.getByLabel('To; empty: now');
    await to.fill('2020-02-01');
    await to.press('Tab');
    await page.waitForURL(/until=2020-/);
    await entry.waitFor({ state: 'detached' });
    expect(await look(page, 'audit-chosen-time')).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('finds entries by typed text, signs on demand, and offers export and report as files', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/audit');
    await page.getByLabel('Search the log').fill('rotated key');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=rotated\+key/);
    await dashboard.api.post(`/v1/api-keys/${keyId}/rotate`, { revoke_previous: true });
    await page.reload();
    await page
      .getByRole('link', { name: /rotated an API key/ })
      .first()
      .click();
    await page.getByRole('region', { name: 'Proof' }).getByRole('button', { name: 'Sign now' }).click();
    await page.getByText('Verified here').waitFor();
    const report = page.waitForEvent('download');
    await page.getByRole('button', { name: 'HTML' }).click();
    expect(await readFile(await (await report).path(), 'utf8')).toContain('&lt;img src=x');
    await page.getByRole('button', { name: 'Export with proofs' }).click();
    const file = page.waitForEvent('download');
    await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
    const lines = (await readFile(await (await file).path(), 'utf8')).trimEnd().split('\n');
    expect(lines[0]).toContain('"audit_export":1');
    expect(lines.at(-1)).toContain('"checkpoint"');
    // The browser logs the 409 of the proof that did not exist yet.
    expect(complaints.filter((one) => !one.includes('409'))).toEqual([]);
    await close();
  });
});

interface Proof {
  readonly leaf: string;
  readonly leaf_index: number;
  readonly hashes: readonly string[];
  readonly checkpoint: string;
}
