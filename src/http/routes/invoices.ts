import { loadInvoice } from '../../commands/billing.ts';
import { loadOrganization } from '../../commands/organization.ts';
import type { InvoiceLine } from '../../domain/billing/events.ts';
import { requirePeriod } from '../../domain/billing/period.ts';
import { LOG_START, type Position } from '../../domain/kernel/event-store.ts';
import { afterAllOf } from '../../projections/events/queries.ts';
import type { ClosedInvoice } from '../../projections/invoices.ts';
import { acceptedIn } from '../accept.ts';
import { setRevision } from '../consistency.ts';
import { endpoint } from '../endpoint.ts';
import { listEndpoint } from '../lists.ts';
import { invoiceSchema, type SerializedInvoice } from '../schemas/billing.ts';
import { invoicePdf } from '../serialize/invoice-pdf.ts';
import { serializePeriod, serializePlan } from './billing.ts';
import { encodeFeedCursor, START } from './events/event-pages.ts';

const cursorAt = (position: Position): string => encodeFeedCursor(afterAllOf(position));

const COUNTED_TYPES = 'message.accepted,message.suppressed,message.failed';

const eventsOf = (
  { kind, from, to, after }: Pick<InvoiceLine, 'kind' | 'from' | 'to' | 'after'>,
  countedTo: string,
): string | null => {
  if (kind === 'plan') return null;
  const begin = after === LOG_START ? START : cursorAt(after);
  return `/v1/events?types=${COUNTED_TYPES}&billed_from=${from}&billed_to=${to}&after=${begin}&until=${countedTo}`;
};

const serializeInvoice = ({
  invoice: { invoiceId, month, lines, currency, total, countedTo },
  closedAt,
}: ClosedInvoice): SerializedInvoice => ({
  id: invoiceId,
  object: 'invoice',
  period: serializePeriod(requirePeriod(month)),
  currency,
  total,
  lines: lines.map((line) => ({
    kind: line.kind,
    from: line.from,
    to: line.to,
    plan: serializePlan(line.plan),
    quantity: line.quantity,
    amount: line.amount,
    events: eventsOf(line, cursorAt(countedTo.position)),
  })),
  counted_to: { cursor: cursorAt(countedTo.position), time: countedTo.at },
  closed_at: closedAt,
});

export const listInvoicesRoute = listEndpoint(
  'GET /v1/billing/invoices',
  { summary: 'List invoices, newest first', of: 'billing', list: 'invoices', item: invoiceSchema },
  async (by, { organizationId }, { deps }) => {
    const page = await deps.readModels.billing.invoices({ organizationId, ...by });
    return { ...page, items: page.items.map(serializeInvoice) };
  },
);

const PDF = 'application/pdf';

export const getInvoiceRoute = endpoint(
  'GET /v1/billing/invoices/:id',
  {
    summary: 'Read an invoice',
    description: `With \`Accept: ${PDF}\` it comes as a document for people.`,
    answer: invoiceSchema,
    otherMediaTypes: [PDF],
    large: true,
  },
  async ({ caller: { organizationId }, id, request, reply }, { deps }) => {
    const { revision, ...closed } = await loadInvoice(deps.context, organizationId, id);
    setRevision(reply, revision);
    reply.header('vary', 'accept');
    if (!acceptedIn(request.headers.accept).includes(PDF)) return serializeInvoice(closed);
    const { organization } = await loadOrganization(deps.context, organizationId);
    reply.type(PDF).header('content-disposition', `inline; filename="${closed.invoice.invoiceId}.pdf"`);
    return invoicePdf(closed, { organizationId, name: organization.settings.name });
  },
);
