import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inspect, openBrowser, openWindow, THEMES } from '../support/browser.ts';
import { chromiumIsMissing, render } from '../support/chromium.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

/** With all details open, on a phone. The reference as one page was 400,000 pixels high. */
const HEIGHT_MAX = 130_000;

/**
 * Whether the page is wider than the window, words of headings and code that continue on another line, and its height.
 * A word ends at a space, a hyphen or a place for a break (`<wbr>`).
 */
const MEASURED = `(() => {
  const broken = [];
  for (const element of document.querySelectorAll('h1, h2, h3, h4, summary, code, figcaption, .type, nav a')) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      for (const { 0: word, index } of node.data.matchAll(/[^\\s-]+/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (tops.size > 1) broken.push(word);
      }
    }
  }
  const { scrollWidth, clientWidth, scrollHeight } = document.documentElement;
  return [scrollWidth > clientWidth, broken, scrollHeight];
})()`;

describe.skipIf(chromiumIsMissing)('the API reference in Chromium', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let browser: Browser;
  let paths: readonly string[];

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path });
    browser = await openBrowser();
    const { tags } = (await (await fetch(`${program.baseUrl}/openapi.json`)).json()) as {
      readonly tags: readonly { readonly name: string }[];
    };
    paths = ['/docs', '/docs?q=message', ...tags.map(({ name }) => `/docs/${name}`)];
  });
  afterAll(async () => {
    await browser.close();
    await program.end('SIGTERM');
    await data.remove();
  });

  const open = (size: { readonly theme: 'light' | 'dark'; readonly width: number }, keepsPolicy?: true) =>
    openWindow(browser, { baseUrl: program.baseUrl, ...size, ...(keepsPolicy && { keepsPolicy }) });

  test('works under its content security policy, with nothing blocked', async () => {
    const { page, complaints, close } = await open({ theme: 'light', width: 1280 }, true);
    for (const path of paths) await page.goto(path);
    expect(complaints).toEqual([]);
    await close();
  });

  test('would log on the console what a policy blocks', async () => {
    const server = createServer((_, response) => {
      response.setHeader('content-security-policy', "default-src 'none'").setHeader('content-type', 'text/html');
      response.end('<!doctype html><style>p { color: red }</style><p>Hello</p>');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { console } = await render(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, data.path);
      expect(console.join('\n')).toContain('Content Security Policy');
    } finally {
      server.close();
    }
  });

  test('finds an operation, and shows its code in the chosen language, without a script', async () => {
    const { page, close } = await open({ theme: 'light', width: 1280 }, true);
    await page.goto('/docs');
    await page.getByRole('searchbox').fill('rotate key');
    await page.keyboard.press('Enter');
    await page.locator('.results a').first().click();
    await page.waitForURL('**/docs/api-keys#rotateKey');
    const shown = page.locator('#rotateKey figure.code:visible');
    expect(await shown.first().innerText()).toContain('curl -sS -X POST');
    await page.getByRole('radio', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowRight');
    expect(await shown.first().innerText()).toContain('await outbox.apiKeys.rotate(');
    await page.getByText('Go', { exact: true }).first().click();
    expect(await shown.first().innerText()).toContain('http.NewRequest("POST"');
    await close();
  });

  const goTo = async (page: Page, path: string): Promise<void> => {
    await page.goto(path);
    await page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })");
  };

  test.each([390, 1280])('fits a width of %i pixels and breaks no word, with all details open', async (width) => {
    const { page, close } = await open({ theme: 'light', width });
    const faults: unknown[] = [];
    for (const path of paths) {
      await goTo(page, path);
      const [isTooWide, broken, height] = await page.evaluate<[boolean, string[], number]>(MEASURED);
      if (isTooWide || broken.length > 0 || height > HEIGHT_MAX) faults.push([path, isTooWide, broken, height]);
    }
    expect(faults).toEqual([]);
    await close();
  });

  // Every kind of part is on one of these pages; all pages take minutes.
  test.each(THEMES.flatMap((theme) => [390, 1280].map((width) => ({ theme, width }))))(
    'has no accessibility faults, $theme, $width pixels wide',
    async (size) => {
      const { page, close } = await open(size);
      for (const path of ['/docs', '/docs?q=message', '/docs/topics', '/docs/webhooks']) {
        await goTo(page, path);
        expect([path, (await inspect(page)).violations]).toEqual([path, []]);
      }
      await close();
    },
  );
});
