import type { Readable } from 'node:stream';
import type { ClosedInvoice } from '../../commands/billing.ts';
import { type InvoiceLine, requirePeriod } from '../../domain/billing/plan.ts';
import { calculationOf, factsOf, money, quantityOf, startOf, titleOf } from './explain-invoice.ts';

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
const LAST_Y = 745;
const LINE_HEIGHT = 18;
/** Left edges; the last column ends at the right margin. The plan takes as many lines as its name needs. */
const COLUMNS = [MARGIN, 126, 216, 332, 438] as const;
const HEADS = ['For', 'Days', 'Plan', 'Quantity', 'Amount'] as const;
const NUMBERS_FROM = 3;
const PLAN = 2;
/** Names and addresses have fewer, and must not be cut: they identify the parties. */
const NAME_CHARACTERS_MAX = 500;
/** Space from the top of a line to its calculation. */
const CALCULATION_BELOW = 12;
const QUIET = '#555555';

const KINDS = {
  plan: 'Price of the plan',
  recipients: 'Recipients',
  late_recipients: 'Late recipients',
} satisfies Record<InvoiceLine['kind'], string>;

const UNPRINTABLE = /[^\x20-\x7e\u00a1-\u00ff\u20ac\u2013\u2014\u2018-\u201e\u2022\u2026]/gu;

/** The text in characters that the font has. */
export const printable = (text: string, charactersMax = NAME_CHARACTERS_MAX): string =>
  text.normalize('NFC').replace(UNPRINTABLE, '?').slice(0, charactersMax);

/** True if a text has letters that are shown as `?`. */
export const lacksLetters = (texts: readonly string[]): boolean =>
  texts.some((text) => text.normalize('NFC').search(UNPRINTABLE) !== -1);

/** The day before the one after the last. */
const lastDay = (to: string): string => new Date(Date.parse(to) - 86_400_000).toISOString().slice(0, to.length);

const MONTH_NAME = new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' });

/** `29 November`, `1 to 31 October`: the days of a line are in one month. */
const daysOf = ({ from, to }: InvoiceLine): string => {
  const [first, last] = [from, lastDay(to)].map((day) => Number(day.slice(-2)));
  return `${first === last ? first : `${first} to ${last}`} ${MONTH_NAME.format(Date.parse(from))}`;
};

const cellsOf = (line: InvoiceLine, currency: string): readonly string[] => [
  KINDS[line.kind],
  daysOf(line),
  printable(line.plan.name),
  quantityOf(line.quantity, factsOf(line).unit),
  money(line.amount, currency),
];

type Party = NonNullable<ClosedInvoice['invoice']['customer']>;

/** Name, address and tax number of a party, a line each. */
const linesOfParty = ({ name, address, taxId }: Party): readonly string[] =>
  [name, ...address.split('\n'), ...(taxId === null ? [] : [`Tax number: ${taxId}`])].map((text) => printable(text));

const headOf = ({ invoice, closedAt }: ClosedInvoice, organization: InvoicedOrganization): readonly string[] => {
  const { invoiceId, number, month, issuer, customer } = invoice;
  const { end } = requirePeriod(month);
  return [
    `Number: ${number === undefined ? invoiceId : `${number} (${invoiceId})`}`,
    `Organization: ${printable(organization.name)} (${organization.organizationId})`,
    `Period: ${startOf(invoice)} to ${lastDay(end)} (UTC)`,
    `Closed: ${closedAt}`,
    ...(issuer === undefined ? [] : ['', 'Issuer:', ...linesOfParty(issuer)]),
    ...(customer === undefined ? [] : ['', 'Customer:', ...linesOfParty(customer)]),
  ];
};

const LETTERS_MISSING =
  'A question mark in a name can stand for a letter that this font does not have. The invoice as JSON has all names in full.';

const totalsOf = ({ total, tax, currency }: ClosedInvoice['invoice']): readonly string[] =>
  tax === undefined
    ? [`Total: ${money(total, currency)}`]
    : [
        `Total without tax: ${money(total, currency)}`,
        `${printable(tax.name)} ${tax.rate} %: ${money(tax.amount, currency)}`,
        `Total: ${money(total + tax.amount, currency)}`,
      ];

/** Streams it. */
export const invoicePdf = async (
  { invoice, closedAt }: ClosedInvoice,
  organization: InvoicedOrganization,
): Promise<Readable> => {
  const { default: PdfDocument } = await import('pdfkit');
  const { invoiceId, lines, currency, countedTo } = invoice;
  const title = titleOf(invoice);
  const info = { Title: `${title} ${invoice.number ?? invoiceId}`, CreationDate: new Date(closedAt) };
  const doc = new PdfDocument({ size: 'A4', margin: MARGIN, info, lang: 'en', displayTitle: true });

  const widthOf = (column: number): number => (COLUMNS[column + 1] ?? RIGHT + 8) - (COLUMNS[column] ?? MARGIN) - 8;

  const row = (cells: readonly string[], y: number): void => {
    cells.forEach((text, column) => {
      const align = column >= NUMBERS_FROM ? 'right' : 'left';
      const oneLine = column === PLAN ? {} : { height: LINE_HEIGHT, ellipsis: true, lineBreak: false };
      doc.text(text, COLUMNS[column] ?? MARGIN, y, { width: widthOf(column), align, ...oneLine });
    });
  };

  /** Height of the second line of a text, and of those below it, in the font of now. */
  const moreLinesOf = (text: string, width: number): number =>
    doc.heightOfString(text, { width }) - doc.currentLineHeight(true);

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
      const cells = cellsOf(line, currency);
      const more = moreLinesOf(cells[PLAN] ?? '', widthOf(PLAN));
      if (y + more > LAST_Y) {
        doc.addPage();
        y = MARGIN;
        head();
      }
      row(cells, y);
      const calculation = calculationOf(line);
      const width = RIGHT - MARGIN;
      doc
        .fontSize(8)
        .fillColor(QUIET)
        .text(calculation, MARGIN, y + more + CALCULATION_BELOW, { width });
      y += more + moreLinesOf(calculation, width) + LINE_HEIGHT + CALCULATION_BELOW;
      doc.fontSize(9).fillColor('black');
    }
    return y;
  };

  doc.font('Helvetica-Bold').fontSize(20).text(title, MARGIN, MARGIN);
  doc.font('Helvetica').fontSize(10).moveDown(0.5);
  for (const text of headOf({ invoice, closedAt }, organization)) doc.text(text === '' ? ' ' : text);
  doc.moveDown();
  const y = table(doc.y) + 8;
  doc.font('Helvetica-Bold').fontSize(11);
  doc.text(totalsOf(invoice).join('\n'), MARGIN, y, { width: RIGHT - MARGIN, align: 'right' });
  doc.font('Helvetica').fontSize(8).moveDown();
  const counted = countedTo.at === null ? '' : `Counted up to ${countedTo.at}. `;
  doc.text(`${counted}Later changes appear on the next ${title.toLowerCase()}. Each line is rounded once.`, MARGIN);
  const { issuer, customer } = invoice;
  const names = [organization.name, JSON.stringify([issuer, customer]), ...lines.map(({ plan }) => plan.name)];
  if (lacksLetters(names)) doc.text(LETTERS_MISSING);
  doc.end();
  return doc;
};
