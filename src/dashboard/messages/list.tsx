import { observeWindowOffset, observeWindowRect, Virtualizer, windowScroll } from '@tanstack/virtual-core';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SerializedListedMessage } from '../../http/resources/messages/message.ts';
import { Mark, Status } from '../components/icons.tsx';
import { useMaySearchFor } from '../data/access.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { shortId, useSenderNames } from '../data/names.ts';
import { useIsNarrow } from '../data/narrow.ts';
import type { useList } from '../data/queries.ts';
import { useTimes } from '../data/time.ts';
import { messageState } from './outcome-words.ts';
import { readFromTop, wayBack } from './updates.ts';

/** Rows beyond the edges of the window. More: slower scrolling. Fewer: blank rows when scrolling fast. */
const OVERSCAN = 8;

interface VirtualListProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  keyOf(row: Row): string;
  /** Pixels. */
  heightOf(row: Row): number;
  render(row: Row): JSX.Element;
  /** Scroll position in pixels to restore on return. */
  readonly top?: number | null;
  /** Key of the row to scroll into view when it changes; null: none. */
  readonly revealed?: string | null;
  /** Called when the last rows become visible, and after every change until more rows are added. */
  onEnd(): void;
}

/** A list that scrolls with the window and renders only the visible rows. */
export const VirtualList = <Row,>(props: VirtualListProps<Row>): JSX.Element => {
  const { label, rows, keyOf, heightOf, render, onEnd, revealed = null, top = null } = props;
  const element = useRef<HTMLUListElement>(null);
  const [, draw] = useState({});
  const options = {
    count: rows.length,
    getScrollElement: () => window,
    estimateSize: (index: number) => {
      const row = rows[index];
      return row === undefined ? 0 : heightOf(row);
    },
    getItemKey: (index: number) => {
      const row = rows[index];
      return row === undefined ? index : keyOf(row);
    },
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    overscan: OVERSCAN,
    scrollMargin: element.current === null ? 0 : element.current.getBoundingClientRect().top + window.scrollY,
    initialRect: { width: window.innerWidth, height: window.innerHeight },
    onChange: () => draw({}),
  };
  const [virtualizer] = useState(() => new Virtualizer<Window, HTMLLIElement>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  const heights = rows[0] === undefined ? 0 : heightOf(rows[0]);
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, heights, rows.length]);

  useLayoutEffect(() => {
    if (top !== null) scrollTo(0, top);
  }, []);
  const revealedAt = useMemo(
    () => (revealed === null ? -1 : rows.findIndex((row) => keyOf(row) === revealed)),
    [revealed, rows],
  );
  useEffect(() => {
    if (revealedAt >= 0) virtualizer.scrollToIndex(revealedAt, { align: 'auto' });
  }, [revealed]);

  const shown = virtualizer.getVirtualItems();
  const last = shown.at(-1)?.index ?? -1;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - OVERSCAN) onEnd();
  });

  return (
    <ul ref={element} class="virtual" aria-label={label} style={{ height: `${virtualizer.getTotalSize()}px` }}>
      {shown.map(({ index, key, start }) => {
        const row = rows[index];
        if (row === undefined) return null;
        return (
          <li
            key={String(key)}
            style={{
              transform: `translateY(${start - virtualizer.options.scrollMargin}px)`,
              height: `${heightOf(row)}px`,
            }}
          >
            {render(row)}
          </li>
        );
      })}
    </ul>
  );
};

type Message = SerializedListedMessage;

/** Events after delivery. */
const Afterwards = ({ recipients }: Message): JSX.Element | null => {
  if (recipients.some(({ complained }) => complained)) return <Mark state="complained" />;
  if (recipients.some(({ clicked }) => clicked)) return <Mark state="clicked" />;
  return recipients.some(({ opened }) => opened) ? <Mark state="opened" /> : null;
};

const TAGS_SHOWN = 1;

