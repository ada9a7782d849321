import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { newDataDir } from '../../support/program.ts';
import { FINE, NARROW, startDashboard, WIDE, WINDOWS } from './support.ts';

const HOSTILE = '550 5.1.1 <img src=x onerror="window.ran = 1"><script>window.ran = 1</script> \u202Egnp.exe';

describe.skipIf(chromiumIsMissing)('the suppression screens', () => {
  const dashboard = startDashboard(async ({ api }) => {
    const csv =
      'address,scope,reason,note\nann@example.net,all,bounce,550 5.1.1 no such mailbox\nbo@example.org,bulk,unsubscribe,\n';
    await api.post('/v1/suppressions/import', { csv });
    await api.post('/v1/suppressions', { address: 'eve@example.net', note: HOSTILE });
  });

  const isSuppressed = async (address: string): Promise<boolean> =>
    (await dashboard.api.get(`/v1/suppressions/check?address=${encodeURIComponent(address)}`)).body.suppressed.bulk;

  test.each(WINDOWS)('show each address with its evidence, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard/suppressions');
    await page.getByText('eve@example.net').click();
    await page.getByText('gnp.exe').waitFor();
    const name = `${size.theme}-${size.width}`;
    expect(await look(page, `suppressions-${name}`)).toEqual(FINE);
    await page.getByLabel('Reason').selectOption('Bounced');
    await page.getByText('bo@example.org').waitFor({ state: 'detached' });
    await page.getByRole('textbox', { name: 'Address', exact: true }).fill('ANN@example.net');
    await page.keyboard.press('Enter');
    await page.getByText('550 5.1.1 no such mailbox').waitFor();
    expect(await look(page, `suppression-${name}`)).toEqual(FINE);
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([WIDE, NARROW])('show the list and an address in the past, $theme, $width pixels wide', async (size) => {
    const address = `past-${size.width}@example.net`;
    const { id } = (await dashboard.api.post('/v1/suppressions', { address })).body;
    const { page, complaints, close } = await dashboard.openAs('developer', size);
    await page.goto('/dashboard/suppressions');
    const listed = page.getByText(address, { exact: true });
    await listed.waitFor();
    await page.getByRole('button', { name: 'As of now' }).click();
    await listed.waitFor();
    await page.getByRole('slider', { name: 'Point in time' }).press('Home');
    await listed.waitFor({ state: 'detached' });
    for (const name of ['Add', 'Import'])
      expect([name, await page.getByRole('button', { name, exact: true }).isDisabled()]).toEqual([name, true]);
    expect(await page.getByRole('button', { name: 'Export' }).count()).toBe(0);
    expect(await look(page, `suppressions-past-${size.theme}-${size.width}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'Back to now' }).click();

    await dashboard.api.delete(`/v1/suppressions/${id}`);
    await page.goto(`/dashboard/suppressions?address=${address}`);
    await page.getByText('Mail is sent to').waitFor();
    await page.getByRole('button', { name: 'As of now' }).click();
    await page.getByText(/^Removed/).waitFor();
    await page.getByRole('slider', { name: 'Point in time' }).press('Home');
    await page.getByText('Added', { exact: true }).first().waitFor();
    await page.getByText(/^Removed/).waitFor({ state: 'detached' });
    expect(await page.getByRole('button', { name: 'Remove' }).isDisabled()).toBe(true);
    expect(await look(page, `suppression-past-${size.theme}-${size.width}`)).toEqual(FINE);
    expect(complaints).toEqual([]);
    await close();
  });

  test('offer no search by address to a role that sees no addresses', async () => {
    const { page, complaints, close } = await dashboard.openAs('analyst', WIDE);
    await page.goto('/dashboard/suppressions');
    await page.getByRole('combobox', { name: 'Reason' }).waitFor();
    expect(await page.getByLabel('Address', { exact: true }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('list an address that was added while the list was still loading', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE);
    let answer = (): void => undefined;
    const added = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(
      '**/v1/suppressions?**',
      async (route) => {
        const response = await route.fetch();
        await added;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    const read = page.waitForRequest('**/v1/suppressions?**');
    await page.goto('/dashboard/suppressions');
    await read;
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('textbox', { name: 'Addresses' }).fill('during@example.net');
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('1 added.').waitFor();
    answer();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText('during@example.net', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('add, remove, import and export addresses, within their content security policy', async () => {
    const folder = await newDataDir();
    const file = join(folder.path, 'list.csv');
    await writeFile(file, 'address\nnew@example.net\nnot an address\n');
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/suppressions');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('textbox', { name: 'Addresses' }).fill('one@example.net\ntwo@example.net');
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('2 added.').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText('one@example.net', { exact: true }).click();
    await page.getByRole('button', { name: 'Remove' }).click();
    const remove = page.getByRole('dialog').getByRole('button', { name: 'Remove' });
    expect(await remove.isDisabled()).toBe(true);
    await page.getByLabel('Type one@example.net to confirm').fill('one@example.net');
    await remove.click();
    await page.locator('summary').getByText('one@example.net', { exact: true }).waitFor({ state: 'detached' });
    expect([await isSuppressed('one@example.net'), await isSuppressed('two@example.net')]).toEqual([false, true]);

    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByLabel('File').setInputFiles(file);
    await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
    await page.getByText('1 added').waitFor();
    await page.getByText(/^Line 3/).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    expect((await saved).suggestedFilename()).toBe('suppressions.csv');
    expect(await isSuppressed('new@example.net')).toBe(true);
    expect(complaints).toEqual([]);
    await close();
    await folder.remove();
  });
});
