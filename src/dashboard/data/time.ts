import { zone } from './preferences.ts';
import { useStore } from './store.ts';

/** Times as people read them, in their own zone or in UTC. */

const LOCALE = 'en-GB';
const DAY_MS = 86_400_000;

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
  /** Sunday 22 November, with `Today,` before it. */
  day(at: At): string;
  /** Thu 19 */
  weekday(at: At): string;
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
    weekday: format({ weekday: 'short', day: 'numeric' }),
    zone: zoned.formatToParts(new Date()).find(({ type }) => type === 'timeZoneName')?.value ?? 'local',
  };
};

const made = { local: make(undefined), UTC: make('UTC') };

export const useTimes = (): Times => made[useStore(zone)];

export const count = (value: number): string => value.toLocaleString(LOCALE);
