import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page, type Request } from 'playwright-core';
import { CHROMIUM } from './chromium.ts';

/** Chromium, driven as a dashboard user. */

/** Pictures of screens, to compare with their mockups. Not in git. */
const PICTURES = fileURLToPath(new URL('../../coverage/dashboard/', import.meta.url));
/** Nothing is proved by a picture, and drawing one takes longer than most checks: `PICTURES=1` takes them. */
const TAKES_PICTURES = process.env.PICTURES !== undefined;

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });

export const THEMES = ['dark', 'light'] as const;
export type Theme = (typeof THEMES)[number];

export interface Window {
  readonly page: Page;
  /** Errors and warnings from the page and from the browser, and requests for resources that the page has deleted. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

export type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

export interface WindowOptions {
  readonly baseUrl: string;
  readonly theme: Theme;
  /** Width in pixels. */
  readonly width: number;
  /** Keys of the environments, stored as if the user had entered them. Absent: no user is signed in. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Cookies and storage of another window (`storageState` of its context) in which a user has signed in. */
  readonly state?: StorageState;
  /** Keeps the page's content security policy. `look` does not work then. */
  readonly keepsPolicy?: true;
}

/** Open requests of each page, without streams and long polls. */
const pending = new WeakMap<Page, ReadonlySet<Request>>();

/** Tracks the open requests of a page, or of all pages of a context. @param counts selects requests. */
export const openRequestsOf = (
  of: Page | BrowserContext,
  counts: (request: Request) => boolean = () => true,
): ReadonlySet<Request> => {
  const open = new Set<Request>();
  const end = (request: Request): boolean => open.delete(request);
  // Page and BrowserContext emit the same events, but their overloads do not unify.
  const source = of as BrowserContext;
  source.on('request', (request) => {
    if (counts(request)) open.add(request);
  });
  source.on('requestfinished', end);
  source.on('requestfailed', end);
  return open;
};

const isSettling = (request: Request): boolean =>
  request.headers().accept !== 'text/event-stream' && !new URL(request.url()).searchParams.has('wait');

/** Path of one resource, such as `/v1/domains/dom_1`. */
const RESOURCE = /^\/v1\/[a-z-]+\/[^/]+$/;

/** Reports each request for a resource, or for a part of one, after its deletion: it would get a 404. */
const watchDeleted = (page: Page, report: (complaint: string) => void): void => {
  const deleted = new Set<string>();
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (response.request().method() === 'DELETE' && response.ok() && RESOURCE.test(pathname)) deleted.add(pathname);
  });
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    const isDeleted = [...deleted].some((path) => `${pathname}/`.startsWith(`${path}/`));
    if (isDeleted) report(`${request.method()} ${pathname} after its deletion`);
  });
};

/** Reads Chromium's metrics of a page. Times are of its main thread, in seconds. */
export const metricsOf = async (page: Page) => {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const read = async (name: string): Promise<number> =>
    (await session.send('Performance.getMetrics')).metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
  return Object.assign(read, { collectGarbage: () => session.send('HeapProfiler.collectGarbage') });
};

/** Polling interval, in ms. A page is settled once two looks in a row find it so. */
const LOOK_EVERY_MS = 60;
/** A page that has not settled by then is inspected anyway: a test may hold a request back. */
const SETTLED_MS_MAX = 8_000;
/** Placeholders and stale content, shown while data loads. */
const UNSETTLED = 'main .sk, main .dim';

/**
 * Waits until the page has loaded its data. Anything drawn before is replaced before a user can notice a flaw in it.
 */
export const settle = async (page: Page): Promise<void> => {
  const until = Date.now() + SETTLED_MS_MAX;
  for (let still = 0; still < 2 && Date.now() < until; ) {
    await page.waitForTimeout(LOOK_EVERY_MS);
    const isStill = (pending.get(page)?.size ?? 0) === 0 && (await page.locator(UNSETTLED).count()) === 0;
    still = isStill ? still + 1 : 0;
  }
};

