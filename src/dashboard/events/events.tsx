import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FeedEvent } from '../../http/resources/events/event.ts';
import { JsonView } from '../components/facts.tsx';
import { Icon, Mark } from '../components/icons.tsx';
import { ApiButton, LiveMark } from '../components/screen.tsx';
import { Empty, Fault, Skeleton } from '../components/states.tsx';
import { urlOf } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { linkTo, navigate, usePlace, withParameters } from '../data/location.ts';
import { useDomainNames, useKeyNames } from '../data/names.ts';
import { useShortcuts } from '../data/shortcuts.ts';
import { useStore } from '../data/store.ts';
import { count, useTimes } from '../data/time.ts';
import { describeEvent, type Tail, useTail } from './tail.ts';

/** Maximum number of rows. More: a slower screen at high rates. Older events are available from the API. */
const ROWS_MAX = 100;

const FAMILIES = {
  '': 'All',
  'message.*': 'Messages',
  'domain.*': 'Domains',
  'api_key.*': 'Keys',
  'template.*': 'Templates',
  'webhook.*': 'Webhooks',
  'suppression.*': 'Suppressions',
} as const;

const Filter = ({ types }: { readonly types: string }): JSX.Element => {
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const typed = String(new FormData(event.currentTarget).get('types'));
    navigate(
      withParameters({
        types: typed
          .split(/[\s,]+/)
          .filter(Boolean)
          .join(','),
      }),
    );
  };
  return (
    <div class="bar evf wrap">
      <nav class="seg" aria-label="Kinds of events">
        {Object.entries(FAMILIES).map(([family, word]) => (
          <a
            key={family}
            href={withParameters({ types: family })}
            {...(family === types && { 'aria-current': 'true' })}
          >
            {word}
          </a>
        ))}
      </nav>
      <form class="field" onSubmit={submit}>
        <Icon name="filter" />
        <input
          key={types}
          name="types"
          aria-label="Types, separated by commas"
          placeholder="message.bounced, message.complained"
          defaultValue={types}
          spellcheck={false}
        />
      </form>
    </div>
  );
};

interface RowProps {
  readonly event: FeedEvent;
  readonly names: ReadonlyMap<string, string>;
  readonly isOpen: boolean;
  onToggle(): void;
}

const Row = ({ event, names, isOpen, onToggle }: RowProps): JSX.Element => {
  const times = useTimes();
  const { state, subject, words, path } = describeEvent(event, { times, names });
  return (
    <li class="line hoverable">
      <div class="ev cells">
        <time class="quiet" dateTime={event.timestamp} title={times.full(event.timestamp)}>
          {times.exactly(event.timestamp)}
        </time>
        {state === null ? <span class="node" /> : <Mark state={state} />}
        <code class="ell">{event.type}</code>
        <span class="ell">
          {path === null ? (
            <bdi>{subject}</bdi>
          ) : (
            <a class="to" href={linkTo(path)}>
              <bdi>{subject}</bdi>
            </a>
          )}{' '}
          <bdi class="muted">{words}</bdi>
        </span>
        <button
          type="button"
          class="btn ghost small square"
          aria-expanded={isOpen}
          aria-label={`JSON of ${event.id}`}
          title="JSON"
          onClick={onToggle}
        >
          <Icon name="code" />
        </button>
      </div>
      {isOpen && <JsonView text={JSON.stringify(event)} label={`Event ${event.id}`} />}
    </li>
  );
};

const useNames = (): ReadonlyMap<string, string> => {
  const keys = useKeyNames();
  const own = useStore(session)?.organization;
  return new Map([...keys, ...useDomainNames(), ...(own === undefined ? [] : [[own.id, own.name] as const])]);
};

interface PauseProps {
  readonly isPaused: boolean;
  readonly missed: number;
  onPause(): void;
}

const Pause = ({ isPaused, missed, onPause }: PauseProps): JSX.Element => (
  <button type="button" class={`btn ${isPaused ? 'primary' : ''}`} aria-pressed={isPaused} onClick={onPause}>
    <Icon name={isPaused ? 'right' : 'pause'} />
    {isPaused ? `Resume${missed === 0 ? '' : `, ${count(missed)} new`}` : 'Pause'}
  </button>
);

const Rate = ({
  came,
  perSecond,
  shown,
}: Pick<Tail, 'came' | 'perSecond'> & { readonly shown: number }): JSX.Element => (
  <p class="sub">
    <LiveMark /> · {came === 0 ? 'none since you opened this page' : `${count(came)} since you opened this page`}
    {perSecond > 1 && `, ${count(perSecond)} in the last second`}
    {shown === ROWS_MAX && ` · showing the newest ${ROWS_MAX}`}
  </p>
);

/** The live event feed. */
export const Events = (): JSX.Element => {
  const types = usePlace().query.get('types') ?? '';
  const names = useNames();
  // Number of events received when the feed was paused.
  const [pausedAt, setPausedAt] = useState<number | null>(null);
  const [open, setOpen] = useState<string | null>(null);
  const isPaused = pausedAt !== null;
  const { events, came, perSecond, isPending, error } = useTail({ types, limit: ROWS_MAX, isPaused });
  const toggle = (): void => setPausedAt(isPaused ? null : came);
  useShortcuts({ p: toggle });
  return (
    <>
      <div class="head">
        <div>
          <h1>Events</h1>
          <Rate came={came} perSecond={perSecond} shown={events.length} />
        </div>
        <div class="acts">
          <ApiButton requests={[urlOf('/v1/events', { types, limit: ROWS_MAX })]} />
          <Pause isPaused={isPaused} missed={came - (pausedAt ?? came)} onPause={toggle} />
        </div>
      </div>
      <Filter types={types} />
      {error !== null && <Fault error={error} />}
      {isPending && error === null && <Skeleton />}
      {!isPending && error === null && events.length === 0 && (
        <Empty icon="pulse" title="No events of this kind yet">
          Events appear here as they happen: a message is delivered, a key changes, a domain loses a record.
        </Empty>
      )}
      {events.length > 0 && (
        <ul class="list evs" aria-label="Events">
          {events.map((event) => (
            <Row
              key={event.id}
              event={event}
              names={names}
              isOpen={event.id === open}
              onToggle={() => setOpen(event.id === open ? null : event.id)}
            />
          ))}
        </ul>
      )}
    </>
  );
};
