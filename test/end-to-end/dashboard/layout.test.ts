import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../../support/api-client.ts';
import { inspect, picture, settle } from '../../support/browser.ts';
import { chromiumIsMissing } from '../../support/chromium.ts';
import { startDashboard } from './support.ts';

/** Every screen and dialog with names that are long, empty, hostile or written from right to left. */

const WINDOWS = [
  { width: 390, theme: 'light' },
  { width: 1280, theme: 'dark' },
  { width: 1920, theme: 'light' },
] as const;
const HEIGHT = 860;
/** Dialogs are opened in this window: a narrow one hides some of the buttons. */
const DIALOGS_IN = { width: 1280, theme: 'dark' } as const;
const DIALOG_WINDOWS = [DIALOGS_IN, ...WINDOWS.filter(({ width }) => width !== DIALOGS_IN.width)];
const OVERRIDE = '\u202Egnp.exe';
const LONG = 'w'.repeat(100);
const TAG = `${'long-value-'.repeat(23)}end`;
const SUBJECT = 'A subject that never ends, '.repeat(36).slice(0, 900);
const UNBROKEN = 'x'.repeat(998);
const ARABIC = 'طلبك رقم 1234 في الطريق إليك، شكرًا لتسوقك معنا';
const HOST = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.example.test`;
const ADDRESS = `${'l'.repeat(50)}@${HOST}`;

/** Flaws of the page as it is: text that leaves the window, covers other text or is squeezed, parts that touch. */
const flawsIn = (page: Page): Promise<readonly string[]> =>
  page.evaluate(`(() => {
    const flaws = [];
    /** Parts that may scroll sideways, and lists that the page cuts line by line. */
    const SCROLLING = '.scroll, .scroll *, .vars, pre, .tabs, .seg, input, textarea, select, .cm-scroller';
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) flaws.push('the page is ' + root.scrollWidth + ' px wide');
    const name = (element) => element.tagName.toLowerCase() + (element.className ? '.' + String(element.className).replaceAll(' ', '.') : '') + ' "' + (element.textContent ?? '').slice(0, 40) + '"';
    const isClipped = (element) => {
      for (let at = element.parentElement; at !== null; at = at.parentElement) {
        if (getComputedStyle(at).overflowX !== 'visible') return true;
      }
      return false;
    };
    const scope = document.querySelector('dialog[open]') ?? document.querySelector('main') ?? document.body;
    for (const element of scope.querySelectorAll('*')) {
      const box = element.getBoundingClientRect();
      if (box.width === 0 || box.height === 0 || element.closest('.vh, details:not([open]) > :not(summary)') !== null) continue;
      if (box.right > innerWidth + 1 && !isClipped(element)) flaws.push('leaves the window: ' + name(element));
      const style = getComputedStyle(element);
      const isText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '');
      if (isText && style.overflowX === 'visible' && style.display !== 'inline' && element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0)
        flaws.push('text leaves its box: ' + name(element));
      const inner = document.createRange();
      inner.selectNodeContents(element);
      const lines = inner.getBoundingClientRect();
      const holder = element.parentElement.getBoundingClientRect();
      if (isText && style.position !== 'absolute' && style.overflowY === 'visible' && getComputedStyle(element.parentElement).overflowY === 'visible' && lines.bottom > holder.bottom + 4)
        flaws.push('text is higher than its box: ' + name(element));
      const isCutOff = ['auto', 'hidden', 'clip'].includes(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
      if (isCutOff && style.textOverflow !== 'ellipsis' && !element.matches(SCROLLING)) flaws.push('is cut without an ellipsis: ' + name(element));
    }
    if (scope.tagName === 'DIALOG' && scope.scrollWidth > scope.clientWidth) flaws.push('the dialog scrolls sideways: ' + name(scope));
    for (const row of scope.querySelectorAll('.flex, .cells, .kr')) {
      if (row.className.includes('wrap')) continue;
      const isCut = [...row.children].some((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).textOverflow === 'ellipsis');
      for (const each of row.children) {
        const box = each.getBoundingClientRect();
        const style = getComputedStyle(each);
        const isText = [...each.childNodes].every((node) => node.nodeType === 3);
        if (isCut && isText && style.position !== 'absolute' && box.width < 110 && box.height > Number.parseFloat(style.lineHeight) * 1.5) flaws.push('squeezed beside a text that is cut: ' + name(each));
      }
    }
    for (const number of scope.querySelectorAll('.num')) {
      const text = document.createRange();
      text.selectNodeContents(number); // a cell is as high as its row
      const isOneWord = !/\\s/.test(number.textContent.trim());
      if (isOneWord && text.getBoundingClientRect().height > Number.parseFloat(getComputedStyle(number).lineHeight) * 1.9)
        flaws.push('a number of several lines: ' + name(number));
    }
    for (const heading of scope.querySelectorAll('h1, .peek h2, dialog h2')) {
      const lines = heading.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(heading).lineHeight);
      if (lines > 3.1) flaws.push('a heading of ' + Math.round(lines) + ' lines');
    }
    for (const field of scope.querySelectorAll('input[type=date], input[type=datetime-local], input[type=month], input[type=time]'))
      flaws.push('a field that writes dates as the browser does: ' + name(field));
    if (/[\\u202A-\\u202E\\u2066-\\u2069]/.test(scope.textContent ?? '')) flaws.push('a character that turns the text around it');
    const rows = [...scope.querySelectorAll('.axis > div, .xax')];
    for (const row of rows) {
      const labels = [...row.querySelectorAll('span')].map((each) => each.getBoundingClientRect()).filter(({ width }) => width > 0).toSorted((a, b) => a.left - b.left);
      for (const [index, { left }] of labels.entries()) if (index > 0 && left < labels[index - 1].right + 2) flaws.push('labels of an axis overlap: ' + name(row));
    }
    const cards = [...scope.querySelectorAll('.card, .figs, .why, .surface, .list')].filter((each) => each.closest('details') === null);
    for (const card of cards) for (const button of scope.querySelectorAll('.btn')) {
      const [a, b] = [card.getBoundingClientRect(), button.getBoundingClientRect()];
      if (card.contains(button) || button.closest('details') !== null || b.height === 0 || a.height === 0 || !(a.left < b.right && b.left < a.right)) continue;
      if (Math.abs(b.top - a.bottom) < 8 || Math.abs(a.top - b.bottom) < 8) flaws.push('a button touches a card: ' + name(button));
    }
    for (const one of cards) for (const other of cards) {
      if (one === other || one.contains(other) || other.contains(one)) continue;
      const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
      if (a.height === 0 || b.height === 0 || getComputedStyle(one).position === 'absolute' || getComputedStyle(other).position === 'absolute') continue;
      const isBeside = a.left < b.right && b.left < a.right;
      const gap = b.top - a.bottom;
      if (isBeside && gap > -1 && gap < 8) flaws.push('cards touch (' + Math.round(gap) + ' px): ' + name(one) + ' and ' + name(other));
    }
    return [...new Set(flaws)];
  })()`);

/** Buttons that change something at once, or leave the page. */
const NO_DIALOG = /As of|CSV|Plot|Table|Copy|Try|Download|Pause|Verify|Check|Publish|Ping|Send now|Start|Resume/;

/** The dialog that lists the requests of a screen is looked at on one screen: it is the same on all. */
const isSkipped = (word: string, pathname: string): boolean =>
  NO_DIALOG.test(word) || (word === 'API' && pathname !== '/dashboard');

/** Opens each dialog of the screen, and closes it. @param lookAt called with the number of its button. */
const lookAtDialogs = async (page: Page, lookAt: (at: number) => Promise<void>): Promise<void> => {
  const openers = page.locator('main button.btn:not([disabled]):visible');
  const { pathname } = new URL(page.url());
  const words = await openers.allTextContents();
  for (const [at, word] of words.entries()) {
    if (isSkipped(word.trim(), pathname)) continue;
    // A button below a peek cannot be clicked.
    await openers
      .nth(at)
      .click({ timeout: 500 })
      .catch(() => undefined);
    if ((await page.locator('dialog[open]').count()) > 0) await lookAt(at);
    await page.keyboard.press('Escape');
    if (new URL(page.url()).pathname !== pathname) return;
  }
};

describe.skipIf(chromiumIsMissing)('the layout', () => {
  const paths = new Map<string, string>();

  const dashboard = startDashboard(async ({ api, program }) => {
    const make = async (path: string, body: object): Promise<string> => {
      const answer = await api.post(path, body);
      if (answer.status >= 400) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
      return answer.body.id;
    };
    const domain = await make('/v1/domains', { name: HOST });
    await make('/v1/domains', { name: 'xn--mgbh0fb.example.test' });
    const { status } = await api.patch('/v1/organization', { name: `${ARABIC} ${LONG}`.slice(0, 80) });
    expect(status).toBe(200);
    const { body: domains } = await api.get('/v1/domains');
    const own = domains.data.find(({ name }: { name: string }) => name === 'example.test').id;
    const key = await make('/v1/api-keys', {
      name: `${OVERRIDE}${LONG}`.slice(0, 100),
      domain_id: own,
      permissions: ['send', 'read', 'manage'],
    });
    await make('/v1/api-keys', {
      name: ARABIC,
      domain_id: own,
      permissions: ['send'],
      allowed_cidrs: ['2001:db8:85a3:8d3:1319:8a2e:370:7348/128'],
    });
    const webhook = await make('/v1/webhooks', {
      url: `http://127.0.0.1:9/${'path/'.repeat(60)}?q=${LONG}`,
      events: ['message.*', 'domain.*', 'api_key.*', 'suppression.*', 'template.*'],
      description: `${OVERRIDE} ${LONG}`,
    });
    const template = await make('/v1/templates', {
      alias: 'a'.repeat(64),
      name: `${OVERRIDE}${LONG}`.slice(0, 100),
      subject: UNBROKEN.slice(0, 500),
      html: `<p>{{ ${'v'.repeat(60)} }}</p>`,
      variables: [{ name: 'v'.repeat(60), type: 'string' }],
      description: ARABIC,
    });
    await make('/v1/suppressions', { address: ADDRESS, note: `${OVERRIDE} ${LONG}` });
    await make('/v1/members', {
      email: `${'m'.repeat(60)}@example.net`,
      name: `${ARABIC} ${LONG}`.slice(0, 100),
      role: 'analyst',
    });
    const send = async (body: object, as = api) => {
      const mail = { from: `${ARABIC} <shop@example.test>`, text: 'Hello', subject: 'x', ...body };
      const answer = await as.post('/v1/messages/send', mail);
      if (answer.status >= 400) throw new Error(JSON.stringify(answer.body));
      return answer;
    };
    const long = await send({
      to: [ADDRESS, 'ann@example.net', `${OVERRIDE} <bob@example.net>`],
      subject: SUBJECT,
      tags: [
        { name: 'kind', value: TAG.slice(0, 256) },
        { name: 'n'.repeat(100), value: '' },
      ],
      metadata: { ['m'.repeat(40)]: LONG.repeat(5) },
      headers: { 'X-Long': LONG },
      attachments: [{ filename: `${OVERRIDE}${LONG}.txt`, content: 'YQ==' }],
    });
    await send({ to: 'ann@example.net', subject: UNBROKEN });
    await send({ to: 'ann@example.net', subject: ARABIC, html: '<p>x</p>' });
    await send({ to: Array.from({ length: 50 }, (_, at) => `p${at}@example.net`), subject: OVERRIDE });
    await api.post('/v1/messages/send', { to: 'invalid', subject: LONG });
    const test = apiClient(program.baseUrl, program.keys.test);
    const bounced = await send({ to: 'bounced@sandbox.outbox.test', subject: 'Bounced' }, test);
    const deferred = await send(
      {
        to: ['deferred+3600s', 'bounced', 'complained', 'a-long-mailbox-name'].map(
          (name) => `${name}@sandbox.outbox.test`,
        ),
        subject: 'Deferred',
      },
      test,
    );
    const { body: captured } = await eventually(
      () => api.get('/v1/inbox'),
      ({ body }) => body.data.length >= 4,
      60_000,
    );
    await eventually(
      () => test.get(`/v1/messages/${deferred.body.id}`),
      ({ body }) =>
        body.recipients.some(({ status }: { status: string }) => status === 'bounced') && body.status === 'deferred',
      60_000,
    );
    const route = { domain_id: domain, match: `${'m'.repeat(63)}*`, action: 'webhook', webhook_id: webhook };
    await make('/v1/inbound-routes', route);
    await make('/v1/inbound-routes', { domain_id: own, match: '*', action: 'store', order: 1_000_000 });
    const raw = [
      `From: ${OVERRIDE}${LONG} <${ADDRESS}>`,
      `To: ${ADDRESS}, ${ARABIC} <ann@example.net>`,
      `Reply-To: ${ADDRESS}`,
      `Subject: ${UNBROKEN}`,
      `Message-ID: <${LONG}@${HOST}>`,
      `X-Long: ${UNBROKEN}`,
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/html; charset=utf-8',
      '',
      `<p>${UNBROKEN}</p>`,
      '--b',
      `Content-Type: text/plain; name="${LONG}.txt"`,
      `Content-Disposition: attachment; filename="${LONG}${LONG}.txt"`,
      '',
      'x',
      '--b--',
      '',
    ].join('\r\n');
    const received = await make('/v1/inbound/test', { raw, to: `${'t'.repeat(60)}@example.test`, from: ADDRESS });
    const plainRaw = `Subject: ${ARABIC}\r\n\r\n${UNBROKEN}\r\n${'A line\r\n'.repeat(100)}`;
    const plain = await make('/v1/inbound/test', { raw: plainRaw, to: 'a@example.test' });
    for (const [name, path] of Object.entries({
      inbound: '/inbound',
      'inbound-filtered': `/inbound?from=${ADDRESS}&subject=${LONG}`,
      'inbound-routes': '/inbound?tab=routes',
      received: `/inbound/${received}`,
      'received-headers': `/inbound/${received}?tab=headers`,
      'received-text': `/inbound/${plain}?tab=text`,
      'received-attachments': `/inbound/${received}?tab=attachments`,
      'received-webhooks': `/inbound/${received}?tab=webhooks`,
      overview: '',
      messages: '/messages',
      'messages-filtered': `/messages?tag=kind:${TAG.slice(0, 256)}&subject=${LONG}&period=all`,
      peek: `/messages?peek=${long.body.id}`,
      message: `/messages/${long.body.id}`,
      headers: `/messages/${long.body.id}?tab=headers`,
      attachments: `/messages/${long.body.id}?tab=attachments`,
      bounced: `/messages/${bounced.body.id}?environment=test`,
      deferred: `/messages/${deferred.body.id}?environment=test`,
      events: '/events',
      statistics: '/statistics?group_by=tag',
      'statistics-tables': '/statistics?tables=outcomes,latency&period=24h',
      'statistics-empty': '/statistics?from=2020-01-01T00:00:00.000Z&to=2020-02-01T00:00:00.000Z',
      templates: '/templates',
      template: `/templates/${template}`,
      keys: '/keys',
      key: `/keys/${key}`,
      requests: '/requests',
      webhooks: '/webhooks',
      webhook: `/webhooks/${webhook}`,
      settings: '/settings',
      domains: '/domains',
      domain: `/domains/${domain}`,
      'own-domain': `/domains/${own}`,
      suppressions: '/suppressions',
      inbox: '/inbox',
      captured: `/inbox/${captured.data[0].id}`,
      delivery: '/delivery',
      audit: '/audit',
      billing: '/billing',
      nowhere: '/nowhere',
    }))
      paths.set(name, path);
  });

  test('fits every screen and dialog in both themes, 390, 1280 and 1920 pixels wide', async () => {
    const found: Record<string, readonly string[]> = {};
    const { page, complaints, close } = await dashboard.openAs('owner', DIALOGS_IN);
    const show = async ({ width, theme }: (typeof WINDOWS)[number]): Promise<void> => {
      await page.setViewportSize({ width, height: HEIGHT });
      await page.emulateMedia({ colorScheme: theme });
    };
    /** The rules of accessibility are the same in each window. */
    const violationsIn = async (isFirst: boolean) => (isFirst ? (await inspect(page)).violations : []);
    /** Measures what the page shows in each window, beginning with the one that it has. */
    const note = async (name: string, windows: readonly (typeof WINDOWS)[number][]): Promise<void> => {
      for (const size of windows) {
        await show(size);
        await settle(page);
        const flaws = [...(await flawsIn(page)), ...(await violationsIn(size === windows[0]))];
        const seen = `${name}-${size.width}`;
        if (flaws.length > 0) found[seen] = flaws;
        await picture(page, `layout-${seen}`, true);
      }
    };
    for (const [at, [name, path]] of [...paths].entries()) {
      // Screens take turns in which window they are loaded: what is drawn then can differ from what a resize draws.
      const windows = [...WINDOWS.slice(at % WINDOWS.length), ...WINDOWS.slice(0, at % WINDOWS.length)];
      await show(windows[0] ?? DIALOGS_IN);
      await page.goto(`/dashboard${path}`);
      await page.locator('h1').first().waitFor();
      await note(name, windows);
      await show(DIALOGS_IN);
      await lookAtDialogs(page, async (opener) => {
        await note(`${name}-dialog-${opener}`, DIALOG_WINDOWS);
        await show(DIALOGS_IN);
      });
    }
    expect(found).toEqual({});
    // Every button is pressed, also where the service then refuses: a template without changes, a message that has ended.
    expect(complaints.filter((text) => !/status of (?:409|422) /.test(text))).toEqual([]);
    await close();
  }, 900_000);
});
