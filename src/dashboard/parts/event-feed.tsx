import type { JSX } from 'preact';
import { describeMessageEvent, messageEventsOf } from '../data/event-words.ts';
import { linkTo } from '../data/location.ts';
import { useTail } from '../data/tail.ts';
import { useTimes } from '../data/time.ts';
import { Mark } from './icons.tsx';
import { LiveMark } from './live-mark.tsx';
import { STATES } from './shapes.ts';
import { Fault } from './states.tsx';

const SHOWN = 9;
/** Outcomes only. Accepted and sending events say little. */
const TYPES = [
  'scheduled',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'suppressed',
  'cancelled',
  'expired',
  'clicked',
  'complained',
  'unsubscribed',
]
  .map((name) => `message.${name}`)
  .join(',');

/** The latest outcomes of mail. */
export const EventFeed = (): JSX.Element => {
  const times = useTimes();
  const { events, isPending, error } = useTail({ types: TYPES, limit: SHOWN });
  return (
    <section class="card" aria-label="Just now">
      <header>
        <h2>Just now</h2>
        <span class="sp" />
        <LiveMark />
      </header>
      {error !== null && <Fault error={error} />}
      <ul class="feed">
        {messageEventsOf(events).map((event) => {
          const { state, subject, words } = describeMessageEvent(event, times);
          return (
            <li key={event.id}>
              <a href={linkTo(`/messages/${event.data.message_id}`)}>
                <time dateTime={event.timestamp}>{times.clock(event.timestamp)}</time>
                <Mark state={state} />
                <span class="ell">
                  <span class="vh">{STATES[state].word}: </span>
                  <bdi>{subject}</bdi> <bdi class="muted">{words}</bdi>
                </span>
              </a>
            </li>
          );
        })}
      </ul>
      {!isPending && events.length === 0 && <p class="pad muted">Nothing has happened yet.</p>}
    </section>
  );
};
