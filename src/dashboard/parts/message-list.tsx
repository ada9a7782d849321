import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { SerializedListedMessage } from '../../http/schemas/message.ts';
import { usePlace } from '../data/location.ts';
import { wayBack } from '../data/message-trail.ts';
import { readFromTop } from '../data/message-updates.ts';
import { shortId, useSenderNames } from '../data/names.ts';
import type { useList } from '../data/queries.ts';
import { useTimes } from '../data/time.ts';
import { MessageRow } from './message-row.tsx';
import { VirtualList } from './virtual-list.tsx';

type Message = SerializedListedMessage;
type Row = { readonly kind: 'day'; readonly day: string } | { readonly kind: 'message'; readonly message: Message };

const DAY_PIXELS = 32;
const ROW_PIXELS = 44;
const CARD_PIXELS = 78;

const useIsNarrow = (): boolean => {
  const [media] = useState(() => matchMedia('(max-width: 760px)'));
  const [isNarrow, setNarrow] = useState(media.matches);
  useEffect(() => {
    const change = (): void => setNarrow(media.matches);
    media.addEventListener('change', change);
    return () => media.removeEventListener('change', change);
  }, [media]);
  return isNarrow;
};

/** Groups times by minute, because in every time zone a day starts at a whole minute. */
const MINUTE_CHARACTERS = '2026-11-22T10:14'.length;

const rowsOf = (messages: readonly Message[], day: (at: string) => string): readonly Row[] => {
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
  return messages.flatMap((message): readonly Row[] => {
    const own = dayOf(message.created_at);
    const row: Row = { kind: 'message', message };
    const isSame = own === last;
    last = own;
    return isSame ? [row] : [{ kind: 'day', day: own }, row];
  });
};

interface ListProps {
  readonly list: ReturnType<typeof useList<Message>>;
  readonly messages: readonly Message[];
  /** Number of new messages that are not shown yet. */
  readonly news: number;
  readonly selected: string | null;
  readonly picked: ReadonlySet<string>;
  pick(id: string): void;
}

/** Messages by day. New ones appear automatically if the list is at the top, and otherwise wait behind a button. */
export const MessageList = ({ list, messages, news, selected, picked, pick }: ListProps): JSX.Element => {
  const times = useTimes();
  const isNarrow = useIsNarrow();
  const names = useSenderNames();
  const { query } = usePlace();
  const [{ top }] = useState(() => wayBack(query));
  const heightOf = (row: Row): number => {
    if (row.kind === 'day') return DAY_PIXELS;
    return isNarrow ? CARD_PIXELS : ROW_PIXELS;
  };
  const rows = useMemo(() => rowsOf(messages, times.day), [messages, times]);
  const mayReadOn = list.hasNextPage && !list.isFetching && !list.isFetchNextPageError;
  const render = (row: Row): JSX.Element =>
    row.kind === 'day' ? (
      <div class="day">{row.day}</div>
    ) : (
      <MessageRow
        message={row.message}
        isSelected={row.message.id === selected}
        isPicked={picked.has(row.message.id)}
        keyName={names.get(row.message.api_key_id) ?? shortId(row.message.api_key_id)}
        pick={() => pick(row.message.id)}
      />
    );
  return (
    <div class={`list ${list.isPlaceholderData ? 'dim' : ''}`}>
      {news > 0 && (
        <div class="new">
          <button type="button" onClick={() => readFromTop(list)}>
            {news === 1 ? '1 new message' : `${news} new messages`}
          </button>
        </div>
      )}
      <div class="lh">
        <span>Status</span>
        <span>To</span>
        <span>Subject</span>
        <span>API key</span>
        <span class="r">Accepted, {times.zone}</span>
      </div>
      <VirtualList
        label="Messages"
        rows={rows}
        keyOf={(row) => (row.kind === 'day' ? row.day : row.message.id)}
        heightOf={heightOf}
        revealed={selected}
        top={top}
        onEnd={() => mayReadOn && void list.fetchNextPage()}
        render={render}
      />
    </div>
  );
};
