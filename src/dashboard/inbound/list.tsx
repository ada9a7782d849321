import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SerializedListedInbound } from '../../http/resources/inbound.ts';
import { Status } from '../components/icons.tsx';
import { useMay, useMaySearchFor } from '../data/access.ts';
import { onEvents } from '../data/live.ts';
import { linkTo, navigate, usePlace } from '../data/location.ts';
import type { useList } from '../data/queries.ts';
import { focusScreen, useShortcuts } from '../data/shortcuts.ts';
import { useTimes } from '../data/time.ts';
import { DayList, News, narrowByCell } from '../messages/list.tsx';
import { isAtTop, readFromTop, useKeptTrail, wayBack } from '../messages/updates.ts';
import { senderOf } from './verdicts.tsx';

type Message = SerializedListedInbound;

export const PATH = '/v1/inbound';
/** Arrivals are shown together once a second: a busy domain receives dozens. */
const TOGETHER_MS = 1_000;

/** Number of messages that arrived but are not shown yet. They are shown at once while the list is at its top. */
const useArrivals = (list: ReturnType<typeof useList<Message>>): number => {
  const [news, setNews] = useState(0);
  const latest = useRef(list);
  latest.current = list;
  useEffect(() => setNews(0), [list.dataUpdatedAt]);
  useEffect(() => {
    let added = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (): void => {
      timer = undefined;
      const many = added;
      added = 0;
      if (isAtTop()) readFromTop(latest.current, PATH);
      else setNews((before) => before + many);
    };
    const stop = onEvents((events) => {
      const many = events.filter(({ type }) => type === 'inbound.received').length;
      if (many === 0) return;
      added += many;
      timer ??= setTimeout(show, TOGETHER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return news;
};

/** Moves through the list by keyboard. @returns id of the selected message; null: none. */
const useSelected = (messages: readonly Message[], mayOpen: boolean): string | null => {
  const place = usePlace();
  const [selected, select] = useState<string | null>(() => wayBack(place).id);
  const step = (by: number): void => {
    const at = messages.findIndex(({ id }) => id === selected);
    const next = messages[Math.min(messages.length - 1, Math.max(0, at + by))];
    if (next === undefined) return;
    select(next.id);
    focusScreen();
  };
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    f: narrowByCell,
    ...(selected !== null && mayOpen && { Enter: () => navigate(linkTo(`/inbound/${selected}`)) }),
  });
  return selected;
};

const Keys = ({ mayOpen }: { readonly mayOpen: boolean }): JSX.Element => (
  <div class="tail hide-s flex quiet wrap">
    <span>
      <kbd>J</kbd> <kbd>K</kbd> move
    </span>
    {mayOpen && (
      <span>
        <kbd>↵</kbd> open
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

interface RowProps {
  readonly message: Message;
  readonly isSelected: boolean;
  /** False for roles that may not see contents. */
  readonly mayOpen: boolean;
}

/** Texts of a row. Contents that were removed leave the recipient and the subject empty. */
const textsOf = ({ envelope, from, subject }: Message) => {
  if (envelope === null) return { sender: 'erased or expired', recipient: '', subject: '(no longer stored)' };
  const sender = from[0]?.address ?? envelope.from;
  return {
    sender: sender === '' ? 'null sender (a report)' : sender,
    recipient: envelope.to,
    subject: subject || '(no subject)',
  };
};

const Marks = ({ message: { attachments, automatic } }: Pick<RowProps, 'message'>): JSX.Element => (
  <>
    {attachments.length > 0 && (
      <span class="tag">
        {attachments.length} {attachments.length === 1 ? 'file' : 'files'}
      </span>
    )}
    {automatic && <span class="tag">automatic</span>}
  </>
);

const Cells = ({ message }: Pick<RowProps, 'message'>): JSX.Element => {
  const times = useTimes();
  const maySearchFor = useMaySearchFor();
  const { sender, recipient, subject } = textsOf(message);
  const isKept = message.envelope !== null;
  const filterBy = (name: string, value: string, isFilter: boolean) =>
    isKept && isFilter && maySearchFor(value) && { 'data-filter': `${name}=${value}` };
  return (
    <>
      <span class="st flex">
        <Status {...senderOf(message)} />
      </span>
      <span class="to" {...filterBy('from', sender, sender.includes('@'))}>
        <bdi class="ell">{sender}</bdi>
      </span>
      <span class="subj flex" {...filterBy('subject', subject, message.subject !== null && message.subject !== '')}>
        <bdi class="ell">{subject}</bdi>
        <Marks message={message} />
      </span>
      <span class="ell two rcpt" {...filterBy('to', recipient, true)}>
        <bdi>{recipient}</bdi>
      </span>
      <time class="tm" dateTime={message.received_at}>
        {times.clock(message.received_at)}
      </time>
    </>
  );
};

const Row = ({ message, isSelected, mayOpen }: RowProps): JSX.Element => {
  const marks = isSelected && { 'data-selected': message.id };
  return mayOpen ? (
    <a class="lr hoverable line" href={linkTo(`/inbound/${message.id}`)} {...marks}>
      <Cells message={message} />
    </a>
  ) : (
    <div class="lr line" {...marks}>
      <Cells message={message} />
    </div>
  );
};

interface ListProps {
  readonly list: ReturnType<typeof useList<Message>>;
  readonly messages: readonly Message[];
}

/** Inbound messages by day, newest first. */
export const InboundList = ({ list, messages }: ListProps): JSX.Element | null => {
  const times = useTimes();
  const mayOpen = useMay('GET /v1/inbound/:id');
  const news = useArrivals(list);
  const selected = useSelected(messages, mayOpen);
  useKeptTrail(messages.map(({ id }) => id));
  if (messages.length === 0) return null;
  return (
    <>
      {!mayOpen && <p class="muted counted">Messages cannot be opened: your role may not see mail contents.</p>}
      <div class={`list inbound ${list.isPlaceholderData ? 'dim' : ''}`}>
        <News news={news} show={() => readFromTop(list, PATH)} />
        <div class="lh line quiet">
          <span>Sender</span>
          <span>From</span>
          <span>Subject</span>
          <span>To</span>
          <span class="r">Received, {times.zone}</span>
        </div>
        <DayList
          label="Inbound messages"
          list={list}
          items={messages}
          selected={selected}
          atOf={({ received_at: at }) => at}
          render={(message) => <Row message={message} isSelected={message.id === selected} mayOpen={mayOpen} />}
        />
      </div>
      <Keys mayOpen={mayOpen} />
    </>
  );
};
