import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SerializedInvoice } from '../../http/schemas/billing.ts';
import type { List } from '../../http/schemas/envelope.ts';
import type { FeedEvent } from '../../http/schemas/event.ts';
import { request } from '../data/api.ts';
import { linkTo } from '../data/location.ts';
import { money } from '../data/money.ts';
import { useList } from '../data/queries.ts';
import { count, useTimes } from '../data/time.ts';
import { Download } from './download.tsx';
import { Listed } from './listed.tsx';
import { Empty, Fault } from './states.tsx';

type Line = SerializedInvoice['lines'][number];

const KINDS = {
  plan: 'Price of the plan',
  recipients: 'Recipients beyond the included ones',
  late_recipients: 'Changes of the count of an earlier invoice',
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
          {next === events ? 'Its events' : 'More events'}
        </button>
      )}
      {error !== null && <Fault error={error} />}
      {next === null && found.length === 0 && <span class="muted">It counts no event.</span>}
      <ul class="behind">
        {found.map((event) => (
          <EventRow key={event.id} event={event} />
        ))}
      </ul>
    </>
  );
};

const LineRow = ({ line, currency }: { readonly line: Line; readonly currency: string }): JSX.Element => (
  <li class="invoice-line">
    <span>
      <b class="b">{KINDS[line.kind]}</b>
      <small class="muted">
        {line.from} to {line.to}, plan <bdi>{line.plan.name}</bdi>,{' '}
        {line.kind === 'plan' ? `${count(line.quantity)} days` : `${count(line.quantity)} recipients`}
      </small>
    </span>
    <span class="r num">{money(line.amount, currency)}</span>
    {line.events !== null && (
      <div class="all">
        <LineEvents events={line.events} />
      </div>
    )}
  </li>
);

const InvoiceRow = ({ invoice }: { readonly invoice: SerializedInvoice }): JSX.Element => {
  const times = useTimes();
  const { id, period, total, currency, lines } = invoice;
  return (
    <details class="inv">
      <summary>
        <b class="b">
          {new Date(period.start).toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })}
        </b>
        <span class="muted hide-s">closed {times.short(invoice.closed_at)}</span>
        <span class="r num b">{money(total, currency)}</span>
      </summary>
      <ul>
        {lines.map((line) => (
          <LineRow key={`${line.kind} ${line.from} ${line.plan.id}`} line={line} currency={currency} />
        ))}
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
        <Empty icon="bars" title="No invoice yet">
          A month (UTC) is closed an hour after its end. Each line then names the events that it counts.
        </Empty>
      }
    />
  );
};
