import { LOCALE } from './numbers.ts';
import { useStore, zone } from './store.ts';

export { count, percent, size } from './numbers.ts';

/** Formats times for people, in their own zone or in UTC. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

type At = string | number;

export interface Times {
  /** 10:14:06 */
  clock(at: At): string;
  /** 10:14:06.377 */
  exactly(at: At): string;
  /** 22 Nov 2026, 10:14:06 */
  full(at: At): string;
  /** 22 Nov, 10:14 */
  short(at: At): string;
  /** Sunday 22 November, with a leading `Today,` on that day. */
  day(at: At): string;
  /** Thu 19 */
  weekday(at: At): string;
  /** 22 Nov */
  date(at: At): string;
  /** 22 Nov 2026 */
  dated(at: At): string;
  /** 22 Nov 2026, 10:14 */
  minute(at: At): string;
  /** Nov 2026 */
  month(at: At): string;
  /** CET */
  readonly zone: string;
}

const make = (timeZone: string | undefined): Times => {
  const format = (options: Intl.DateTimeFormatOptions): ((at: At) => string) => {
    const formatter = new Intl.DateTimeFormat(LOCALE, { hourCycle: 'h23', ...(timeZone && { timeZone }), ...options });
    return (at) => formatter.format(new Date(at));
  };
  const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
  const date = format({ weekday: 'long', day: 'numeric', month: 'long' });
  const zoned = new Intl.DateTimeFormat(LOCALE, { timeZoneName: 'short', ...(timeZone && { timeZone }) });
  const day = (at: At): string => {
    const shown = date(at);
    if (shown === date(Date.now())) return `Today, ${shown}`;
    return shown === date(Date.now() - DAY_MS) ? `Yesterday, ${shown}` : shown;
  };
  return {
    clock: format(clock),
    exactly: format({ ...clock, fractionalSecondDigits: 3 }),
    full: format({ day: 'numeric', month: 'short', year: 'numeric', ...clock }),
    short: format({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }),
    day,
    date: format({ day: 'numeric', month: 'short' }),
    dated: format({ day: 'numeric', month: 'short', year: 'numeric' }),
    minute: format({ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' }),
    month: format({ month: 'short', year: 'numeric' }),
    weekday: format({ weekday: 'short', day: 'numeric' }),
    zone: zoned.formatToParts(new Date()).find(({ type }) => type === 'timeZoneName')?.value ?? 'local',
  };
};

const made = { local: make(undefined), UTC: make('UTC') };

/** @param always the zone, whatever the dashboard shows. */
export const useTimes = (always?: 'UTC'): Times => {
  const shown = useStore(zone);
  return made[always ?? shown];
};

const UNITS = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
  [1000, 's'],
] as const;

/** 840 ms, 16.2 s, 2 min 12 s, 3 d 4 h. */
export const duration = (ms: number): string => {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${Number((ms / 1000).toFixed(1))} s`;
  const at = UNITS.findIndex(([unit]) => ms >= unit);
  const [large, small] = [UNITS[at], UNITS[at + 1]];
  if (large === undefined || small === undefined) return `${Math.round(ms / 1000)} s`;
  const rest = Math.floor((ms % large[0]) / small[0]);
  const first = `${Math.floor(ms / large[0])} ${large[1]}`;
  return rest === 0 ? first : `${first} ${rest} ${small[1]}`;
};

/** Time since a moment, in whole seconds: 16 s, 2 min 12 s. */
export const sofar = (since: At): string =>
  duration(Math.max(1, Math.floor((Date.now() - new Date(since).getTime()) / 1000)) * 1000);

const IN_UTC = /\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\b/g;

/** Rewrites the times in a sentence from the API in the displayed format and zone. */
export const inZone = (sentence: string, { full, zone: name }: Times): string =>
  sentence.replace(IN_UTC, (found) => {
    const at = Date.parse(found.replace(' UTC', 'Z').replace(' ', 'T'));
    return Number.isNaN(at) ? found : `${full(at)} ${name}`;
  });

/** When the next attempt is: at a time, or `due now` where its time has passed and others go first. */
export const dueAt = (at: At, clock: Times['clock']): string =>
  new Date(at).getTime() <= Date.now() ? 'due now' : clock(at);

/** 4 s ago, 3 d ago. */
export const ago = (at: At): string => {
  const ms = Date.now() - new Date(at).getTime();
  const [unit, name] = UNITS.find(([size]) => ms >= size) ?? [1000, 's'];
  return ms < 1000 ? 'just now' : `${Math.floor(ms / unit)} ${name} ago`;
};
