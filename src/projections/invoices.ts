import type { Invoice } from '../domain/billing/invoice.ts';
import type { Month } from '../domain/billing/plan.ts';
import type { Database } from './database.ts';
import { type ListCursor, type ListPage, pageOf, rowsToAsk } from './page-of.ts';
import { rowsInto } from './rebuild-tables.ts';

/** Invoices, in a table of the read model of billing. */

export interface ClosedInvoice {
  readonly invoice: Invoice;
  /** ISO 8601. */
  readonly closedAt: string;
}

interface InvoiceRow {
  readonly organizationId: string;
  readonly month: string;
  readonly invoiceId: string;
  readonly closedAt: string;
  readonly invoice: string;
}

export const insertInvoices = rowsInto<InvoiceRow>('billing_invoices', {
  organization_id: 'organizationId',
  month: 'month',
  invoice_id: 'invoiceId',
  closed_at: 'closedAt',
  invoice: 'invoice',
});

export const invoiceRow = (invoice: Invoice, closedAt: string): InvoiceRow => {
  const { organizationId, month, invoiceId } = invoice;
  return { organizationId, month, invoiceId, closedAt, invoice: JSON.stringify(invoice) };
};

interface Row {
  readonly invoice: Invoice;
  readonly closed_at: Date;
}

const closedOf = ({ invoice, closed_at }: Row): ClosedInvoice => ({ invoice, closedAt: closed_at.toISOString() });

const LIST = `
  select invoice, closed_at from read_models.billing_invoices
  where organization_id = $1 and ($2::text is null or month < $2)
  order by month desc
  limit $3`;

/** Invoices of an organization, newest month first. The cursor's time is the start of the month. */
export const listInvoices = async (
  db: Database,
  by: { readonly organizationId: string; readonly limit: number; readonly after: ListCursor | null },
): Promise<ListPage<ClosedInvoice>> => {
  const before = by.after?.createdAt.slice(0, 'YYYY-MM'.length) ?? null;
  const values = [by.organizationId, before, rowsToAsk(by.limit)];
  const { rows } = await db.query<Row>({ name: 'list-invoices', text: LIST, values });
  return pageOf(rows.map(closedOf), by.limit, ({ invoice: { month, invoiceId } }) => ({
    createdAt: `${month}-01T00:00:00.000Z`,
    id: invoiceId,
  }));
};

const LAST = 'select organization_id, max(month) as month from read_models.billing_invoices group by organization_id';

/** The last month with an invoice, by organization. */
export const lastInvoices = async (db: Database): Promise<ReadonlyMap<string, Month>> => {
  const { rows } = await db.query<{ organization_id: string; month: string }>({ name: 'last-invoices', text: LAST });
  return new Map(rows.map(({ organization_id, month }) => [organization_id, month]));
};
