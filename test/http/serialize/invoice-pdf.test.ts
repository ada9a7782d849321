import { monitorEventLoopDelay } from 'node:perf_hooks';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { ClosedInvoice } from '../../../src/commands/billing.ts';
import type { InvoiceLine } from '../../../src/domain/billing/plan.ts';
import { invoicePdf } from '../../../src/http/resources/invoice-pdf.ts';
import { textOf } from '../../support/pdf-text.ts';

const PLAN = { id: 'starter', name: 'Starter', currency: 'EUR', price: 1900, included: 4, overagePer1000: '45.5' };
const line = (more: Partial<InvoiceLine> = {}): InvoiceLine => ({
  kind: 'recipients',
  month: '2026-10',
  from: '2026-10-01',
  to: '2026-11-01',
  plan: { ...PLAN, hardLimit: null },
  quantity: 123_456,
  after: '0000000000000000',
  amount: 561_699,
  ...more,
});
const closed = (lines: readonly InvoiceLine[], more: object = {}): ClosedInvoice => ({
  closedAt: '2026-11-01T01:00:00.000Z',
  invoice: {
    organizationId: 'org_a',
    invoiceId: 'inv_abc',
    month: '2026-10',
    currency: 'EUR',
    lines: [...lines],
    total: lines.reduce((sum, { amount }) => sum + amount, 0),
    countedTo: { position: '0000000000000042', at: '2026-11-01T00:30:00.000Z' },
    ...more,
  },
});
const SHOP = { organizationId: 'org_a', name: 'Bäckerei Müller' };

const shown = async (...by: Parameters<typeof invoicePdf>): Promise<string> =>
  textOf(await buffer(await invoicePdf(...by)));

