import type { Readable } from 'node:stream';
import { type InvoiceLine, requirePeriod } from '../../domain/billing/plan.ts';
import type { ClosedInvoice } from '../../projections/billing.ts';

/**
 * Renders an invoice as PDF: a table on as many A4 pages as needed. pdfkit is loaded for the first one. The same invoice
 * always has the same bytes. The font covers Western European letters (WinAnsi); others are shown as `?`, so ids are
 * printed with names.
 */

/** The organization that the invoice is for. */
interface InvoicedOrganization {
  readonly organizationId: string;
  readonly name: string;
}

const MARGIN = 50;
/** Right edge on A4, in points. */
const RIGHT = 595 - MARGIN;
const LAST_Y = 760;
const LINE_HEIGHT = 18;
/** Left edges; the last column ends at the right margin. */
const COLUMNS = [MARGIN, 150, 265, 360, 440] as const;
const HEADS = ['For', 'Days', 'Plan', 'Quantity', 'Amount'] as const;
const NUMBERS_FROM = 3;
const NAME_CHARACTERS_MAX = 60;

const KINDS = {
  plan: 'Price of the plan',
  recipients: 'Recipients',
  late_recipients: 'Late recipients',
} satisfies Record<InvoiceLine['kind'], string>;

const UNPRINTABLE = /[^\x20-\x7e\u00a1-\u00ff\u20ac\u2013\u2014\u2018-\u201e\u2022\u2026]/gu;

/** The text in characters that the font has. */
export const printable = (text: string, charactersMax = NAME_CHARACTERS_MAX): string =>
  text.normalize('NFC').replace(UNPRINTABLE, '?').slice(0, charactersMax);

/** Exact: the currency's minor unit is shifted as text. */
const money = (amount: number, currency: string): string => {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 0;
  const text = String(Math.abs(amount)).padStart(digits + 1, '0');
  const whole = BigInt(text.slice(0, text.length - digits)).toLocaleString('en');
  const fraction = digits === 0 ? '' : `.${text.slice(-digits)}`;
  return `${amount < 0 ? '-' : ''}${whole}${fraction} ${currency}`;
};

/** The day before the one after the last. */
const lastDay = (to: string): string => new Date(Date.parse(to) - 86_400_000).toISOString().slice(0, to.length);

const cellsOf = ({ kind, from, to, plan, quantity, amount }: InvoiceLine, currency: string): readonly string[] => [
  KINDS[kind],
  `${from} to ${lastDay(to).slice(-2)}`,
  printable(plan.name),
  quantity.toLocaleString('en'),
  money(amount, currency),
];

/** Streams it. */
export const invoicePdf = async (
  { invoice, closedAt }: ClosedInvoice,
  organization: InvoicedOrganization,
): Promise<Readable> => {
  const { default: PdfDocument } = await import('pdfkit');
  const { invoiceId, month, lines, currency, total, countedTo } = invoice;
  const { start, end } = requirePeriod(month);
  const info = { Title: `Invoice ${invoiceId}`, CreationDate: new Date(closedAt) };
  const doc = new PdfDocument({ size: 'A4', margin: MARGIN, info, lang: 'en', displayTitle: true });

  const row = (cells: readonly string[], y: number): void => {
    cells.forEach((text, column) => {
      const x = COLUMNS[column] ?? MARGIN;
      const width = (COLUMNS[column + 1] ?? RIGHT + 8) - x - 8;
      const align = column >= NUMBERS_FROM ? 'right' : 'left';
      doc.text(text, x, y, { width, align, height: LINE_HEIGHT, ellipsis: true, lineBreak: false });
    });
  };

  const table = (from: number): number => {
    let y = from;
    const head = (): void => {
      doc.font('Helvetica-Bold').fontSize(9);
      row(HEADS, y);
      doc
        .moveTo(MARGIN, y + 13)
        .lineTo(RIGHT, y + 13)
        .lineWidth(0.5)
        .stroke();
      doc.font('Helvetica');
      y += LINE_HEIGHT + 2;
    };
    head();
    for (const line of lines) {
      if (y > LAST_Y) {
        doc.addPage();
        y = MARGIN;
        head();
      }
      row(cellsOf(line, currency), y);
      y += LINE_HEIGHT;
    }
    return y;
  };

  doc.font('Helvetica-Bold').fontSize(20).text('Invoice', MARGIN, MARGIN);
  doc.font('Helvetica').fontSize(10).moveDown(0.5);
  doc.text(`Number: ${invoiceId}`);
  doc.text(`Organization: ${printable(organization.name)} (${organization.organizationId})`);
  doc.text(`Period: ${start} to ${lastDay(end)} (UTC)`);
  doc.text(`Closed: ${closedAt}`);
  doc.moveDown();
  const y = table(doc.y) + 8;
  doc.font('Helvetica-Bold').fontSize(11);
  doc.text(`Total: ${money(total, currency)}`, MARGIN, y, { width: RIGHT - MARGIN, align: 'right' });
  doc.font('Helvetica').fontSize(8).moveDown();
  doc.text(`Counted to position ${countedTo.position} of the log. Later facts are on the next invoice.`, MARGIN);
  doc.end();
  return doc;
};
