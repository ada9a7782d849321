import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { List } from '../../http/fields.ts';
import type { SerializedDomain } from '../../http/resources/domains/domain.ts';
import type { SerializedListedMessage } from '../../http/resources/messages/message.ts';
import { Action, type Outcome } from '../components/action.tsx';
import { Icon } from '../components/icons.tsx';
import { OutcomeBars, type Stats } from '../components/outcome-bars.tsx';
import { SavedViews } from '../components/saved-views.tsx';
import { ApiButton, saveFile } from '../components/screen.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { useAllowed, useMay } from '../data/access.ts';
import { ApiFault, request, urlOf } from '../data/api.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { useDomainNames, useSenderNames } from '../data/names.ts';
import { useList, useRead, useResource } from '../data/queries.ts';
import { waitingOf } from '../data/rates.ts';
import { focusScreen, useShortcuts } from '../data/shortcuts.ts';
import { count } from '../data/time.ts';
import { MessageList, narrowByCell } from './list.tsx';
import { isOutcome, OUTCOMES } from './outcome-words.ts';
import { Peek } from './peek.tsx';
import { ResendPicked } from './resend.tsx';
import { ANY_STATUS, MessageSearchBar, RefusedFilters, useRefusedFilters, wordOf } from './search.tsx';
import {
  barsQuery,
  countQuery,
  hoursAgo,
  isByOutcomeTime,
  listQuery,
  type MessageSearch,
  messagesCsv,
  searchOf,
  unchartedIn,
} from './selection.ts';
import { useKeptTrail, useMessageUpdates, wayBack } from './updates.ts';

const MONTH_HOURS = 720;
const COUNTED_MAX = 100;

/** Number of matches with other filters: `4`, `100 or more`; null: none, or not yet known. */
const useCount = (filters: MessageSearch['filters'], since: string | null, enabled: boolean): string | null => {
  const query = { ...filters, since, limit: COUNTED_MAX };
  const { data } = useResource<List<unknown>>({ path: '/v1/messages', query, enabled });
  if (data === undefined || data.data.length === 0) return null;
  return data.has_more ? `${COUNTED_MAX} or more` : String(data.data.length);
};

interface WaysProps {
  readonly search: MessageSearch;
  /** True if the last 30 days contain matches. */
  readonly isLater: boolean;
}

const WaysOut = ({ search: { filters, period }, isLater }: WaysProps): JSX.Element => (
  <>
    {period !== 'all' && (
      <a class="btn" href={withParameters({ period: isLater ? '30d' : 'all', since: null, until: null })}>
        {isLater ? 'Last 30 days' : 'Any time'}
      </a>
    )}
    {(filters.status ?? filters.outcome) !== undefined && (
      <a class="btn" href={withParameters(ANY_STATUS)}>
        Any status
      </a>
    )}
    {Object.keys(filters).length > 0 && (
      <a class="btn" href={linkTo('/messages')}>
        Clear filters
      </a>
    )}
  </>
);

const NoneAtAll = (): JSX.Element => (
  <Empty icon="mail" title="No messages yet">
    Messages appear here within a second of being sent, with the outcome for every recipient.
  </Empty>
);

/** Suggests other filters that have matches. */
export const NoMessages = ({ search }: { readonly search: MessageSearch }): JSX.Element => {
  const { filters, period, since } = search;
  const isFiltered = Object.keys(filters).length > 0;
  const { status, outcome, outcome_since: _since, outcome_until: _until, ...others } = filters;
  const isShorter = period !== '30d' && period !== 'all';
  const later = useCount(filters, hoursAgo(MONTH_HOURS), isFiltered && isShorter);
  const otherwise = useCount(others, since, (status ?? outcome) !== undefined);
  const names = Object.keys(others);
  // Three, so that an empty list costs a few requests.
  const fewer = [0, 1, 2].map((at) => {
    const { [names[at] ?? '']: _, ...rest } = filters as Readonly<Record<string, string>>;
    return { word: wordOf(names[at] ?? ''), number: useCount(rest, since, names.length > 1 && at < names.length) };
  });
  if (!isFiltered && period === 'all') return <NoneAtAll />;
  const found = [
    ...(later === null ? [] : [`${later} in the last 30 days`]),
    ...(otherwise === null ? [] : [`${otherwise} with another status`]),
    ...fewer.flatMap(({ word, number }) => (number === null ? [] : [`${number} without the ${word} filter`])),
  ];
  return (
    <Empty icon="search" title="No matching messages" actions={<WaysOut search={search} isLater={later !== null} />}>
      {found.length > 0
        ? `Other matches: ${found.join(', ')}.`
        : 'Subjects must contain all words. Parts of addresses and names are found from the beginning of a word, for as long as contents are stored. Try another period or fewer filters.'}
    </Empty>
  );
};

