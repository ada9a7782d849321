/** Names a browser by its user agent, for people who have to recognize their own. */

type Pattern = readonly [name: string, pattern: RegExp];

/** The first that matches. Edge, Opera and Chrome also name the browsers that they resemble. */
const BROWSERS: readonly Pattern[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d{1,4})/],
  ['Opera', /\bOPR\/(\d{1,4})/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d{1,4})/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d{1,4})/],
  ['Chrome', /\b(?:Headless)?(?:Chrome|CriOS)\/(\d{1,4})/],
  ['Safari', /\bVersion\/(\d{1,4})[\d.]* (?:Mobile\/\S{1,20} )?Safari\//],
  ['Outbox command line', /^outbox(?:-cli)?\//],
  ['curl', /^curl\/(\d{1,4})/],
];

const SYSTEMS: readonly Pattern[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
];

/** `Firefox 142 on Linux`; null: an unknown program, whose own words could be anything. */
export const browserName = (userAgent: string): string | null => {
  const browser = BROWSERS.find(([, pattern]) => pattern.test(userAgent));
  const system = SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0];
  if (browser === undefined) return system === undefined ? null : `A browser on ${system}`;
  const [name, pattern] = browser;
  const version = pattern.exec(userAgent)?.[1];
  return [name, version, system === undefined ? undefined : `on ${system}`]
    .filter((part) => part !== undefined)
    .join(' ');
};
