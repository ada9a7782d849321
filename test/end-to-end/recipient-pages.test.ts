import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

const CHROMIUM = '/usr/bin/chromium';
const LANGUAGES = ['en', 'de', 'fr', 'es', 'ja'];
/** Of Chromium: `blink::mojom::PreferredColorScheme`. */
const THEMES = { dark: 0, light: 1 } as const;

/** So that it shows when axe does not look. */
const FAULTY = '<!doctype html><html><body><img src="/none"></body></html>';

interface Checked {
  readonly isDark: boolean;
  readonly pages: readonly { readonly title: string; readonly lang: string; readonly violations: readonly string[] }[];
}

/** Loads each page in a frame, has axe look at it, and leaves what it found in the document. */
const HARNESS = `<!doctype html><title>Pages</title><pre id="found"></pre><script type="module">
const pages = [];
for (let index = 0; index < COUNT; index += 1) {
  const frame = document.createElement('iframe');
  frame.width = 900;
  frame.height = 900;
  frame.src = '/page/' + index;
  await new Promise((resolve) => { frame.onload = resolve; document.body.append(frame); });
  const { axe, document: page } = frame.contentWindow;
  const { violations } = await axe.run(page);
  const told = violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => [id, html, failureSummary].join(' ')));
  pages.push({ title: page.title, lang: page.documentElement.lang, violations: told });
  frame.remove();
}
const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
document.querySelector('#found').textContent = 'FOUND' + btoa(unescape(encodeURIComponent(JSON.stringify({ isDark, pages })))) + 'END';
</script>`;

describe('pages for recipients', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let api: ApiClient;
  let token: string;

  const pageOf = async (path: string, language: string, form?: string): Promise<string> => {
    const post = form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) };
    const answer = await fetch(`${program.baseUrl}${path}`, { headers: { 'accept-language': language }, ...post });
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    return answer.text();
  };

  /** What axe finds on these pages in a real browser. Their own policy would keep it from running. */
  const check = async (pages: readonly string[], theme: keyof typeof THEMES): Promise<Checked> => {
    const server = createServer(({ url = '' }, response) => {
      const [, kind, index] = url.split('/');
      if (kind === 'axe.js') return response.setHeader('content-type', 'text/javascript').end(axe.source);
      const page = pages[Number(index)]?.replace('</body>', '<script src="/axe.js"></script></body>');
      response.setHeader('content-type', 'text/html; charset=utf-8');
      return response.end(kind === 'page' ? page : HARNESS.replace('COUNT', String(pages.length)));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    try {
      const { stdout } = await promisify(execFile)(
        CHROMIUM,
        [
          '--headless',
          '--no-sandbox',
          '--disable-gpu',
          '--disable-dev-shm-usage',
          `--user-data-dir=${data.path}/chromium-${theme}`,
          `--blink-settings=preferredColorScheme=${THEMES[theme]}`,
          '--virtual-time-budget=60000',
          '--dump-dom',
          url,
        ],
        { maxBuffer: 10_000_000, timeout: 90_000 },
      );
      const [, found = ''] = /FOUND([\w+/=]+)END/.exec(stdout) ?? [];
      return JSON.parse(Buffer.from(found, 'base64').toString());
    } finally {
      server.close();
    }
  };

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path });
    api = apiClient(program.baseUrl, program.keys.live);
    const domainId = (await api.get('/v1/domains')).body.data[0].id;
    await api.patch(`/v1/domains/${domainId}`, {
      branding: { name: 'Shop & Söhne', color: '#ffd400', logo_url: null },
    });
    const offers = { name: 'Offers', description: 'What is new, once a week.', default: 'in' };
    const { id: topic } = (await api.post('/v1/topics', offers)).body;
    await api.post('/v1/topics', { name: 'Invitations', default: 'out' });
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Sale', text: 'Sale', topic };
    const { id } = (await api.post('/v1/messages/send', mail)).body;
    await eventually(
      () => api.get(`/v1/messages/${id}`),
      ({ body }) => body.status === 'delivered',
    );
    const { raw } = (await api.get('/v1/inbox')).body.data[0];
    token = /\/unsubscribe\/([\w-]+)/.exec(raw)?.[1] ?? '';
  }, 60_000);

  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  test.skipIf(!existsSync(CHROMIUM)).each(Object.keys(THEMES) as (keyof typeof THEMES)[])(
    'have nothing that axe finds fault with, in every language, %s',
    async (theme) => {
      const pages: string[] = [];
      for (const language of LANGUAGES) {
        pages.push(
          await pageOf(`/unsubscribe/${token}`, language),
          await pageOf(`/unsubscribe/${token}`, language, 'confirmed=yes'),
          await pageOf(`/preferences/${token}`, language),
          await pageOf(`/unsubscribe/${token}`, language, 'confirmed=again'),
          await pageOf('/unsubscribe/unknown', language),
        );
      }
      const { isDark, pages: all } = await check([...pages, FAULTY], theme);
      const [faulty, checked] = [all.at(-1), all.slice(0, -1)];
      expect(faulty?.violations).not.toEqual([]);
      expect(isDark).toBe(theme === 'dark');
      expect(checked.map(({ lang }) => lang)).toEqual(LANGUAGES.flatMap((each) => Array(5).fill(each)));
      expect(checked.flatMap(({ title, violations }) => violations.map((each) => `${title}: ${each}`))).toEqual([]);
      expect(new Set(checked.map(({ title }) => title)).size).toBeGreaterThanOrEqual(15);
    },
    180_000,
  );
});
