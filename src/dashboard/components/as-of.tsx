import type { JSX } from 'preact';
import type { AsOf, List } from '../../http/fields.ts';
import type { FeedEvent } from '../../http/resources/events/event.ts';
import type { Query } from '../data/api.ts';
import { navigate, usePlace, withParameters } from '../data/location.ts';
import { useResource } from '../data/queries.ts';
import { useShortcuts } from '../data/shortcuts.ts';
import { count, useTimes } from '../data/time.ts';
import { Icon } from './icons.tsx';

/** Reads a resource as it was at an earlier moment. The URL holds the moment in the API's own format. */

/** The API's response to a request with `at`. */
export type Past<T> = T & { readonly as_of?: AsOf };

/** The moment on display: ISO 8601 or `leaf:<number>`; null: now. Past states are read-only. */
export const useAsOf = (): string | null => usePlace().query.get('at');

/** Query parameters that read a resource at a moment. */
export const queryAt = (at: string | null): Query => (at === null ? {} : { at });

/** @param at null: return to the present. @param how `replace`: adds no history entry. */
const travel = (at: string | null, how: 'push' | 'replace' = 'push'): void => navigate(withParameters({ at }), how);

/** An event in the history of a resource. */
export interface Moment {
  /** ISO 8601. */
  readonly at: string;
  /** One or two words: `rotated`. */
  readonly word: string;
}

/**
 * Keeps one moment per timestamp, oldest first. Events with the same timestamp share a moment; the last one gives the
 * word.
 */
export const momentsOf = (events: readonly Moment[]): readonly Moment[] =>
  [...new Map(events.map((event) => [event.at, event])).values()].sort((left, right) => (left.at < right.at ? -1 : 1));

/** `api_key.change_refused`: change refused. */
export const wordOfType = (type: string): string => type.replace(/^.*\./, '').replaceAll('_', ' ');

/** Loads at most this many of the newest events. More would be indistinguishable on a slider. */
const EVENTS_MAX = 100;

/** The newest events that match the selection, which are parameters of the event feed. */
export const useMoments = (selection: Query): readonly Moment[] => {
  const { data } = useResource<List<FeedEvent>>({ path: '/v1/events', query: { ...selection, limit: EVENTS_MAX } });
  return momentsOf((data?.data ?? []).map(({ type, timestamp: at }) => ({ at, word: wordOfType(type) })));
};

/**
 * Time travel through the events of one resource. A screen puts `AsOfButton` among its actions and `AsOfBar` at the
 * top, reads with `queryAt(useAsOf())` and disables every change while it shows the past.
 */

/** Draws at most this many ticks. More would overlap. */
const TICKS_MAX = 60;
const LABEL_PERCENT = 12;
/** Half the width of the slider's thumb, which cannot leave its track. */
const THUMB_PIXELS = 10;

interface MomentsProps {
  /** Result of `momentsOf` for the resource's events. */
  readonly moments: readonly Moment[];
}

/**
 * Goes to the newest event, from which every earlier one can be reached. Hidden in the past, where the bar leads back.
 */
export const AsOfButton = ({ moments }: MomentsProps): JSX.Element | null => {
  const at = useAsOf();
  const newest = moments.at(-1)?.at ?? null;
  useShortcuts({ t: () => travel(at === null ? newest : null) });
  if (at !== null) return null;
  return (
    <button type="button" class="btn" disabled={newest === null} aria-keyshortcuts="T" onClick={() => travel(newest)}>
      <Icon name="clock" />
      As of now
    </button>
  );
};

/** Index of the last event up to a moment; -1: there was none yet. */
const indexAt = (moments: readonly Moment[], at: string): number => moments.findLastIndex((moment) => moment.at <= at);

interface PlacedMoment extends Moment {
  readonly index: number;
  readonly percent: number;
}

/** Picks labels that do not overlap: the current one first, then from left to right. */
const labelled = (placed: readonly PlacedMoment[], current: number): readonly PlacedMoment[] => {
  const shown = placed.filter(({ index }) => index === current);
  for (const one of placed) {
    if (shown.every(({ percent }) => Math.abs(percent - one.percent) >= LABEL_PERCENT)) shown.push(one);
  }
  return shown;
};

/** CSS position on the track that the middle of the thumb can reach. */
const leftOf = (percent: number): string =>
  `calc(${THUMB_PIXELS}px + (100% - ${2 * THUMB_PIXELS}px) * ${percent / 100})`;

const sideOf = (percent: number): string => {
  if (percent < LABEL_PERCENT / 2) return 'first';
  return percent > 100 - LABEL_PERCENT / 2 ? 'last' : '';
};

interface SliderProps extends MomentsProps {
  readonly current: number;
}

const Slider = ({ moments, current }: SliderProps): JSX.Element => {
  const times = useTimes();
  const most = Math.max(1, moments.length - 1);
  const placed = moments.map((moment, index) => ({ ...moment, index, percent: (index / most) * 100 }));
  const here = moments[current];
  const go = (index: number): void => {
    const moment = moments[Math.min(moments.length - 1, Math.max(0, index))];
    if (moment !== undefined) travel(moment.at, 'replace');
  };
  useShortcuts({ ArrowLeft: () => go(current - 1), ArrowRight: () => go(current + 1) });
  return (
    <div class="rail">
      <i class="past" style={{ width: leftOf(placed[current]?.percent ?? 0) }} />
      {placed.length <= TICKS_MAX &&
        placed.map(({ index, percent }) => (
          <i key={index} class={`tick ${index > current ? 'later' : ''}`} style={{ left: leftOf(percent) }} />
        ))}
      {labelled(placed, current).map(({ index, percent, word }) => (
        <span
          key={index}
          class={`${sideOf(percent)} ${index === current ? 'cur' : ''}`}
          style={{ left: leftOf(percent) }}
          aria-hidden="true"
        >
          {word}
        </span>
      ))}
      <input
        type="range"
        min={0}
        max={most}
        step={1}
        value={Math.max(0, current)}
        aria-label="Point in time"
        aria-valuetext={here === undefined ? 'before its first event' : `${times.full(here.at)}, ${here.word}`}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
    </div>
  );
};

interface BarProps extends MomentsProps {
  /** From the API's response; absent: no response yet, or the resource did not exist at that time. */
  readonly asOf?: AsOf | undefined;
}

/** Shows which past moment the screen displays and moves between moments. Renders nothing in the present. */
export const AsOfBar = ({ moments, asOf }: BarProps): JSX.Element | null => {
  const times = useTimes();
  const at = useAsOf();
  if (at === null) return null;
  const time = Number.isNaN(Date.parse(at)) ? asOf?.time : at;
  return (
    <section class="asof line" aria-label="Time travel">
      <div class="row">
        <Icon name="clock" />
        <span>
          As it was on{' '}
          <b>
            {time === undefined ? at : <time dateTime={time}>{times.full(time)}</time>} {times.zone}
          </b>
          {asOf !== undefined && `, entry ${count(asOf.leaf_index)} of the log`}. This view is read-only.
        </span>
        <span class="sp" />
        <span class="hide-s muted">
          <kbd>←</kbd> <kbd>→</kbd> event by event
        </span>
        <button type="button" class="btn small" onClick={() => travel(null)}>
          Back to now
        </button>
      </div>
      {moments.length > 1 && <Slider moments={moments} current={indexAt(moments, time ?? at)} />}
    </section>
  );
};
