import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { inspect, openWindow, settle } from '../../support/browser.ts';
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
const OF_OWNERS = ['/audit', '/billing'];
const INBOX = ['/inbox', `/inbox/${ONE}`];
const MANAGED = ['/templates', '/keys', '/webhooks', '/domains'].flatMap((path) => [path, `${path}/${ONE}`]);

/** Screens that a role cannot open: they are not in the menu, and say what the role can open instead. */
const CLOSED: Readonly<Record<Role, readonly string[]>> = {
  owner: [],
  developer: OF_OWNERS,
  analyst: [...OF_OWNERS, '/delivery', ...INBOX, ...MANAGED, `/inbound/${ONE}`],
  auditor: [...INBOX, `/inbound/${ONE}`],
};

/** Buttons on the screens of resources that a role may open. */
const WATCHED = ['Rotate', 'Ping', 'Invite'] as const;
const BUTTONS: Readonly<Record<Role, readonly string[]>> = {
  owner: ['Rotate', 'Ping', 'Invite'],
  developer: ['Rotate', 'Ping'],
  analyst: [],
  auditor: [],
};

const CANNOT =
  /Your role, \w+, cannot open this page\s+You can open Overview, .* and Settings\. (?:The owner, an owner,|The owners First owner and The owner|First owner, an owner,) can give you the role \w+/;