/** Sends a test message by hand. */

const Sender = (): JSX.Element => {
  const { data } = useResource<List<SerializedDomain>>({
    path: '/v1/domains',
    query: { limit: 100 },
    enabled: useMay('GET /v1/domains'),
  });
  const name = data?.data.find(({ status }) => status === 'verified')?.name;
  return (
    <label class="row" key={name}>
      From
      <input
        class="inp"
        name="from"
        type="email"
        required
        defaultValue={name === undefined ? '' : `test@${name}`}
        placeholder="an address at a verified domain"
      />
    </label>
  );
};

export const SendTest = (): JSX.Element => {
  const send = async (form: FormData): Promise<undefined> => {
    const body = Object.fromEntries(['from', 'to', 'subject', 'text'].map((name) => [name, String(form.get(name))]));
    const { id } = await request<{ readonly id: string }>('/v1/messages/send', { method: 'POST', body });
    navigate(linkTo(`/messages/${id}`));
  };
  return (
    <Action
      word="Send a test"
      operation="POST /v1/messages/send"
      icon="send"
      tone="primary"
      title="Send a test message"
      act={send}
    >
      <Sender />
      <label class="row">
        To
        <input class="inp" name="to" type="email" required />
      </label>
      <label class="row">
        Subject
        <input class="inp" name="subject" required defaultValue="A test" />
      </label>
      <label class="row">
        Text
        <textarea class="inp" name="text" rows={4} required defaultValue="It works." />
      </label>
    </Action>
  );
};

/** Cancels messages with `POST /v1/messages/cancel`: the selected ones, or all pending ones that match a filter. */

interface Cancellation {
  readonly matched: number;
  readonly cancelled: number;
  readonly has_more: boolean;
}

/** Maximum number of requests, each for 500 messages. If more messages remain, the user has to start again. */
const ROUNDS_MAX = 200;
const WAITING: readonly string[] = ['accepted', 'scheduled', 'deferred'];

const cancel = (body: object): Promise<Cancellation> =>
  request<Cancellation>('/v1/messages/cancel', { method: 'POST', body });

const outcomeOf = (cancelled: number, left: number, isLimited = false): Outcome => ({
  shown: (
    <>
      <h2>Cancelled {count(cancelled)}</h2>
      {isLimited && <p class="two">More messages match, but the rate limit is used up. Cancel them in a minute.</p>}
      {left > 0 && <p class="two">{count(left)} could not be cancelled: they were being sent or had ended.</p>}
    </>
  ),
  word: 'Done',
});

interface PickedProps {
  readonly ids: ReadonlySet<string>;
  clear(): void;
}

export const CancelPicked = ({ ids, clear }: PickedProps): JSX.Element => {
  const act = async (): Promise<Outcome> => {
    const { matched, cancelled } = await cancel({ ids: [...ids] });
    return outcomeOf(cancelled, matched - cancelled);
  };
  return (
    <>
      <button type="button" class="btn ghost" onClick={clear}>
        Clear
      </button>
      <Action
        word={`Cancel ${ids.size}`}
        operation="POST /v1/messages/cancel"
        icon="forbid"
        tone="danger"
        title={`Cancel ${ids.size === 1 ? '1 message' : `${ids.size} messages`}?`}
        typed={String(ids.size)}
        act={act}
      >
        <p class="two">Waiting recipients get nothing. Delivered mail is not affected.</p>
      </Action>
    </>
  );
};

/** True if a filter is a part of an address or of a tag, which could match far more than was meant. */
const hasPart = ({ to, from, tag }: MessageSearch['filters']): boolean =>
  [to, from].some((address) => address?.includes('@') === false) || tag?.includes(':') === false;

/** Converts the search to an API filter; null: no match can be cancelled, or the filter would match everything. */
export const cancellable = ({ filters, since, until }: MessageSearch): Readonly<Record<string, string>> | null => {
  const { message_id: id, status, outcome, ...given } = filters;
  if (outcome !== undefined) return null;
  const isWaiting = status === undefined || WAITING.includes(status);
  if (id !== undefined || !isWaiting || Object.keys(filters).length === 0) return null;
  if (hasPart(given)) return null;
  return {
    ...given,
    ...(status === undefined ? {} : { status }),
    ...(since === null ? {} : { since }),
    ...(until === null ? {} : { until }),
  };
};

