import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { inspect, settle } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';
import { NARROW, ROLES, type Role, type Size, startDashboard, WIDE } from './support.ts';

/** Every screen, as each role sees it. */

const TABLE = new URL('../../../src/dashboard/screens.tsx', import.meta.url);
/** Patterns such as `/messages/([^/]+)` from the route table, with the title of each screen. */
const SCREENS = new Map(
  [...readFileSync(TABLE, 'utf8').matchAll(/path: \/\^(.*)\$\/,\s+title: '(.*)',/g)].map(
    ([, pattern = '', title = '']): [string, string] => [pattern.replaceAll('\\/', '/'), title],
  ),
);
const PATTERNS = [...SCREENS.keys()];
/** Title of the tab. */
const titleOf = (path: string): string =>
  `${SCREENS.get(PATTERNS.find((pattern) => new RegExp(`^${pattern}$`).test(path)) ?? '')} · Outbox`;

const SIZES: Readonly<Record<Role, Size>> = {
  owner: WIDE,
  developer: NARROW,
  analyst: { theme: 'light', width: 390 },
  auditor: { theme: 'dark', width: 1280 },
};

const ONE = '([^/]+)';
const OF_OWNERS = ['/settings', '/delivery', '/audit', '/billing'];
const INBOX = ['/inbox', `/inbox/${ONE}`];
const MANAGED = ['/templates', '/keys', '/webhooks', '/domains'].flatMap((path) => [path, `${path}/${ONE}`]);

/** Screens on which all or some requests of a role are refused: an auditor sees a template, but cannot render it. */
const REFUSED: Readonly<Record<Role, readonly string[]>> = {
  owner: [],
  developer: OF_OWNERS,
  analyst: [...OF_OWNERS, ...INBOX, ...MANAGED],
  auditor: [`/templates/${ONE}`, ...INBOX],
};

const REFUSAL =
  /^Your role does not allow this\. The role '\w+' .*: (?:First owner|The owner), an owner, can (?:allow it to this role, or )?give you the role '\w+'/;

/** Navigates as a link does. */
const go = (page: Page, path: string): Promise<void> =>
  page.evaluate((to) => {
    // biome-ignore lint/suspicious/noExplicitAny: of the page
    const { history, dispatchEvent, PopStateEvent } = globalThis as any;
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);

/** The problems of a screen, and whether it shows a refusal. */
const problemsOf = async (page: Page, path: string) => {
  const { violations, isTooWide } = await inspect(page);
  const alerts = await page.locator('main [role=alert]').allInnerTexts();
  const found = [
    ...violations,
    ...(isTooWide ? ['it scrolls sideways'] : []),
    ...alerts.filter((alert) => !REFUSAL.test(alert)),
  ];
  return { problems: found.map((problem) => `${path}: ${problem}`), isRefused: alerts.length > 0 };
};

describe.skipIf(chromiumIsMissing)('every screen', { timeout: 240_000 }, () => {
  let hook: Awaited<ReturnType<typeof startWebhookReceiver>>;
  const ids: Record<string, string> = {};
  const dashboard = startDashboard();

  beforeAll(async () => {
    hook = await startWebhookReceiver();
    const { api } = dashboard;
    const made = async (path: string, body: object): Promise<string> => (await api.post(path, body)).body.id;
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Your order', html: '<p>Soon.</p>' };
    ids.webhooks = await made('/v1/webhooks', { url: hook.url, events: ['message.*'] });
    ids.domains = await made('/v1/domains', { name: 'news.nordlys.example' });
    ids.templates = await made('/v1/templates', { alias: 'order', name: 'Order', subject: 'x', html: '<p>Soon.</p>' });
    await api.post('/v1/templates/order/publish', {});
    await api.post('/v1/suppressions', { address: 'eve@example.net', note: 'by telephone' });
    ids.messages = await made('/v1/messages/send', mail);
    await made('/v1/messages/send', { ...mail, scheduled_at: new Date(Date.now() + 3_600_000).toISOString() });
    ids.keys = (await api.get('/v1/api-keys')).body.data[0].id;
    const { body } = await eventually(
      () => api.get('/v1/inbox'),
      ({ body: { data } }) => data.length > 0,
    );
    ids.inbox = body.data[0].id;
    await eventually(
      async () => hook.posts.length,
      (posts) => posts > 0,
    );
  });
  afterAll(() => hook?.close());

  const paths = (): readonly string[] =>
    PATTERNS.map((pattern) => {
      const [, kind = ''] = pattern.split('/');
      if (!pattern.includes('(')) return pattern;
      const id = ids[kind];
      if (id === undefined) throw new Error(`nothing is made that ${pattern} could show`);
      return `/${kind}/${id}`;
    });

  test('is listed in the table', () => expect(PATTERNS.length).toBeGreaterThan(15));

  test.concurrent.each(ROLES)('is shown to the %s, or names the role that may see it', async (role) => {
    const size = SIZES[role];
    const { page, complaints, close } = await dashboard.openAs(role, size, { keepsPolicy: true });
    await page.goto('/dashboard');
    const refused: string[] = [];
    const problems: string[] = [];
    for (const path of paths()) {
      await go(page, `/dashboard${path}`);
      // The previous screen has been replaced.
      await eventually(
        () => page.title(),
        (title) => title === titleOf(path),
        60_000,
      );
      await page.locator('main').locator('h1, [role=alert]').first().waitFor();
      await settle(page);
      const found = await problemsOf(page, path);
      problems.push(...found.problems);
      if (found.isRefused) refused.push(PATTERNS[paths().indexOf(path)] ?? path);
    }
    expect(problems).toEqual([]);
    expect(refused.toSorted()).toEqual(REFUSED[role].toSorted());
    // The browser logs each refusal.
    expect(complaints.filter((text) => !text.includes('403 (Forbidden)'))).toEqual([]);
    await close();
  });
});