interface RowProps {
  readonly message: Message;
  /** True if the keyboard selection is here. */
  readonly isSelected: boolean;
  /** True if the message is selected for cancellation. */
  readonly isPicked: boolean;
  readonly keyName: string;
  /** False for masked texts, which set no filter. */
  maySearchFor(text: string): boolean;
  /** null: the member or key can do nothing with several messages. */
  readonly pick: (() => void) | null;
}

/** A message in a list. Each cell names the filter that it can set: `status=bounced`. */
const MessageRow = ({ message, isSelected, isPicked, keyName, maySearchFor, pick }: RowProps): JSX.Element => {
  const times = useTimes();
  const [first, ...further] = message.recipients;
  const filterBy = (name: string, value: string) => maySearchFor(value) && { 'data-filter': `${name}=${value}` };
  return (
    <>
      {pick !== null && (
        <input
          type="checkbox"
          class="picked"
          aria-label={`Select ${message.subject ?? message.id}`}
          checked={isPicked}
          tabIndex={-1}
          onChange={pick}
        />
      )}
      <a
        class="lr hoverable line"
        href={linkTo(`/messages/${message.id}`)}
        {...(isSelected && { 'data-selected': message.id })}
      >
        <span class="st flex" data-filter={`status=${message.status}`}>
          <Status {...messageState(message)} />
          <span class="also">
            <Afterwards {...message} />
          </span>
        </span>
        <span class="to" {...(first?.address && filterBy('to', first.address))}>
          <bdi class="ell">{first?.address ?? 'erased or expired'}</bdi>
          {further.length > 0 && <span class="quiet">+{further.length}</span>}
        </span>
        <span class="subj flex" {...(message.subject !== null && filterBy('subject', `"${message.subject}"`))}>
          <bdi class="ell">{message.subject ?? '(no longer stored)'}</bdi>
          {message.tags.slice(0, TAGS_SHOWN).map(({ name, value }) => (
            <bdi class="tag" key={name} {...filterBy('tag', `${name}:${value}`)}>
              {name}:{value}
            </bdi>
          ))}
        </span>
        <bdi class="ell two" data-filter={`key_id=${message.api_key_id}`}>
          {keyName}
        </bdi>
        <time class="tm" dateTime={message.created_at}>
          {times.clock(message.created_at)}
        </time>
      </a>
    </>
  );
};

/** Filters the list by the cell under the pointer, or else by the selected row's status. */
export const narrowByCell = (): void => {
  // The cell of the subject contains tags, so the innermost match wins.
  const hovered = [...document.querySelectorAll('.lr [data-filter]:hover')].at(-1);
  const cell = hovered ?? document.querySelector('.lr[data-selected] [data-filter]');
  const text = cell?.getAttribute('data-filter') ?? '';
  const at = text.indexOf('=');
  if (at >= 0) navigate(withParameters({ [text.slice(0, at)]: text.slice(at + 1) }));
};

type DayRow<Item> =
  /** By the time of an outcome, a day may come again: its key is that of the item below it. */
  { readonly kind: 'day'; readonly day: string; readonly key: string } | { readonly kind: 'item'; readonly item: Item };

const DAY_PIXELS = 32;
const ROW_PIXELS = 44;
const CARD_PIXELS = 78;

/** Height of a row in pixels. Below 760 px rows are cards. */
const heightOf = (row: DayRow<unknown>, isNarrow: boolean): number => {
  if (row.kind === 'day') return DAY_PIXELS;
  return isNarrow ? CARD_PIXELS : ROW_PIXELS;
};

/** Groups times by minute, because in every time zone a day starts at a whole minute. */
const MINUTE_CHARACTERS = '2026-11-22T10:14'.length;

interface Listed {
  readonly id: string;
}