type Filter = Readonly<Record<string, string>>;

const Matching = ({ filter }: { readonly filter: Filter }): JSX.Element => {
  const { data, error } = useRead<Cancellation>(['cancel', filter], () => cancel({ filter, dry_run: true }));
  if (error !== null) return <Fault error={error} />;
  if (data === undefined) return <p class="two">Counting …</p>;
  return (
    <p class="two">
      Waiting messages that match: {count(data.matched)}
      {data.has_more && ' or more'}. Each is cancelled, unless it is being sent right now.
    </p>
  );
};

/** @returns null if the rate limit is exhausted. @throws {ApiFault} */
const cancelMore = (filter: Filter): Promise<Cancellation | null> =>
  cancel({ filter }).catch((error: unknown) => {
    if (error instanceof ApiFault && error.status === 429) return null;
    throw error;
  });

/** Repeats until no match is left or the rate limit is exhausted. @throws {ApiFault} */
const cancelAll = async (filter: Filter): Promise<Outcome> => {
  const first = await cancel({ filter });
  let [done, cancelled, left]: [Cancellation | null, number, number] = [first, 0, 0];
  for (let round = 1; done !== null; round += 1) {
    cancelled += done.cancelled;
    left += done.matched - done.cancelled;
    const isLast = !done.has_more || done.cancelled === 0 || round === ROUNDS_MAX;
    if (isLast) return outcomeOf(cancelled, left);
    done = await cancelMore(filter);
  }
  return outcomeOf(cancelled, left, true);
};

export const CancelMatching = ({ filter }: { readonly filter: Filter }): JSX.Element => {
  const act = (): Promise<Outcome> => cancelAll(filter);
  return (
    <Action
      word="Cancel matching"
      operation="POST /v1/messages/cancel"
      icon="forbid"
      tone="danger"
      title="Cancel matching messages?"
      typed="cancel matching"
      act={act}
    >
      <Matching filter={filter} />
    </Action>
  );
};

/** Removes filters that the service refused, such as those of a link that was edited by hand. */
const InvalidFilters = ({ error }: { readonly error: Error }): JSX.Element | null => {
  const { query } = usePlace();
  if (!(error instanceof ApiFault) || error.status !== 400) return null;
  const refused = Object.keys(error.details).filter((name) => query.has(name));
  if (refused.length === 0) return null;
  return (
    <p class="acts">
      {refused.map((name) => (
        <a key={name} class="btn" href={withParameters({ [name]: null })}>
          Remove {wordOf(name)}
        </a>
      ))}
      <a class="btn" href={linkTo('/messages')}>
        Clear filters
      </a>
    </p>
  );
};

const Refusal = ({ error, retry }: { readonly error: Error; retry(): void }): JSX.Element => (
  <>
    <Fault error={error} retry={retry} />
    <InvalidFilters error={error} />
  </>
);

type Message = SerializedListedMessage;

const NO_CHART = new Intl.ListFormat('en', { type: 'disjunction' });

/** Outcomes of the messages over time, or which filters prevent the chart. */
const Bars = ({ search }: { readonly search: MessageSearch }): JSX.Element | null => {
  const uncharted = unchartedIn(search).map(wordOf);
  const isByTime = isByOutcomeTime(search);
  const isCharted = uncharted.length === 0 && !isByTime;
  const { data } = useResource<Stats>({ path: '/v1/stats', query: barsQuery(search), enabled: isCharted });
  // The chart is one of messages by their acceptance.
  if (isByTime) return null;
  if (!isCharted) {
    return <p class="muted counted">No chart: outcomes are not counted by {NO_CHART.format(uncharted)}.</p>;
  }
  if (data === undefined) return <div class="hist waiting frame" />;
  return (
    <>
      <OutcomeBars stats={data} onNarrow={(since, until) => navigate(withParameters({ since, until, period: null }))} />
      {search.filters.outcome !== undefined && <p class="muted counted">The chart shows all outcomes.</p>}
    </>
  );
};

/** Number of recipients with the outcome, which is the figure that led here. */
const Counted = ({ search }: { readonly search: MessageSearch }): JSX.Element | null => {
  const query = countQuery(search);
  const { data } = useResource<Stats>({ path: '/v1/stats', query: query ?? {}, enabled: query !== null });
  const { outcome } = search.filters;
  if (query === null || data === undefined || !isOutcome(outcome)) return null;
  const many = outcome === 'waiting' ? waitingOf(data.totals) : (data.totals[outcome] ?? 0);
  return (
    <p class="muted counted">
      {OUTCOMES[outcome]}: {count(many)} {many === 1 ? 'recipient' : 'recipients'} in these messages
    </p>
  );
};

