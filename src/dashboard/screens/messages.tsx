import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SerializedListedMessage } from '../../http/schemas/message.ts';
import { urlOf } from '../data/api.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { barsQuery, listQuery, type MessageSearch, searchOf } from '../data/message-search.ts';
import { useMessageUpdates } from '../data/message-updates.ts';
import { shortId, useKeyNames } from '../data/names.ts';
import { useList, useResource } from '../data/queries.ts';
import { useShortcuts } from '../data/shortcuts.ts';
import { useTimes } from '../data/time.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { Mark, Status } from '../parts/icons.tsx';
import { MessageSearchBar } from '../parts/message-search.tsx';
import { OutcomeBars, type Stats } from '../parts/outcome-bars.tsx';
import { Peek } from '../parts/peek.tsx';
import { Empty, Fault, Skeleton } from '../parts/states.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';

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

const wordOf = ({ partial, recipients }: Message): string | undefined => {
  if (!partial) return undefined;
  const delivered = recipients.filter(({ status }) => status === 'delivered').length;
  return `Partly, ${delivered} of ${recipients.length}`;
};

/** What happened after delivery. */
const Afterwards = ({ recipients }: Message): JSX.Element | null => {
  if (recipients.some(({ complained }) => complained)) return <Mark state="complained" />;
  if (recipients.some(({ clicked }) => clicked)) return <Mark state="clicked" />;
  return recipients.some(({ opened }) => opened) ? <Mark state="opened" /> : null;
};

const TAGS_SHOWN = 1;

interface RowProps {
  readonly message: Message;
  readonly isSelected: boolean;
  readonly keyName: string;
}

const MessageRow = ({ message, isSelected, keyName }: RowProps): JSX.Element => {
  const times = useTimes();
  const [first, ...further] = message.recipients;
  const word = wordOf(message);
  return (
    <a class="lr" href={linkTo(`/messages/${message.id}`)} {...(isSelected && { 'data-selected': true })}>
      <span class="st">
        <Status state={message.status} {...(word !== undefined && { word })} />
        <span class="also">
          <Afterwards {...message} />
        </span>
      </span>
      <span class="to">
        <bdi class="ell">{first?.address ?? 'erased or expired'}</bdi>
        {further.length > 0 && <span class="more">+{further.length}</span>}
      </span>
      <span class="subj">
        <bdi class="ell">{message.subject ?? '(no longer stored)'}</bdi>
        {message.tags.slice(0, TAGS_SHOWN).map(({ name, value }) => (
          <bdi class="tag" key={name}>
            {name}:{value}
          </bdi>
        ))}
      </span>
      <bdi class="ell two">{keyName}</bdi>
      <time class="tm" dateTime={message.created_at}>
        {times.clock(message.created_at)}
      </time>
    </a>
  );
};

const rowsOf = (messages: readonly Message[], day: (at: string) => string): readonly Row[] =>
  messages.flatMap((message, index): readonly Row[] => {
    const own = day(message.created_at);
    const before = messages[index - 1];
    const row: Row = { kind: 'message', message };
    return before !== undefined && day(before.created_at) === own ? [row] : [{ kind: 'day', day: own }, row];
  });

const NothingFound = ({ search }: { readonly search: MessageSearch }): JSX.Element => {
  const filters = Object.keys(search.filters);
  if (filters.length === 0 && search.period === 'all') {
    return (
      <Empty icon="mail" title="No messages yet">
        Each message that is sent shows up here within a second, with what became of it at every recipient.
      </Empty>
    );
  }
  const without = Object.fromEntries(filters.map((name) => [name, null]));
  const actions = (
    <>
      {search.period !== 'all' && (
        <a class="btn" href={withParameters({ period: 'all', since: null, until: null })}>
          Any time
        </a>
      )}
      {filters.length > 0 && (
        <a class="btn" href={withParameters(without)}>
          Without filters
        </a>
      )}
    </>
  );
  return (
    <Empty icon="search" title="No message matches" actions={actions}>
      A subject must match as a whole, an address to the letter. Other times or fewer filters may show more.
    </Empty>
  );
};