describe('an invoice as PDF', () => {
  test('says who is charged, for what, how much, and up to where it was counted', async () => {
    const text = await shown(closed([line(), line({ kind: 'plan', quantity: 31, amount: -1905 })]), SHOP);
    for (const said of [
      'Number: inv_abc',
      'Organization: Bäckerei Müller (org_a)',
      'Period: 2026-10-01 to 2026-10-31 (UTC)',
      '123,456',
      '5,616.99 EUR',
      '-19.05 EUR',
      'Total: 5,597.94 EUR',
      'Counted up to 2026-11-01T00:30:00.000Z. Later changes appear on the next usage statement.',
    ])
      expect(text).toContain(said);
  });

  test('says how each line is calculated, with the unit of its quantity', async () => {
    const plan = line({ kind: 'plan', quantity: 21, from: '2026-10-11', amount: 1287 });
    const recipients = line({ from: '2026-10-11', quantity: 9_212, amount: 419 });
    const late = line({ kind: 'late_recipients', quantity: -500, counted: 8_712, charged: 419, amount: -23 });
    const text = await shown(closed([plan, recipients, late]), SHOP);
    for (const said of [
      '21 days',
      '9,212 recipients',
      '19.00 EUR x 21 / 31 days = 12.87 EUR',
      '9,212 recipients - 3 included (4 x 21 / 31 days, rounded up) = 9,209 x 0.455 EUR / 1,000 = 4.19 EUR',
      '8,712 recipients - 4 included = 8,708 x 0.455 EUR / 1,000, less 4.19 EUR already charged = -0.23 EUR',
    ])
      expect(text).toContain(said);
  });

  test('shows days and counts in words, and says when nothing is charged', async () => {
    const oneDay = { from: '2026-10-29', to: '2026-10-30' };
    const text = await shown(
      closed([line({ kind: 'plan', quantity: 1, ...oneDay }), line({ quantity: 1, amount: 0 })]),
      SHOP,
    );
    for (const said of [
      /^29 October$/m,
      /^1 day$/m,
      /^1 to 31 October$/m,
      /^1 recipient$/m,
      /^1 recipient, 4 included: nothing to charge$/m,
    ])
      expect(text).toMatch(said);
    expect(text).not.toContain('position');
  });

  test('cuts no name of a party or plan', async () => {
    const name = `${'Gesellschaft mit beschränkter Haftung '.repeat(3)}XYZ`;
    const party = { name, address: `${'Straße '.repeat(20)}QWE`, taxId: null };
    const plan = { ...line().plan, name: `${'Plan of a long name '.repeat(3)}ABC` };
    const parties = { number: 'ML-A-0003', issuer: party, customer: party };
    const text = await shown(closed([line({ plan }), line()], parties), { ...SHOP, name });
    for (const end of ['XYZ', 'QWE', 'ABC']) expect(text).toContain(end);
    expect(text).not.toContain('\u2026');
  });

  test('is an invoice with both parties and tax, and a usage statement without', async () => {
    const parties = {
      ...{ number: 'ML-A-0003', tax: { name: 'VAT', rate: '19', amount: 38 } },
      issuer: { name: 'Mail Ltd', address: '2 Low Road\nLeeds', taxId: 'GB1' },
      customer: { name: 'Shop Ltd', address: '1 High Street\nLondon', taxId: null },
    };
    const invoice = await shown(closed([line({ amount: 200 })], parties), SHOP);
    const said = [
      'Invoice',
      'Number: ML-A-0003 (inv_abc)',
      'Mail Ltd',
      'Leeds',
      'Tax number: GB1',
      'Shop Ltd',
      'London',
    ];
    for (const text of [...said, 'Total without tax: 2.00 EUR', 'VAT 19 %: 0.38 EUR', 'Total: 2.38 EUR'])
      expect(invoice).toContain(text);
    const { customer: _, tax: __, ...half } = parties;
    expect(await shown(closed([line()], half), SHOP)).toMatch(/^Usage statement$/m);
  });

  test('begins its first period when the organization began', async () => {
    const first = line({ kind: 'plan', from: '2026-10-17', quantity: 15 });
    expect(await shown(closed([first, line({ month: '2026-09', from: '2026-09-01' })]), SHOP)).toContain(
      'Period: 2026-10-17 to 2026-10-31 (UTC)',
    );
  });

  test('shows amounts of a currency without a smaller unit, and large ones to the last digit', async () => {
    const yen = await shown(closed([line({ amount: 9_007_199_254_740_991 })], { currency: 'JPY' }), SHOP);
    expect(yen).toContain('9,007,199,254,740,991 JPY');
  });

  test('has the same bytes each time', async () => {
    const [one, other] = await Promise.all([1, 2].map(async () => buffer(await invoicePdf(closed([line()]), SHOP))));
    expect(one).toEqual(other);
  });

  test('shows a question mark for what its font lacks, and no control character', async () => {
    const text = await shown(closed([line()]), { organizationId: 'org_a', name: '株式会社\r\n/JS (app.alert(1))\0' });
    expect(text).toContain('Organization: ????');
    expect(text).toContain('(org_a)');
    const note = 'The invoice as JSON has all names in full.';
    expect([text.includes(note), (await shown(closed([line()]), SHOP)).includes(note)]).toEqual([true, false]);
    const long = await shown(closed([line()]), { organizationId: 'org_a', name: 'a'.repeat(10_000) });
    expect(long.length).toBeLessThan(1_000);
  });

  test('with a different plan every day has several pages, and blocks the event loop for less than 50 ms', async () => {
    const lines = Array.from({ length: 250 }, () => line());
    await shown(closed([line()]), SHOP); // loads pdfkit
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const pdf = await buffer(await invoicePdf(closed(lines), SHOP));
    delay.disable();
    expect(textOf(pdf).match(/^5,616\.99 EUR$/gm)).toHaveLength(250);
    expect(textOf(pdf).match(/^Quantity$/gm)?.length).toBeGreaterThan(4);
    expect(delay.max / 1e6).toBeLessThan(50);
  });
});
