import type { Random } from './random.ts';

/** Texts that have broken some software before. */
const TEXTS = [
  ...['', ' ', '\0', '\r\n', 'a\r\nBcc: x@example.org', 'a\nb', '\u2028', '\u0085', '\u202e', '\ufeff', '\u200b'],
  ...['\ud800', '\udfff', 'a\udc00b', '💥', 'e\u0301', '\u{10ffff}', 'İ', 'ß', '٣', 'Ａ', 'Ω'.repeat(300)],
  ...['null', 'undefined', 'NaN', 'true', '0', '-1', '1e309', '[object Object]', '__proto__', 'constructor'],
  ...['../../etc/passwd', '%00', '%', '%zz', '\\', '"', "'", '`', ';', '--', "' or 1=1 --", '$1', '{{x}}', '#{x}'],
  ...['=?utf-8?q?x?=', '=?utf-8?b?//8=?=', '<script>alert(1)</script>', '&#0;', '&#x110000;', '<!--', '<![CDATA['],
  ...['a@b', '@', 'a@', '@b', '"a"@example.test', 'a@[127.0.0.1]', '<>', 'a@example.test, b@example.test', 'a:b;'],
  ...['x@xn--a', 'x@xn--', 'x@-a.test', 'x@a..b', 'ü@example.test', 'x@ü.test', 'x@exam\u00adple.test', 'x@a.b.'],
  ...['2026-02-30', '2026-13-01T00:00:00Z', '9999-12-31T23:59:59Z', '0000-01-01', '+275760-09-13', '1e3'],
  ...['2026-01-01T00:00:00+99:99', 'now', '1970-01-01T00:00:00Z', '10000-01-01T00:00:00Z', '-000001-01-01'],
  ...['0.0.0.0/0', '::/0', '::/129', '1.2.3.4/33', '127.1', '0x7f.1', '[::1]', 'fe80::1%eth0', '1.2.3.4/0x8'],
  ...['http://127.0.0.1:9/', 'http://[::1]:9/', 'http://10.0.0.1/', 'https://169.254.169.254/', 'ftp://127.0.0.1/'],
  ...['http://user:pass@127.0.0.1:9/', 'http://127.0.0.1:99999/', 'javascript:alert(1)', 'http://', 'http://0/', '//x'],
  ...['=', 'AA==', 'A', 'AAA', 'A A A', 'AAA=AAAA', '\u0000AAA'],
] as const;

const HTML = [
  ...['<', '<a', '<a href="', '</', '</p>', '<p>', '<div>', '</div>', '<b><i></b></i>', '<table><tr><td>', '<p a a>'],
  ...['<img src=x onerror=y>', '<!doctype html>', '<!--[if mso]>', '<![endif]-->', '<svg><p>', '<template>', '<math>'],
  ...['&', '&#', '&amp', '&notit;', '<?xml ?>', '<plaintext>', '<script>', '<style>a{', '<title>', '</br>', '<br/>'],
] as const;

const NUMBERS = [
  ...[0, -0, 1, -1, 2, 100, 101, 1e3, 0.5, 1e21, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 63],
  ...[Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 604_800, 604_801, 10_080, 10_081],
] as const;

/** Lengths near the limits. */
const LENGTHS = [63, 64, 65, 253, 254, 255, 256, 257, 512, 998, 999, 2048, 10_000, 65_536, 70_000] as const;
/** Larger than any field allows. Rare, because it costs time. */
const HUGE = 1_100_000;
const DEPTHS = [3, 33, 200, 1_500] as const;

const long = (random: Random): string => {
  const unit = random.pick(['a', 'ü', '💥', '<b>', '&amp;', '(', '\\', ' ', '\n', 'a@example.test,']);
  const length = random.chance(0.02) ? HUGE : random.pick(LENGTHS);
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
};

const html = (random: Random): string => {
  const parts = Array.from({ length: 1 + random.int(8) }, () => random.pick(HTML));
  return random.chance(0.05) ? '<div>'.repeat(random.pick([10, 600, 20_000])) : parts.join(random.pick(['', ' ', 'x']));
};

export const hostileText = (random: Random): string => {
  const kind = random.int(10);
  if (kind === 0) return long(random);
  if (kind < 3) return html(random);
  if (kind === 3) return random.pick(TEXTS) + random.pick(TEXTS);
  return random.pick(TEXTS);
};

const nested = (random: Random): unknown => {
  let value: unknown = random.pick([1, 'x', null]);
  const depth = random.pick(DEPTHS);
  const asArray = random.chance(0.5);
  for (let level = 0; level < depth; level += 1) value = asArray ? [value] : { a: value };
  return value;
};

/** Any JSON value. */
export const hostileValue = (random: Random): unknown => {
  const makers: readonly (() => unknown)[] = [
    () => hostileText(random),
    () => hostileText(random),
    () => random.pick(NUMBERS),
    () => random.pick([true, false, null]),
    () => Array.from({ length: random.pick([0, 1, 2, 60, 600]) }, () => hostileText(random).slice(0, 40)),
    () => ({ [hostileText(random).slice(0, 300)]: random.chance(0.5) ? hostileText(random) : null }),
    () => random.pick<unknown>([[], {}, [[]], [null], [{}], { length: 1 }, { toString: 'x' }]),
    () => nested(random),
  ];
  return random.pick(makers)();
};
