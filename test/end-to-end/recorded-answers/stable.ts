import { createHash } from 'node:crypto';

/**
 * Gives what differs between two runs (ids, times, keys, hashes, addresses on this machine) a fixed form, so that the
 * recorded answers change only when the service does. Equal values stay equal.
 */

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Keys and secrets are replaced by an ellipsis: an example must not look like a leak. */
const SECRET = /\b(ob_(?:live|test|audit|link)|whsec)_[\w+/=]{20,}/g;
/** ids, UUIDs, hashes in hexadecimal, then what is written in Base64. */
const RANDOM = new RegExp(
  [
    /\b[a-z]{3}_(?:[a-z2-7]{26}|[0-9a-f]{32})\b/,
    /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/,
    /(?<![\w/+-])[0-9a-f]{24,64}(?![\w/+])/,
    /(?<==_)[0-9a-f]{24}\b/,
    /(?<=\bob-[re]-)[0-9a-f]{6}\b/,
    /(?<=[/+][\w/]{20,}\+)[0-9a-f]{8}(?=\+)/,
    /(?<![\w/+-])(?=[\w/+-]*[A-Z])(?=[\w/+-]*[a-z])(?=[\w/+-]*\d)[\w/+-]{20,}(?:\.[\w-]{20,})?={0,2}/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);
/** A run takes less than ten minutes: every time of day keeps its hour and the ten minutes. */
const TIME_OF_DAY = /(?<!\d)(\d\d:\d)\d:\d\d(\.\d{3})?/g;
const UNIX_TIME = /\b17\d{8}\b/g;
const TEN_MINUTES = 600;

/** Signatures of DKIM are folded, each time in other places. */
const SIGNATURE = /(?<=[; \n]b=)\s*[\w+/=]{20,}(?:\n? [\w+/=]+)*/g;
/** The ends of keys, in sentences and in the log. */
const LAST4 = /(?<=\bends in |"(?:last|first)4":")\w{4}\b/g;

/** Fields that depend on the machine and how busy it is, and what is shown instead. */
const MEASURED: Readonly<Record<string, unknown>> = {
  duration_ms: 12,
  p50: 12,
  p90: 48,
  p99: 96,
  mean: 1.2,
  max: 24.5,
  uptime_seconds: 86_400,
  memory_bytes: 268_435_456,
  seconds_behind: 0.04,
  port: 587,
  latency_ms: 1.2,
  connected_since: '2026-01-31T09:30:00.000Z',
};

/** A longer list, such as the read models in the health of the service, is recognized by its first items. */
const ITEMS_MAX = 8;
const ITEMS_SHOWN = 3;

const shownRandom = (real: string, ordinal: number): string => {
  const [, prefix = '', rest = real] = /^([a-z]{3}_)(.*)$/.exec(real) ?? [];
  const digest = createHash('sha512').update(`${prefix}${rest.length} ${ordinal}`).digest();
  const hex = /^[0-9a-f-]+$/.test(rest);
  const alphabet = hex ? '0123456789abcdef' : prefix === '' ? BASE64 : BASE32;
  const shown = [...rest].map((char, index) =>
    /[-=.]/.test(char) && (hex || char !== '-')
      ? char
      : alphabet[((digest[index % digest.length] ?? 0) + index) % alphabet.length],
  );
  return prefix + shown.join('');
};

const measured = (name: string, value: unknown): unknown =>
  typeof value === typeof MEASURED[name] ? MEASURED[name] : value;

const shortened = (value: unknown): unknown =>
  Array.isArray(value) && value.length > ITEMS_MAX ? value.slice(0, ITEMS_SHOWN) : value;

/** @param places texts that name this machine, with what is shown instead. @param ids the same of ids. */
export const createStable = (
  places: readonly (readonly [real: string, shown: string])[],
  ids: ReadonlyMap<string, string>,
) => {
  const shownOf = new Map(ids);
  const ordinals = new Map<string, number>();
  const showRandom = (real: string): string => {
    const known = shownOf.get(real);
    if (known !== undefined) return known;
    const kind = real.replaceAll(/(?<=^[a-z]{3}_).*|^(?![a-z]{3}_).*/g, ({ length }) => String(length));
    const ordinal = (ordinals.get(kind) ?? 0) + 1;
    ordinals.set(kind, ordinal);
    const shown = shownRandom(real, ordinal);
    shownOf.set(real, shown);
    return shown;
  };
  const showText = (text: string): string => {
    let shown = text;
    for (const [real, place] of places) shown = shown.replaceAll(real, place);
    return shown
      .replaceAll(SIGNATURE, '…')
      .replaceAll(LAST4, showRandom)
      .replaceAll(SECRET, '$1_…')
      .replaceAll(RANDOM, showRandom)
      .replaceAll(TIME_OF_DAY, (_, start: string, ms?: string) => `${start}0:00${ms === undefined ? '' : '.000'}`)
      .replaceAll(UNIX_TIME, (time) => String(Number(time) - (Number(time) % TEN_MINUTES)));
  };
  const showNamed = (name: string, value: unknown): unknown => {
    if (typeof value !== 'string') return value;
    return /(?:last|first)4$/.test(name) ? showRandom(value) : showText(value);
  };
  return (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value), (name, inner) => showNamed(name, measured(name, shortened(inner))));
};
