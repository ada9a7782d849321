import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPlans } from '../../../src/composition/read-service-config.ts';
import { billingPeriod, closeInvoice, type Invoice } from '../../../src/domain/billing/invoice.ts';
import type { ChosenPlan, Plans } from '../../../src/domain/billing/plan.ts';
import { type Month, requirePeriod } from '../../../src/domain/billing/plan.ts';
import { countedDays } from '../../support/counted-days.ts';
import { folderForTest } from '../../support/place-for-test.ts';

const page = readFileSync(new URL('../../../docs/billing.md', import.meta.url), 'utf8');
const example = page.split('## A worked example')[1]?.split('\n## ')[0] ?? '';
const [, october = '', november = ''] = example.split('The invoice for ');

const numberIn = (cell: string): number =>
  Number(
    cell
      .replaceAll(',', '')
      .replace('−', '-')
      .replace(/ days$/, ''),
  );
const cellsOf = (text: string): readonly (readonly string[])[] =>
  [...text.matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) => row.split(' | ').map((cell) => cell.trim()));

/** Lines of an invoice as the page prints them: kind, plan, period, quantity, amount. */
const printedLines = (text: string) =>
  cellsOf(text)
    .filter(([kind = '']) => kind.startsWith('`'))
    .map(([kind = '', plan, period, quantity = '', , amount = '']) => [
      kind.replaceAll('`', ''),
      plan,
      period,
      numberIn(quantity),
      numberIn(amount),
    ]);
const printedTotal = (text: string) => Number(/\*\*total: EUR ([\d.]+)\*\*/.exec(text)?.[1]) * 100;

const lines = (invoice: Invoice) =>
  invoice.lines.map(({ kind, plan, from, to, quantity, amount }) => [
    kind,
    plan.name,
    `${from} to ${to}`,
    quantity,
    amount,
  ]);

test('the worked example of docs/billing.md is what its plans and counts come to', async () => {
  const file = join(await folderForTest(), 'plans.json');
  await writeFile(file, page.split('```json\n')[1]?.split('```')[0] ?? '');
  const plans: Plans = await readPlans(file);
  const starter = plans.offered.find(({ id }) => id === 'starter');
  if (starter === undefined) throw new Error('the page has no plan starter');
  const chosenPlans: readonly ChosenPlan[] = [{ plan: starter, from: '2026-10-11' }];
  const close = (month: Month, days: readonly (readonly [string, number])[], earlier: readonly Invoice[]): Invoice => {
    const [closed] = closeInvoice(billingPeriod.initial, {
      billed: {
        organizationId: 'org_shop',
        createdAt: '2026-01-01T00:00:00.000Z',
        chosenPlans,
        settings: { customer: null },
      },
      plans,
      period: requirePeriod(month),
      days: countedDays(days),
      countedTo: { position: '42', at: null },
      earlier,
      since: '2026-08',
    });
    if (closed?.type !== 'InvoiceClosed') throw new Error('nothing was closed');
    return closed.data;
  };

  const [free = 0, paid = 0, next = 0] = cellsOf(example.split('The invoice for ')[0] ?? '')
    .slice(1)
    .map(([, recipients = '']) => numberIn(recipients));
  const first = close(
    '2026-10',
    [
      ['2026-10-05', free],
      ['2026-10-20', paid],
    ],
    [],
  );
  expect(lines(first)).toEqual(printedLines(october));
  expect(first.total).toBe(Math.round(printedTotal(october)));

  const failed = Number(/turns out that (\d+) recipients/.exec(october)?.[1]);
  const days = [
    ['2026-10-05', free],
    ['2026-10-20', paid - failed],
    ['2026-11-15', next],
  ] as const;
  const second = close('2026-11', days, [first]);
  expect(lines(second)).toEqual(printedLines(november));
  expect(second.total).toBe(Math.round(printedTotal(november)));
});
