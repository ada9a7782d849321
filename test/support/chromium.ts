import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import axe from 'axe-core';

export const CHROMIUM = '/usr/bin/chromium';
export const chromiumIsMissing = !existsSync(CHROMIUM);

export const HEADLESS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];

/** Of Chromium: `blink::mojom::PreferredColorScheme`. */
export const THEMES = { dark: 0, light: 1 } as const;
export type Theme = keyof typeof THEMES;

export interface Rendered {
  readonly dom: string;
  /** What the page, and the browser about it, wrote to its console. */
  readonly console: readonly string[];
}

/** What Chromium makes of a page. @param folder where it keeps its profile. */
export const render = async (url: string, folder: string, ...options: readonly string[]): Promise<Rendered> => {
  const { stdout, stderr } = await promisify(execFile)(
    CHROMIUM,
    [
      ...HEADLESS,
      '--enable-logging=stderr',
      `--user-data-dir=${join(folder, 'chromium')}`,
      '--virtual-time-budget=60000',
      ...options,
      '--dump-dom',
      url,
    ],
    { maxBuffer: 50_000_000, timeout: 90_000 },
  );
  return { dom: stdout, console: stderr.split('\n').filter((line) => /:CONSOLE[:(]/.test(line)) };
};

/** Loads each page in a frame, has axe look at it, and leaves what it found in the document. */
const HARNESS = `<!doctype html><title>Pages</title><pre id="found"></pre><script type="module">
const pages = [];
for (let index = 0; index < COUNT; index += 1) {
  const frame = document.createElement('iframe');
  frame.width = WIDTH;
  frame.height = 900;
  frame.src = '/page/' + index;
  await new Promise((resolve) => { frame.onload = resolve; document.body.append(frame); });
  const { axe, document: page } = frame.contentWindow;
  const { violations } = await axe.run(page);
  const told = violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => [id, html, failureSummary].join(' ')));
  const { scrollWidth, clientWidth } = page.documentElement;
  pages.push({ title: page.title, lang: page.documentElement.lang, violations: told, isTooWide: scrollWidth > clientWidth });
  frame.remove();
}
const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
document.querySelector('#found').textContent = 'FOUND' + btoa(unescape(encodeURIComponent(JSON.stringify({ isDark, pages })))) + 'END';
</script>`;

export interface Audited {
  readonly isDark: boolean;
  readonly pages: readonly {
    readonly title: string;
    readonly lang: string;
    readonly violations: readonly string[];
    /** It has to be scrolled sideways. */
    readonly isTooWide: boolean;
  }[];
}

/** What axe finds on these pages in a real browser, without their policy, which would keep it from running. */
export const audit = async (
  pages: readonly string[],
  { folder, theme, width = 900 }: { readonly folder: string; readonly theme: Theme; readonly width?: number },
): Promise<Audited> => {
  const server = createServer(({ url = '' }, response) => {
    const [, kind, index] = url.split('/');
    if (kind === 'axe.js') return response.setHeader('content-type', 'text/javascript').end(axe.source);
    const page = pages[Number(index)]?.replace('</body>', '<script src="/axe.js"></script></body>');
    const harness = HARNESS.replace('COUNT', String(pages.length)).replace('WIDTH', String(width));
    response.setHeader('content-type', 'text/html; charset=utf-8');
    return response.end(kind === 'page' ? page : harness);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    const { dom } = await render(url, folder, `--blink-settings=preferredColorScheme=${THEMES[theme]}`);
    const [, found = ''] = /FOUND([\w+/=]+)END/.exec(dom) ?? [];
    return JSON.parse(Buffer.from(found, 'base64').toString());
  } finally {
    server.close();
  }
};
