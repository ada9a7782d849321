/**
 * Recipients, each counted once. `deferred`: at least once, whatever became of it. `opened` and `clicked`
 * are people, and `opens` and `clicks` how often they did it; `machine_…` are recipients of mail that machines opened.
 */
export const STATS_METRICS = [
  'accepted',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'expired',
  'suppressed',
  'cancelled',
  'opened',
  'opens',
  'clicked',
  'clicks',
  'machine_opened',
  'machine_clicked',
  'complained',
  'unsubscribed',
] as const;
export type StatsMetric = (typeof STATS_METRICS)[number];

export const STATS_GRANULARITIES = ['hour', 'day', 'week', 'month'] as const;
export type StatsGranularity = (typeof STATS_GRANULARITIES)[number];

export const STATS_DIMENSIONS = [
  'domain',
  'stream',
  'template',
  'template_version',
  'api_key',
  'recipient_domain',
  'mailbox_provider',
  'bounce_class',
  'tag',
  'environment',
] as const;
export type StatsDimension = (typeof STATS_DIMENSIONS)[number];

/** Group of all further groups together: no value of a dimension has parentheses. */
export const STATS_OTHERS = '(other)';

/** By the time a message was accepted, or by the time of what became of its recipients. */
export const STATS_ATTRIBUTIONS = ['cohort', 'event'] as const;
export type StatsAttribution = (typeof STATS_ATTRIBUTIONS)[number];

/**
 * Times from acceptance to delivery, counted by bin on a log scale: bin n holds times around 2^(n/4) ms, so that any
 * time from 1 ms to months is known to within 10 %, in at most `BINS_MAX` small numbers that can be added up.
 */

const BINS_PER_OCTAVE = 4;
/** 2^(159/4) ms is about 29 years: what lies beyond is in the last bin. */
const BINS_MAX = 160;

/** @returns zero-based. */
export const binOf = (milliseconds: number): number =>
  Math.min(BINS_MAX - 1, Math.max(0, Math.round(Math.log2(Math.max(1, milliseconds)) * BINS_PER_OCTAVE)));

/** Milliseconds. */
export interface LatencyPercentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** How many times fell into a bin. */
export interface Bin {
  readonly bin: number;
  readonly count: number;
}

/** @param bins in ascending order. @returns null where nothing was counted. */
export const percentilesOf = (bins: readonly Bin[]): LatencyPercentiles | null => {
  const total = bins.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  const at = (share: number): number => {
    let seen = 0;
    const reached = bins.find(({ count }) => {
      seen += count;
      return seen >= total * share;
    });
    return Math.round(2 ** ((reached?.bin ?? 0) / BINS_PER_OCTAVE));
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
};

/**
 * Mailbox providers by the domains at which they give addresses to people. What companies host there under names of
 * their own is not told: statistics ask no DNS, so that the same log always makes the same counts.
 */
const DOMAINS = {
  gmail: 'gmail.com googlemail.com',
  outlook: `
    hotmail.com outlook.com live.com msn.com passport.com windowslive.com hotmail.be hotmail.ch hotmail.co.jp
    hotmail.co.uk hotmail.com.br hotmail.de hotmail.es hotmail.fr hotmail.it hotmail.nl hotmail.se live.be live.ca
    live.co.uk live.com.au live.de live.dk live.fr live.it live.jp live.nl live.se outlook.at outlook.be
    outlook.co.uk outlook.com.br outlook.de outlook.dk outlook.es outlook.fr outlook.it outlook.jp outlook.pt
  `,
  yahoo: `
    yahoo.com ymail.com rocketmail.com myyahoo.com yahoo.ca yahoo.co.id yahoo.co.in yahoo.co.uk yahoo.com.ar
    yahoo.com.au yahoo.com.br yahoo.com.mx yahoo.com.ph yahoo.com.sg yahoo.com.tr yahoo.com.tw yahoo.com.vn
    yahoo.de yahoo.dk yahoo.es yahoo.fr yahoo.gr yahoo.ie yahoo.in yahoo.it yahoo.nl yahoo.no yahoo.pl yahoo.ro
    yahoo.se aol.com aim.com aol.co.uk aol.de aol.fr att.net bellsouth.net sbcglobal.net verizon.net
  `,
  yahoo_japan: 'yahoo.co.jp ybb.ne.jp',
  icloud: 'icloud.com me.com mac.com privaterelay.appleid.com',
  comcast: 'comcast.net',
  proton: 'proton.me protonmail.com protonmail.ch pm.me',
  fastmail: 'fastmail.com fastmail.fm',
  zoho: 'zoho.com zohomail.com zohomail.eu',
  gmx: 'gmx.de gmx.net gmx.at gmx.ch gmx.com gmx.co.uk gmx.us mail.com',
  web_de: 'web.de',
  telekom: 't-online.de magenta.de',
  freenet: 'freenet.de',
  orange: 'orange.fr wanadoo.fr',
  free: 'free.fr',
  laposte: 'laposte.net',
  libero: 'libero.it virgilio.it iol.it inwind.it',
  seznam: 'seznam.cz email.cz post.cz',
  wp: 'wp.pl o2.pl',
  yandex: 'yandex.ru yandex.com ya.ru',
  mail_ru: 'mail.ru bk.ru inbox.ru list.ru internet.ru',
  qq: 'qq.com foxmail.com',
  netease: '163.com 126.com yeah.net',
  naver: 'naver.com',
  docomo: 'docomo.ne.jp',
} as const satisfies Readonly<Record<string, string>>;

/** Provider of all recipient domains that are not listed here. */
export const OTHER_PROVIDER = 'other';

type MailboxProvider = keyof typeof DOMAINS | typeof OTHER_PROVIDER;
export const PROVIDERS: readonly MailboxProvider[] = [
  ...(Object.keys(DOMAINS) as (keyof typeof DOMAINS)[]),
  OTHER_PROVIDER,
];

/** Mailbox provider by recipient domain (A-labels). */
export const MAILBOX_PROVIDERS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(DOMAINS).flatMap(([provider, domains]) =>
    domains
      .trim()
      .split(/\s+/)
      .map((domain) => [domain, provider] as const),
  ),
);

export const mailboxProviderOf = (domain: string): string => MAILBOX_PROVIDERS[domain] ?? OTHER_PROVIDER;
