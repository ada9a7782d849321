import { Client } from 'pg';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient, eventually } from '../support/api-client.ts';
import { audit, THEMES } from '../support/browser.ts';
import { readInbox } from '../support/captured-mail.ts';
import { chromiumIsMissing, render } from '../support/chromium.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

const LANGUAGES = ['en', 'de', 'fr', 'es', 'ja'];
/** A page with a violation, to prove that axe runs. */
const FAULTY = '<!doctype html><html><body><img src="/none"></body></html>';

const HTML = `<h1>Sale</h1><p><a href="{{ view_url }}">View in browser</a></p>
<script>document.querySelector('h1').innerHTML = '<b>ran</b>'</script>`;

describe('pages for recipients', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let api: ApiClient;
  let token: string;
  let database: TestDatabase;
  /** `/view/{token}` */
  let viewPath: string;

  const pageOf = async (path: string, language: string, form?: string): Promise<string> => {
    const post = form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) };
    const answer = await fetch(`${program.baseUrl}${path}`, { headers: { 'accept-language': language }, ...post });
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    return answer.text();
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
    const [{ raw }] = await readInbox(api);
    token = /\/unsubscribe\/([\w-]+)/.exec(raw)?.[1] ?? '';
    const { html = '', text = '' } = await PostalMime.parse(raw);
    viewPath = /<a href="[^"]*(\/view\/[\w-]{64})"/.exec(html)?.[1] ?? '';
    expect(text).toContain(program.baseUrl + viewPath);
  });

  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
    await database.drop();
  });

  test.skipIf(chromiumIsMissing)('show a mail unchanged, and run none of its scripts', async () => {
    const { dom } = await render(`${program.baseUrl}${viewPath}`, data.path);
    expect(dom).toContain('<h1>Sale</h1>'); // its script would change the heading
    expect(dom).toContain(`${viewPath}">View in browser</a>`);
  });

  test.skipIf(chromiumIsMissing).each(THEMES)(
    'have no accessibility faults in any language, %s',
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
      const all = await audit([...pages, FAULTY], { theme });
      const [faulty, checked] = [all.at(-1), all.slice(0, -1)];
      expect(faulty?.violations).not.toEqual([]);
      expect(new Set(all.map(({ isDark }) => isDark))).toEqual(new Set([theme === 'dark']));
      expect(checked.map(({ lang }) => lang)).toEqual(LANGUAGES.flatMap((each) => Array(6).fill(each)));
      expect(checked.flatMap(({ title, violations }) => violations.map((each) => `${title}: ${each}`))).toEqual([]);
      expect(new Set(checked.map(({ title }) => title)).size).toBeGreaterThanOrEqual(20);
    },
    180_000,
  );
});
