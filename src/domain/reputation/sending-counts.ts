import type { Measure } from './events.ts';

/** What became of the live bulk mail of a domain: recipients, of the last days. */
export interface SendingCounts {
  /** Only what came since then is counted (ISO 8601); null: it was never released. */
  readonly releasedAt: string | null;
  readonly delivered: number;
  /** For a fault of the address. */
  readonly bounced: number;
  readonly complained: number;
}

export const NOTHING_SENT: SendingCounts = { releasedAt: null, delivered: 0, bounced: 0, complained: 0 };

const DAY_MS = 86_400_000;
/** Fewer let a list that is sent once a week go unseen between two times, more keep a sender down for what is long mended. */
const DAYS = 7;

/** First day (UTC, `YYYY-MM-DD`) that is counted. */
export const countedFrom = (now: Date): string =>
  new Date(now.getTime() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** How many of how many, and how much that is of a hundred. */
export interface Share {
  readonly count: number;
  readonly of: number;
  readonly percent: number;
}

const PERCENT = 100;

const share = (count: number, of: number): Share => ({ count, of, percent: of > 0 ? (PERCENT * count) / of : 0 });

export const sharesOf = ({ delivered, bounced, complained }: SendingCounts): Readonly<Record<Measure, Share>> => ({
  bounces: share(bounced, delivered + bounced),
  complaints: share(complained, delivered),
});