const rowsOf = <Item extends Listed>(
  items: readonly Item[],
  atOf: (item: Item) => string,
  day: (at: string) => string,
): readonly DayRow<Item>[] => {
  // Caches the day of each minute. Formatting takes microseconds, which add up to dropped frames over thousands of
  // rows.
  const days = new Map<string, string>();
  const dayOf = (at: string): string => {
    const minute = at.slice(0, MINUTE_CHARACTERS);
    const known = days.get(minute) ?? day(at);
    days.set(minute, known);
    return known;
  };
  let last: string | null = null;
  return items.flatMap((item): readonly DayRow<Item>[] => {
    const own = dayOf(atOf(item));
    const row: DayRow<Item> = { kind: 'item', item };
    const isSame = own === last;
    last = own;
    return isSame ? [row] : [{ kind: 'day', day: own, key: `${own} ${item.id}` }, row];
  });
};

interface DayListProps<Item> {
  readonly label: string;
  readonly list: ReturnType<typeof useList<Item>>;
  readonly items: readonly Item[];
  /** Key of the row with the keyboard selection; null: none. */
  readonly selected: string | null;
  atOf(item: Item): string;
  render(item: Item): JSX.Element;
}

/** A virtual list of what has a time, by day. On return it is where it was left. */
export const DayList = <Item extends Listed>(props: DayListProps<Item>): JSX.Element => {
  const { label, list, items, selected, atOf, render } = props;
  const times = useTimes();
  const isNarrow = useIsNarrow();
  const place = usePlace();
  const [{ top }] = useState(() => wayBack(place));
  const rows = useMemo(() => rowsOf(items, atOf, times.day), [items, times]);
  const mayReadOn = list.hasNextPage && !list.isFetching && !list.isFetchNextPageError;
  return (
    <VirtualList
      label={label}
      rows={rows}
      keyOf={(row) => (row.kind === 'day' ? row.key : row.item.id)}
      heightOf={(row) => heightOf(row, isNarrow)}
      revealed={selected}
      top={top}
      onEnd={() => mayReadOn && void list.fetchNextPage()}
      render={(row) => (row.kind === 'day' ? <div class="day flex line">{row.day}</div> : render(row.item))}
    />
  );
};

interface NewsProps {
  /** Number of new items that are not shown yet. */
  readonly news: number;
  show(): void;
}

/** Shows new items, which wait while the list is scrolled down. */
export const News = ({ news, show }: NewsProps): JSX.Element | null =>
  news === 0 ? null : (
    <div class="new">
      <button type="button" onClick={show}>
        {news === 1 ? '1 new message' : `${news} new messages`}
      </button>
    </div>
  );

interface ListProps {
  readonly list: ReturnType<typeof useList<Message>>;
  readonly messages: readonly Message[];
  /** Number of new messages that are not shown yet. */
  readonly news: number;
  readonly selected: string | null;
  readonly picked: ReadonlySet<string>;
  /** null: the member or key can do nothing with several messages. */
  readonly pick: ((id: string) => void) | null;
}

/** Messages by day. New ones appear automatically if the list is at the top, and otherwise wait behind a button. */
export const MessageList = ({ list, messages, news, selected, picked, pick }: ListProps): JSX.Element => {
  const times = useTimes();
  const names = useSenderNames();
  const maySearchFor = useMaySearchFor();
  return (
    <div class={`list ${list.isPlaceholderData ? 'dim' : ''}`}>
      <News news={news} show={() => readFromTop(list)} />
      <div class="lh line quiet">
        <span>Status</span>
        <span>To</span>
        <span>Subject</span>
        <span>API key</span>
        <span class="r">Accepted, {times.zone}</span>
      </div>
      <DayList
        label="Messages"
        list={list}
        items={messages}
        selected={selected}
        atOf={({ created_at: at }) => at}
        render={(message) => (
          <MessageRow
            message={message}
            isSelected={message.id === selected}
            isPicked={picked.has(message.id)}
            maySearchFor={maySearchFor}
            keyName={names.get(message.api_key_id) ?? shortId(message.api_key_id)}
            pick={pick === null ? null : () => pick(message.id)}
          />
        )}
      />
    </div>
  );
};