const Bars = ({ search }: { readonly search: MessageSearch }): JSX.Element | null => {
  const { data } = useResource<Stats>({ path: '/v1/stats', query: barsQuery(search) });
  if (data === undefined) return <div class="hist waiting" />;
  return (
    <OutcomeBars stats={data} onNarrow={(since, until) => navigate(withParameters({ since, until, period: null }))} />
  );
};

interface ListProps {
  readonly list: ReturnType<typeof useList<Message>>;
  readonly messages: readonly Message[];
  readonly selected: string | null;
}

const MessageList = ({ list, messages, selected }: ListProps): JSX.Element => {
  const times = useTimes();
  const isNarrow = useIsNarrow();
  const names = useKeyNames();
  const news = useMessageUpdates(list, messages);
  const heightOf = (row: Row): number => {
    if (row.kind === 'day') return DAY_PIXELS;
    return isNarrow ? CARD_PIXELS : ROW_PIXELS;
  };
  const render = (row: Row): JSX.Element =>
    row.kind === 'day' ? (
      <div class="day">{row.day}</div>
    ) : (
      <MessageRow
        message={row.message}
        isSelected={row.message.id === selected}
        keyName={names.get(row.message.api_key_id) ?? shortId(row.message.api_key_id)}
      />
    );
  return (
    <div class={`list ${list.isPlaceholderData ? 'dim' : ''}`}>
      {news > 0 && (
        <div class="new">
          <button type="button" onClick={() => void list.refetch()}>
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
        rows={rowsOf(messages, times.day)}
        keyOf={(row) => (row.kind === 'day' ? row.day : row.message.id)}
        heightOf={heightOf}
        onEnd={() => list.hasNextPage && !list.isFetching && void list.fetchNextPage()}
        render={render}
      />
    </div>
  );
};

const Keys = (): JSX.Element => (
  <div class="tail hide-s">
    <span>
      <kbd>J</kbd> <kbd>K</kbd> move
    </span>
    <span>
      <kbd>Space</kbd> peek
    </span>
    <span>
      <kbd>↵</kbd> open
    </span>
    <span>
      <kbd>/</kbd> search
    </span>
  </div>
);

/** Moves through the list, and looks at a message beside it. @returns the id that is selected. */
const useSelection = (messages: readonly Message[], peeked: string | null): string | null => {
  const [selected, select] = useState<string | null>(peeked);
  const step = (by: number): void => {
    const at = messages.findIndex(({ id }) => id === selected);
    const next = messages[Math.min(messages.length - 1, Math.max(0, at + by))];
    if (next === undefined) return;
    select(next.id);
    if (peeked !== null) navigate(withParameters({ peek: next.id }), 'replace');
  };
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    ' ': () => navigate(withParameters({ peek: peeked === null ? selected : null }), 'replace'),
    Escape: () => navigate(withParameters({ peek: null }), 'replace'),
    ...(selected !== null && { Enter: () => navigate(linkTo(`/messages/${selected}`)) }),
  });
  return selected;
};

/** All messages that match, newest first, with their outcomes over time. */
export const Messages = (): JSX.Element => {
  const { query } = usePlace();
  const search = searchOf(query);
  const peeked = query.get('peek');
  const asked = listQuery(search);
  const list = useList<Message>({ path: '/v1/messages', query: asked });
  const messages = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const selected = useSelection(messages, peeked);
  return (
    <>
      <div class="head">
        <div>
          <h1>Messages</h1>
        </div>
        <div class="acts">
          <ApiButton requests={[urlOf('/v1/messages', asked), urlOf('/v1/stats', barsQuery(search))]} />
        </div>
      </div>
      <MessageSearchBar search={search} />
      <Bars search={search} />
      {list.error !== null && <Fault error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && list.error === null && <Skeleton />}
      {list.data !== undefined && messages.length === 0 && <NothingFound search={search} />}
      {list.data !== undefined && messages.length > 0 && (
        <MessageList list={list} messages={messages} selected={peeked ?? selected} />
      )}
      <Keys />
      {peeked !== null && <Peek id={peeked} />}
    </>
  );
};