export const openWindow = async (
  browser: Browser,
  { baseUrl, theme, width, keys, state, keepsPolicy }: WindowOptions,
): Promise<Window> => {
  const context = await browser.newContext({
    baseURL: baseUrl,
    colorScheme: theme,
    viewport: { width, height: 860 },
    ...(state !== undefined && { storageState: state }),
    // axe is injected into the page, which the page's policy forbids.
    bypassCSP: keepsPolicy !== true,
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  pending.set(page, openRequestsOf(page, isSettling));
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.stack ?? error.message));
  watchDeleted(page, (complaint) => complaints.push(complaint));
  if (keys !== undefined) {
    await page.addInitScript((text) => sessionStorage.setItem('outbox-keys', text), JSON.stringify(keys));
  }
  return { page, complaints, close: () => context.close() };
};

export interface ScreenLook {
  readonly violations: readonly string[];
  /** The page scrolls sideways. */
  readonly isTooWide: boolean;
}

/** Takes a picture of the page, if pictures are wanted. */
export const picture = async (page: Page, name: string, fullPage = false): Promise<void> => {
  if (!TAKES_PICTURES) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}${name}.png`, fullPage });
};

/** Runs axe on the page once it has settled, in both themes. The page keeps its own. @param name of its pictures. */
export const look = async (page: Page, name: string): Promise<ScreenLook> => {
  await settle(page);
  await picture(page, name);
  const own = await inspect(page);
  const isDark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
  const [theme, other] = isDark ? (['dark', 'light'] as const) : (['light', 'dark'] as const);
  await page.emulateMedia({ colorScheme: other });
  await settle(page);
  await picture(page, `${name}-in-${other}`);
  // Themes differ in colours alone.
  const { violations } = await inspect(page, COLOUR_RULES);
  await page.emulateMedia({ colorScheme: theme });
  return { ...own, violations: [...own.violations, ...violations.map((violation) => `${other}: ${violation}`)] };
};

/** Rules of axe about colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** Runs axe on the page in its current state. @param rules absent: all. */
export const inspect = async (page: Page, rules?: readonly string[]): Promise<ScreenLook> => {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  return page.evaluate(async (only) => {
    const { axe: loaded } = globalThis as unknown as { readonly axe: typeof axe };
    const { documentElement } = (globalThis as unknown as { readonly document: { documentElement: Measurement } })
      .document;
    const { violations } = await loaded.run({
      resultTypes: ['violations'],
      ...(only !== undefined && { runOnly: [...only] }),
    });
    return {
      violations: violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => [id, html, failureSummary].join(' ')),
      ),
      isTooWide: documentElement.scrollWidth > documentElement.clientWidth,
    };
  }, rules);
};

/** Sizes of an element, in pixels. */
interface Measurement {
  readonly scrollWidth: number;
  readonly clientWidth: number;
}

export interface ScreenAudit extends ScreenLook {
  readonly title: string;
  readonly lang: string;
  readonly isDark: boolean;
}

/** Runs axe on pages served without their policy, which would block it. @param pages as HTML. */
export const audit = async (
  pages: readonly string[],
  { theme, width = 900 }: { readonly theme: Theme; readonly width?: number },
): Promise<readonly ScreenAudit[]> => {
  const browser = await openBrowser();
  const { page } = await openWindow(browser, { baseUrl: 'http://127.0.0.1', theme, width });
  const audited: ScreenAudit[] = [];
  for (const html of pages) {
    await page.setContent(html);
    const [title, lang, isDark] = await page.evaluate<[string, string, boolean]>(
      "[document.title, document.documentElement.lang, matchMedia('(prefers-color-scheme: dark)').matches]",
    );
    audited.push({ title, lang, isDark, ...(await inspect(page)) });
  }
  await browser.close();
  return audited;
};
