import { afterAll, describe, expect, test } from 'vitest';
import { look } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startNameServer, type TestNameServer } from '../../support/name-server.ts';
import { FINE, NARROW, startDashboard, WIDE, WINDOWS } from './support.ts';

interface DnsRecord {
  readonly purpose: string;
  readonly type: 'TXT' | 'CNAME';
  readonly name: string;
  readonly value: string;
  readonly required: boolean;
}

describe.skipIf(chromiumIsMissing)('the domain screens', () => {
  let dns: TestNameServer;
  let domainId: string;

  const add = async (name: string): Promise<string> => (await dashboard.api.post('/v1/domains', { name })).body.id;
  const recordsOf = async (id: string): Promise<readonly DnsRecord[]> =>
    (await dashboard.api.get(`/v1/domains/${id}`)).body.records;

  const publish = (records: readonly DnsRecord[]): void => {
    for (const { name, type, value } of records) dns.change({ [name]: { [type]: [value] } });
  };

  const dashboard = startDashboard(
    async ({ api }) => {
      domainId = await add('mail.nordlys.example');
      const records = await recordsOf(domainId);
      publish(records.filter(({ purpose, value }) => purpose !== 'dkim' || !value.includes('k=rsa')));
      const rsa = records.find(({ value }) => value.includes('k=rsa'));
      // Truncated, as by DNS forms with a length limit.
      dns.change({
        [rsa?.name ?? '']: { TXT: [rsa?.value.slice(0, 255) ?? ''] },
        '_dmarc.mail.nordlys.example': { TXT: ['v=DMARC1; p=<script>window.ran = 1</script>'] },
      });
      await api.post(`/v1/domains/${domainId}/verify`, {});
    },
    async () => {
      dns = await startNameServer();
      return { MAIL_URL: 'smtp://127.0.0.1:1', DNS_SERVERS: dns.text };
    },
  );
  afterAll(() => dns.close());

  test.each(WINDOWS)('show what to fix, $theme, $width pixels wide', async (size) => {
    const { page, complaints, close } = await dashboard.open(size);
    await page.goto('/dashboard/domains');
    await page.getByText('mail.nordlys.example').waitFor();
    const name = `${size.theme}-${size.width}`;
    expect(await look(page, `domains-${name}`)).toEqual(FINE);
    await page.getByText('mail.nordlys.example').click();
    await page.getByRole('heading', { name: 'Records to publish' }).waitFor();
    await page.getByText('No bulk mail yet').waitFor();
    expect(await look(page, `domain-${name}`)).toEqual(FINE);
    expect(await page.getByRole('article', { name: 'DKIM key, RSA' }).textContent()).toContain('required');
    expect(await page.evaluate(() => 'ran' in globalThis)).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  test('verify a domain once its records are published', async () => {
    const { page, complaints, close } = await dashboard.open(WIDE, { keepsPolicy: true });
    await page.goto('/dashboard/domains');
    await page.getByRole('button', { name: 'Add a domain' }).click();
    await page.getByLabel('Domain name').fill('News.Nordlys.example');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'news.nordlys.example' }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText(/^Checking DNS every 10 s/).waitFor();
    publish(await recordsOf(id));
    // The page keeps polling.
    await page.getByText('Verified since').waitFor();
    await page.getByLabel('Count clicks').check();
    await page.getByLabel('Name on recipient pages').fill('Nordlys');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/^Saved/).waitFor();
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByLabel('Recipients per day').fill('50, 200');
    await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
    await page.getByText('Day 1 of 2').waitFor();
    const { body } = await dashboard.api.get(`/v1/domains/${id}`);
    expect(body).toMatchObject({
      status: 'verified',
      tracking: { opens: false, clicks: true },
      branding: { name: 'Nordlys', color: null, logo_url: null },
    });
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([WIDE, NARROW])('show a domain in the past, $theme, $width pixels wide', async (size) => {
    const id = await add(`past-${size.width}.nordlys.example`);
    publish(await recordsOf(id));
    await dashboard.api.post(`/v1/domains/${id}/verify`, {});
    await dashboard.api.patch(`/v1/domains/${id}`, { tracking: { opens: true, clicks: true } });
    const { page, complaints, close } = await dashboard.openAs('developer', size);
    await page.goto(`/dashboard/domains/${id}`);
    await page.getByText('Verified since').waitFor();
    await page.getByRole('button', { name: 'As of now' }).click();
    const bar = page.getByRole('region', { name: 'Time travel' });
    await bar.getByText(/entry \d/).waitFor();
    await page.getByLabel('Count clicks', { exact: false }).and(page.locator(':checked')).waitFor();
    const slider = page.getByRole('slider', { name: 'Point in time' });
    await slider.press('Home');
    await page.getByText('This domain cannot send until its required records are published').waitFor();
    expect(await page.getByLabel('Count clicks').isChecked()).toBe(false);
    for (const name of ['Check now', 'Save', 'Rotate DKIM keys', 'Delete'])
      expect([name, await page.getByRole('button', { name, exact: true }).isDisabled()]).toEqual([name, true]);
    expect(await look(page, `domain-past-${size.theme}-${size.width}`)).toEqual(FINE);
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.getByText('Verified since').waitFor();
    expect(await page.getByRole('button', { name: 'Check now' }).isDisabled()).toBe(false);
    await page.goto(`/dashboard/domains/${id}?at=2001-01-01T00:00:00.000Z`);
    await page.getByText('This did not exist yet.').waitFor();
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.getByText('Verified since').waitFor();
    // The browser logs a 404 for the missing resource.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
    await close();
  });

  test('delete a domain after its name was typed, and no other', async () => {
    const id = await add('gone.nordlys.example');
    const { page, complaints, close } = await dashboard.open(WIDE);
    await page.goto(`/dashboard/domains/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type gone.nordlys.example').fill('gone.nordlys.exampl');
    expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
    expect(await look(page, 'domain-delete')).toEqual(FINE);
    await dialog.getByLabel('Type gone.nordlys.example').fill('gone.nordlys.example');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor();
    expect((await dashboard.api.get(`/v1/domains/${id}`)).status).toBe(404);
    expect(complaints).toEqual([]);
    await close();
  });
});