const Keys = ({ mayPick }: { readonly mayPick: boolean }): JSX.Element => (
  <div class="tail hide-s flex quiet wrap">
    <span>
      <kbd>J</kbd> <kbd>K</kbd> move
    </span>
    <span>
      <kbd>Space</kbd> peek
    </span>
    <span>
      <kbd>↵</kbd> open
    </span>
    {mayPick && (
      <span>
        <kbd>X</kbd> select
      </span>
    )}
    <span>
      <kbd>F</kbd> filter by cell
    </span>
    <span>
      <kbd>/</kbd> search
    </span>
  </div>
);

interface Selection {
  /** Id of the message with the keyboard selection. */
  readonly selected: string | null;
  /** Ids of the messages to cancel or send again together. */
  readonly picked: ReadonlySet<string>;
  /** null: the member or key can do neither. */
  readonly pick: ((id: string) => void) | null;
  clear(): void;
}

/** Moves through the list, previews a message next to it and picks messages. */
const useSelection = (messages: readonly Message[], peeked: string | null): Selection => {
  const place = usePlace();
  const [selected, select] = useState<string | null>(() => peeked ?? wayBack(place).id);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const allowed = useAllowed();
  const mayPick = allowed('POST /v1/messages/cancel') || allowed('POST /v1/messages/resend');
  const pick = mayPick ? (id: string): void => setPicked(picked.symmetricDifference(new Set([id]))) : null;
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
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    ' ': () => navigate(withParameters({ peek: peeked === null ? selected : null }), 'replace'),
    Escape: leave,
    f: narrowByCell,
    ...(selected !== null && { Enter: () => open(selected), x: () => pick?.(selected) }),
  });
  return { selected: peeked ?? selected, picked, pick, clear };
};

/** Requests behind the screen. */
const requestsOf = (search: MessageSearch): readonly string[] => [
  urlOf('/v1/messages', listQuery(search)),
  ...(unchartedIn(search).length === 0 && !isByOutcomeTime(search) ? [urlOf('/v1/stats', barsQuery(search))] : []),
];

/** Messages that match, newest first, with their outcomes over time. */
export const Messages = (): JSX.Element => {
  const { query } = usePlace();
  const search = searchOf(query);
  const peeked = query.get('peek');
  const refused = useRefusedFilters(search);
  const enabled = refused.length === 0;
  const list = useList<Message>({ path: '/v1/messages', query: listQuery(search), enabled });
  const messages = useMemo(() => list.data?.pages.flatMap(({ data }) => data) ?? [], [list.data]);
  const news = useMessageUpdates(list, messages);
  useKeptTrail(messages.map(({ id }) => id));
  const { selected, picked, pick, clear } = useSelection(messages, peeked);
  const filter = cancellable(search);
  const names = new Map([...useSenderNames(), ...useDomainNames()]);
  return (
    <>
      <div class="head">
        <div>
          <h1>Messages</h1>
        </div>
        <div class="acts">
          {picked.size > 0 && <ResendPicked ids={picked} />}
          {picked.size > 0 && <CancelPicked ids={picked} clear={clear} />}
          {picked.size === 0 && filter !== null && messages.length > 0 && <CancelMatching filter={filter} />}
          <button
            type="button"
            class="btn"
            disabled={messages.length === 0}
            onClick={() => saveFile('messages.csv', messagesCsv(messages, names))}
          >
            <Icon name="save" />
            CSV
          </button>
          <SavedViews />
          <ApiButton requests={requestsOf(search)} />
          <SendTest />
        </div>
      </div>
      <MessageSearchBar search={search} messages={messages} />
      <Bars search={search} />
      <Counted search={search} />
      {list.error !== null && <Refusal error={list.error} retry={() => void list.refetch()} />}
      <RefusedFilters names={refused} />
      {list.isLoading && <Skeleton />}
      {list.data !== undefined && list.error === null && messages.length === 0 && <NoMessages search={search} />}
      {list.data !== undefined && messages.length > 0 && (
        <MessageList list={list} messages={messages} news={news} selected={selected} picked={picked} pick={pick} />
      )}
      <Keys mayPick={pick !== null} />
      {peeked !== null && <Peek id={peeked} />}
    </>
  );
};