/** Navigates as a link does. */
const go = (page: Page, path: string): Promise<void> =>
  page.evaluate((to) => {
    // biome-ignore lint/suspicious/noExplicitAny: of the page
    const { history, dispatchEvent, PopStateEvent } = globalThis as any;
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);

/** The problems of a screen, and whether it is closed to the role. */
const problemsOf = async (page: Page, path: string) => {
  const { violations, isTooWide } = await inspect(page);
  const alerts = await page.locator('main [role=alert]').allInnerTexts();
  const text = await page.locator('main').innerText();
  const isClosed = text.includes('cannot open this page');
  const found = [
    ...violations,
    ...(isTooWide ? ['it scrolls sideways'] : []),
    ...alerts,
    ...(isClosed && !CANNOT.test(text) ? [text] : []),
  ];
  return { problems: found.map((problem) => `${path}: ${problem}`), isClosed };
};

const buttonsOn = (page: Page): Promise<readonly string[]> =>
  page.locator('main button').evaluateAll((buttons) => buttons.map(({ textContent }) => (textContent ?? '').trim()));

/** Paths of the menu, in the order of the screens. */
const menuOf = (page: Page): Promise<readonly string[]> =>
  page
    .locator('aside nav[aria-label=Main] a')
    .evaluateAll((links) => links.map((link) => new URL((link as unknown as { href: string }).href).pathname));

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
    const raw = 'From: ann@example.net\r\nSubject: Hello\r\n\r\nHello\r\n';
    ids.inbound = await made('/v1/inbound/test', { raw, to: 'support@example.test' });
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

  const walk = async (page: Page, environment: string, look: (path: string, pattern: string) => Promise<void>) => {
    for (const [index, path] of paths().entries()) {
      await go(page, `/dashboard${path}${environment}`);
      // The previous screen has been replaced.
      await eventually(
        () => page.title(),
        (title) => title === titleOf(path),
        60_000,
      );
      await page.locator('main').locator('h1, [role=alert]').first().waitFor();
      await settle(page);
      await look(path, PATTERNS[index] ?? path);
    }
  };

  test.concurrent.each(ROLES)('is shown to the %s, or says who can open it, and nothing is refused', async (role) => {
    const size = SIZES[role];
    const { page, complaints, close } = await dashboard.openAs(role, size, { keepsPolicy: true });
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 403) refused.push(`${response.request().method()} ${response.url()}`);
    });
    await page.goto('/dashboard');
    const closed: string[] = [];
    const problems: string[] = [];
    const buttons = new Set<string>();
    await walk(page, '', async (path, pattern) => {
      const found = await problemsOf(page, path);
      problems.push(...found.problems);
      if (found.isClosed) closed.push(pattern);
      for (const button of await buttonsOn(page)) buttons.add(button);
    });
    expect(problems).toEqual([]);
    expect(closed.toSorted()).toEqual(CLOSED[role].toSorted());
    const menu = await menuOf(page);
    const open = PATTERNS.filter((pattern) => !pattern.includes('(') && !CLOSED[role].includes(pattern));
    expect(menu.map((path) => path.replace('/dashboard', '')).toSorted()).toEqual(open.toSorted());
    expect(WATCHED.filter((button) => buttons.has(button))).toEqual(BUTTONS[role]);
    await walk(page, '?environment=test', async () => undefined);
    expect(refused).toEqual([]);
    expect(complaints.filter((text) => !text.includes('404 (Not Found)'))).toEqual([]);
    await close();
  });

  test('of messages asks for no filter that an analyst may not use, and offers to remove it', async () => {
    const { page, complaints, close } = await dashboard.openAs('analyst', WIDE);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto('/dashboard/messages?to=ann%40example.net&subject=order');
    await page.getByText('You cannot search by to or subject, because your role may not see mail contents.').waitFor();
    expect(asked.filter((url) => /\/v1\/.*ann/.test(url))).toEqual([]);
    await page.getByRole('link', { name: 'Remove to, subject' }).click();
    await page.locator('.lr').first().waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('of messages filters by no masked cell', async () => {
    const { page, close } = await dashboard.openAs('analyst', WIDE);
    await page.goto('/dashboard/messages');
    const row = page.locator('.lr').first();
    for (const masked of ['***@example.net', '***']) {
      await row.getByText(masked, { exact: true }).hover();
      await page.keyboard.press('f');
    }
    await row.locator('[data-filter^=key_id]').hover();
    await page.keyboard.press('f');
    await page.waitForURL(({ searchParams }) => searchParams.has('key_id'));
    expect([...new URL(page.url()).searchParams.keys()]).toEqual(['key_id']);
    await close();
  });

  test.each(['analyst', 'auditor'] as const)('offers the %s no selection of messages to act on', async (role) => {
    const { page, close } = await dashboard.openAs(role, WIDE);
    await page.goto('/dashboard/messages');
    await page.locator('.lr').first().waitFor();
    await page.keyboard.press('j');
    await page.locator('[data-selected]').waitFor();
    await page.keyboard.press('x');
    expect(await page.getByRole('checkbox').count()).toBe(0);
    expect(await page.getByText('select', { exact: true }).count()).toBe(0);
    await close();
  });

  test('of a template that cannot be rendered says why, and leaves no refusal of a member among the requests', async () => {
    const { api } = dashboard;
    const needing = { alias: 'needs-a-name', name: 'Needs a name', subject: 'Hi', html: '<p>{{ name }}</p>' };
    const variables = [{ name: 'name', type: 'string', required: true }];
    const { id } = (await api.post('/v1/templates', { ...needing, variables })).body;
    await api.post('/v1/templates', { name: 'without a body' });
    for (const role of ['owner', 'developer', 'auditor'] as const) {
      const { page, close } = await dashboard.openAs(role, WIDE);
      await page.goto(`/dashboard/templates/${id}`);
      const desk = page.locator('.desk');
      await desk.getByText(role === 'auditor' ? 'has no example of name' : 'enter an example of name').waitFor();
      // Previews are not listed under Requests.
      expect([await desk.getByText('req_').count(), await desk.getByRole('link').count()]).toEqual([0, 0]);
      expect(await page.locator('iframe').count()).toBe(0);
      await page.goto('/dashboard/requests');
      const listed = page.getByRole('region', { name: 'Refused requests' });
      await listed.getByText('POST /v1/templates').waitFor();
      expect([role, await page.getByText('in the dashboard').count()]).toEqual([role, 0]);
      await close();
    }
    const { body } = await api.get('/v1/requests?limit=100');
    expect(body.data.filter(({ member_id: member }: { member_id: string | null }) => member !== null)).toEqual([]);
  });

  test('is not refused either where a key may only send', async () => {
    const domainId = (await dashboard.api.get('/v1/domains')).body.data[0].id;
    const asked = { name: 'only sends', domain_id: domainId, permissions: ['send'] };
    const { key } = (await dashboard.api.post('/v1/api-keys', asked)).body;
    const { page, close } = await openWindow(dashboard.browser, {
      baseUrl: dashboard.program.baseUrl,
      ...WIDE,
      keys: { live: key },
    });
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    await page.goto('/dashboard/messages');
    await page.getByText('This key cannot open this page').waitFor();
    await page.getByText('It needs the permission “read”. A key with “admin” can grant it.').waitFor();
    expect(refused).toEqual([]);
    await close();
  });
});
