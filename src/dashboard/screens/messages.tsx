import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { SerializedListedMessage } from '../../http/schemas/message.ts';
import { urlOf } from '../data/api.ts';
import { saveFile } from '../data/download.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { barsQuery, listQuery, type MessageSearch, searchOf } from '../data/message-search.ts';
import { useKeptTrail, wayBack } from '../data/message-trail.ts';
import { useMessageUpdates } from '../data/message-updates.ts';
import { messagesCsv } from '../data/messages-csv.ts';
import { useList, useResource } from '../data/queries.ts';
import { focusScreen, useShortcuts } from '../data/shortcuts.ts';
import { ApiButton } from '../parts/api-button.tsx';
import { CancelMatching, CancelPicked, cancellable } from '../parts/cancel-messages.tsx';
import { Icon } from '../parts/icons.tsx';
import { MessageList } from '../parts/message-list.tsx';
import { cellFilter } from '../parts/message-row.tsx';
import { MessageSearchBar } from '../parts/message-search.tsx';
import { NoMessages } from '../parts/no-messages.tsx';
import { OutcomeBars, type Stats } from '../parts/outcome-bars.tsx';
import { Peek } from '../parts/peek.tsx';
import { SendTest } from '../parts/send-test.tsx';
import { Fault, Skeleton } from '../parts/states.tsx';

type Message = SerializedListedMessage;

const Bars = ({ search }: { readonly search: MessageSearch }): JSX.Element | null => {
  const { data } = useResource<Stats>({ path: '/v1/stats', query: barsQuery(search) });
  if (data === undefined) return <div class="hist waiting" />;
  return (
    <OutcomeBars stats={data} onNarrow={(since, until) => navigate(withParameters({ since, until, period: null }))} />
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
      <kbd>X</kbd> select
    </span>
    <span>
      <kbd>F</kbd> filter by the cell
    </span>
    <span>
      <kbd>/</kbd> search
    </span>
  </div>
);

interface Selection {
  /** Id of the message with the keyboard selection. */
  readonly selected: string | null;
  /** Ids of the messages to cancel together. */
  readonly picked: ReadonlySet<string>;
  pick(id: string): void;
  clear(): void;
}

/** Moves through the list, previews a message next to it and picks messages. */
const useSelection = (messages: readonly Message[], peeked: string | null): Selection => {
  const { query } = usePlace();
  const [selected, select] = useState<string | null>(() => peeked ?? wayBack(query).id);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const pick = (id: string): void => setPicked(picked.symmetricDifference(new Set([id])));
  const clear = (): void => setPicked(new Set());
  const step = (by: number): void => {
    const at = messages.findIndex(({ id }) => id === selected);
    const next = messages[Math.min(messages.length - 1, Math.max(0, at + by))];
    if (next === undefined) return;
    select(next.id);
    focusScreen();
    if (peeked !== null) navigate(withParameters({ peek: next.id }), 'replace');
  };
  const open = (id: string): void => {
    navigate(linkTo(`/messages/${id}`));
  };
  const leave = (): void => {
    if (peeked === null) clear();
    else navigate(withParameters({ peek: null }), 'replace');
  };
  const narrow = (): void => {
    const filter = cellFilter();
    if (filter !== null) navigate(withParameters({ [filter[0]]: filter[1] }));
  };
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    ' ': () => navigate(withParameters({ peek: peeked === null ? selected : null }), 'replace'),
    Escape: leave,
    f: narrow,
    ...(selected !== null && { Enter: () => open(selected), x: () => pick(selected) }),
  });
  return { selected: peeked ?? selected, picked, pick, clear };
};

/** Messages that match, newest first, with their outcomes over time. */
export const Messages = (): JSX.Element => {
  const { query } = usePlace();
  const search = searchOf(query);
  const peeked = query.get('peek');
  const asked = listQuery(search);
  const list = useList<Message>({ path: '/v1/messages', query: asked });
  const messages = useMemo(() => list.data?.pages.flatMap(({ data }) => data) ?? [], [list.data]);
  const news = useMessageUpdates(list, messages);
  useKeptTrail(messages.map(({ id }) => id));
  const { selected, picked, pick, clear } = useSelection(messages, peeked);
  const filter = cancellable(search);
  return (
    <>
      <div class="head">
        <div>
          <h1>Messages</h1>
        </div>
        <div class="acts">
          {picked.size > 0 && <CancelPicked ids={picked} clear={clear} />}
          {picked.size === 0 && filter !== null && messages.length > 0 && <CancelMatching filter={filter} />}
          <button
            type="button"
            class="btn"
            disabled={messages.length === 0}
            onClick={() => saveFile('messages.csv', messagesCsv(messages))}
          >
            <Icon name="save" />
            CSV
          </button>
          <ApiButton requests={[urlOf('/v1/messages', asked), urlOf('/v1/stats', barsQuery(search))]} />
          <SendTest />
        </div>
      </div>
      <MessageSearchBar search={search} messages={messages} />
      <Bars search={search} />
      {list.error !== null && <Fault error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && list.error === null && <Skeleton />}
      {list.data !== undefined && messages.length === 0 && <NoMessages search={search} />}
      {list.data !== undefined && messages.length > 0 && (
        <MessageList list={list} messages={messages} news={news} selected={selected} picked={picked} pick={pick} />
      )}
      <Keys />
      {peeked !== null && <Peek id={peeked} />}
    </>
  );
};
