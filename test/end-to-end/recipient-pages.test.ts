import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import axe from 'axe-core';
import { Client } from 'pg';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

const CHROMIUM = '/usr/bin/chromium';
const LANGUAGES = ['en', 'de', 'fr', 'es', 'ja'];
/** Of Chromium: `blink::mojom::PreferredColorScheme`. */
const THEMES = { dark: 0, light: 1 } as const;

/** So that it shows when axe does not look. */
const FAULTY = '<!doctype html><html><body><img src="/none"></body></html>';

const HTML = `<h1>Sale</h1><p><a href="{{ view_url }}">View in browser</a></p>
<script>document.querySelector('h1').innerHTML = '<b>ran</b>'</script>`;

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
  let database: TestDatabase;
  /** `/view/{token}` */
  let viewPath: string;

  /** What Chromium makes of a page. */
  const domOf = async (url: string, ...options: readonly string[]): Promise<string> => {
    const headless = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
    const { stdout } = await promisify(execFile)(
      CHROMIUM,
      [...headless, ...options, '--virtual-time-budget=60000', '--dump-dom', url],
      { maxBuffer: 10_000_000, timeout: 90_000 },
    );
    return stdout;
  };

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
      const stdout = await domOf(
        url,
        `--user-data-dir=${data.path}/chromium-${theme}`,
        `--blink-settings=preferredColorScheme=${THEMES[theme]}`,
      );
      const [, found = ''] = /FOUND([\w+/=]+)END/.exec(stdout) ?? [];
      return JSON.parse(Buffer.from(found, 'base64').toString());
    } finally {
      server.close();
    }
  };

  beforeAll(async () => {
    data = await newDataDir();
    database = await freshDatabase();
    const env = { DATABASE_URL: database.url, SECRET_KEY: 'a secret key that is long enough for a test' };
    program = await startProgram({ dataDir: data.path, env });
    api = apiClient(program.baseUrl, program.keys.live);
    const domainId = (await api.get('/v1/domains')).body.data[0].id;
    await api.patch(`/v1/domains/${domainId}`, {
      branding: { name: 'Shop & Söhne', color: '#ffd400', logo_url: null },
    });
    const offers = { name: 'Offers', description: 'What is new, once a week.', default: 'in' };
    const { id: topic } = (await api.post('/v1/topics', offers)).body;
    await api.post('/v1/topics', { name: 'Invitations', default: 'out' });
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Sale', html: HTML, topic };
    const { id } = (await api.post('/v1/messages/send', mail)).body;
    await eventually(
      () => api.get(`/v1/messages/${id}`),
      ({ body }) => body.status === 'delivered',
    );
    const { raw } = (await api.get('/v1/inbox')).body.data[0];
    token = /\/unsubscribe\/([\w-]+)/.exec(raw)?.[1] ?? '';
    const { html = '', text = '' } = await PostalMime.parse(raw);
    viewPath = /<a href="[^"]*(\/view\/[\w-]{64})"/.exec(html)?.[1] ?? '';
    expect(text).toContain(program.baseUrl + viewPath);
  }, 60_000);

  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
    await database.drop();
  });

  test.skipIf(!existsSync(CHROMIUM))('show a mail as it is, and run none of its scripts', async () => {
    const dom = await domOf(`${program.baseUrl}${viewPath}`, `--user-data-dir=${data.path}/chromium-view`);
    expect(dom).toContain('<h1>Sale</h1>'); // its script would change that
    expect(dom).toContain(`${viewPath}">View in browser</a>`);
  });

  test.skipIf(!existsSync(CHROMIUM)).each(Object.keys(THEMES) as (keyof typeof THEMES)[])(
    'have nothing that axe finds fault with, in every language, %s',
    async (theme) => {
      const pages: string[] = [];
      const client = new Client({ connectionString: database.url });
      await client.connect();
      await client.query(
        `update vault.contents set kind = 'expired', head = null, body = '{"kind":"expired","at":"2026-01-01T00:00:00.000Z"}'
         where kind = 'message'`,
      );
      await client.end();
      for (const language of LANGUAGES) {
        pages.push(
          await pageOf(`/unsubscribe/${token}`, language),
          await pageOf(`/unsubscribe/${token}`, language, 'confirmed=yes'),
          await pageOf(`/preferences/${token}`, language),
          await pageOf(`/unsubscribe/${token}`, language, 'confirmed=again'),
          await pageOf('/unsubscribe/unknown', language),
          await pageOf(viewPath, language),
        );
      }
      const { isDark, pages: all } = await check([...pages, FAULTY], theme);
      const [faulty, checked] = [all.at(-1), all.slice(0, -1)];
      expect(faulty?.violations).not.toEqual([]);
      expect(isDark).toBe(theme === 'dark');
      expect(checked.map(({ lang }) => lang)).toEqual(LANGUAGES.flatMap((each) => Array(6).fill(each)));
      expect(checked.flatMap(({ title, violations }) => violations.map((each) => `${title}: ${each}`))).toEqual([]);
      expect(new Set(checked.map(({ title }) => title)).size).toBeGreaterThanOrEqual(20);
    },
    180_000,
  );
});
