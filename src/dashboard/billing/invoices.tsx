import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { FeedEvent } from '../../http/resources/events/event.ts';
import type { SerializedInvoice } from '../../http/resources/invoices.ts';
import { Download, Listed } from '../components/screen.tsx';
import { Empty, Fault } from '../components/states.tsx';
import { request } from '../data/api.ts';
import { linkTo } from '../data/location.ts';
import { useList } from '../data/queries.ts';
import { count, useTimes } from '../data/time.ts';

export const LOCALE = 'en-GB';

/** Formats 1900 as €19.00. @param minor amount in the minor unit. @param currency ISO 4217. */
export const money = (minor: number, currency: string): string => {
  const format = new Intl.NumberFormat(LOCALE, { style: 'currency', currency });
  return format.format(minor / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
};

type Line = SerializedInvoice['lines'][number];

const KINDS = {
  plan: 'Plan price',
  recipients: 'Additional recipients',
  late_recipients: 'Corrections to an earlier invoice',
} as const;

/** Path of the next page of a line's events; null: this was the last page. */
const furtherOf = (events: string, { has_more: hasMore, next_cursor: cursor }: List<FeedEvent>): string | null => {
  if (!hasMore || cursor === null) return null;
  const url = new URL(events, location.origin);
  url.searchParams.set('after', cursor);
  return url.pathname + url.search;
};

const EventRow = ({ event }: { readonly event: FeedEvent }): JSX.Element => {
  const times = useTimes();
  const { data } = event;
  return (
    <li>
      <time dateTime={event.timestamp}>{times.short(event.timestamp)}</time> <code>{event.type}</code>{' '}
      {'message_id' in data && (
        <a class="lnk" href={linkTo(`/messages/${data.message_id}`)}>
          <code>{data.message_id}</code>
        </a>
      )}
    </li>
  );
};

/** The events that a line counts, loaded page by page on demand. */
const LineEvents = ({ events }: { readonly events: string }): JSX.Element => {
  const [found, setFound] = useState<readonly FeedEvent[]>([]);
  const [next, setNext] = useState<string | null>(events);
  const [error, setError] = useState<Error | null>(null);
  const read = async (path: string): Promise<void> => {
    try {
      const page = await request<List<FeedEvent>>(path, { environment: 'live' });
      setFound((before) => [...before, ...page.data]);
      setNext(furtherOf(events, page));
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
    }
  };
  return (
    <>
      {next !== null && (
        <button type="button" class="btn small" onClick={() => void read(next)}>
          {next === events ? 'Show events' : 'More events'}
        </button>
      )}
      {error !== null && <Fault error={error} />}
      {next === null && found.length === 0 && <span class="muted">No events.</span>}
      <ul class="behind">
        {found.map((event) => (
          <EventRow key={event.id} event={event} />
        ))}
      </ul>
    </>
  );
};

export const DAY_MS = 86_400_000;
const UNITS_OF_ONE = { days: 'day', recipients: 'recipient' } as const;

/** `2026-11-29`, or `2026-11-01 to 2026-11-30`. A line's `to` is the day after its last. */
const daysOf = ({ from, to }: Line): string => {
  const last = new Date(Date.parse(to) - DAY_MS).toISOString().slice(0, to.length);
  return from === last ? from : `${from} to ${last}`;
};

const LineRow = ({ line, currency }: { readonly line: Line; readonly currency: string }): JSX.Element => (
  <li class="invoice-line line">
    <span>
      <b class="b">{KINDS[line.kind]}</b>
      <small class="muted">
        {daysOf(line)}, plan <bdi>{line.plan.name}</bdi>, {count(line.quantity)}{' '}
        {line.quantity === 1 ? UNITS_OF_ONE[line.unit] : line.unit}
      </small>
      <small class="muted">{line.calculation}</small>
    </span>
    <span class="r num">{money(line.amount, currency)}</span>
    {line.events !== null && (
      <div class="all">
        <LineEvents events={line.events} />
      </div>
    )}
  </li>
);

const TaxRow = ({
  invoice: { total, currency },
  tax,
}: {
  readonly invoice: SerializedInvoice;
  readonly tax: NonNullable<SerializedInvoice['tax']>;
}): JSX.Element => (
  <li class="invoice-line line">
    <span>
      <b class="b">
        <bdi>{tax.name}</bdi>
      </b>
      <small class="muted">
        {tax.rate} % of {money(total, currency)}
      </small>
    </span>
    <span class="r num">{money(tax.amount, currency)}</span>
  </li>
);

const PartyText = ({ word, party }: { readonly word: string; readonly party: SerializedInvoice['issuer'] }) =>
  party === null ? null : (
    <p class="muted">
      {word}: <bdi>{[party.name, ...party.address.split('\n')].join(', ')}</bdi>
      {party.tax_id !== null && (
        <>
          , tax number <bdi>{party.tax_id}</bdi>
        </>
      )}
    </p>
  );

/** Issuer and customer, or how a usage statement becomes an invoice. */
const Parties = ({ invoice: { title, issuer, customer } }: { readonly invoice: SerializedInvoice }): JSX.Element => (
  <div class="pad">
    <PartyText word="Issuer" party={issuer} />
    <PartyText word="Customer" party={customer} />
    {title === 'Usage statement' && (
      <p class="muted">
        This is a usage statement, not an invoice: {customer === null ? 'your billing details' : 'the issuer’s details'}{' '}
        were not set when the month was closed.
      </p>
    )}
  </div>
);

const InvoiceRow = ({ invoice }: { readonly invoice: SerializedInvoice }): JSX.Element => {
  const times = useTimes();
  const { id, period, total_with_tax: total, currency, lines } = invoice;
  return (
    <details class="inv">
      <summary class="hoverable">
        <b class="b">
          {new Date(period.start).toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })}
        </b>
        <span class="muted hide-s">
          {invoice.title} {invoice.number}, closed {times.short(invoice.closed_at)}
        </span>
        <span class="r num b">{money(total, currency)}</span>
      </summary>
      <Parties invoice={invoice} />
      <ul>
        {lines.map((line) => (
          <LineRow key={`${line.kind} ${line.from} ${line.plan.id}`} line={line} currency={currency} />
        ))}
        {invoice.tax !== null && <TaxRow invoice={invoice} tax={invoice.tax} />}
      </ul>
      <div class="pad">
        <Download
          word="PDF"
          path={`/v1/billing/invoices/${id}`}
          accept="application/pdf"
          name={`${id}.pdf`}
          tone="small"
        />
      </div>
    </details>
  );
};

/** Invoices, newest first. Each expands to its lines, and each line to the events it counts. */
export const Invoices = (): JSX.Element => {
  const list = useList<SerializedInvoice>({ path: '/v1/billing/invoices', query: { limit: 24 } });
  return (
    <Listed
      label="Invoices"
      list={list}
      look="invoices"
      keyOf={({ id }) => id}
      render={(invoice) => <InvoiceRow invoice={invoice} />}
      empty={
        <Empty icon="bars" title="No invoices yet">
          Each month (UTC) is closed one hour after it ends. Every invoice line lists the events that it counts.
        </Empty>
      }
    />
  );
};
