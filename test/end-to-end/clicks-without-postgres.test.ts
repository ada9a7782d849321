import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterEach, expect, test } from 'vitest';
import { apiClient, eventually } from '../support/api-client.ts';
import { readInbox } from '../support/captured-mail.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { killServer, open, temporaryFolder } from './embedded-support.ts';

const SECRET_KEY = 'a secret key that is long enough for a test';
const TARGET = 'https://shop.test/sale?a=1#top';

let program: Program | undefined;
afterEach(() => program?.end('SIGKILL'));

test('tracked links still work while PostgreSQL is stopped, and invalid links still do not', async () => {
  const home = await temporaryFolder();
  const database = await open({ dataDir: home });
  const data = await newDataDir();
  program = await startProgram({ dataDir: data.path, env: { DATABASE_URL: database.url, SECRET_KEY } });
  const api = apiClient(program.baseUrl, program.keys.live);
  const { id } = (
    await api.post('/v1/messages/send', {
      ...{ from: 'shop@example.test', to: 'ann@example.net', subject: 'Sale' },
      html: `<a href="${TARGET}">Sale</a>`,
      tracking: { opens: true, clicks: true },
    })
  ).body;
  await eventually(
    () => api.get(`/v1/messages/${id}`),
    ({ body }) => body.status === 'delivered',
  );
  const { html = '' } = await PostalMime.parse((await readInbox(api))[0].raw);
  const [link = ''] = /http[^"]+\/c\/[^"]+/.exec(html) ?? [];
  const [pixel = ''] = /http[^"]+\/o\/[^"]+/.exec(html) ?? [];

  await killServer(join(home, 'postgresql'));
  await eventually(
    () => fetch(`${program?.baseUrl}/readyz`),
    ({ status }) => status === 503,
    20_000,
  );
  for (let click = 0; click < 20; click += 1) {
    const answer = await fetch(link, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, TARGET]);
  }
  const image = await fetch(pixel);
  expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/gif']);
  const elsewhere = link.replace(encodeURIComponent('shop.test'), 'evil.test');
  expect(elsewhere).not.toBe(link);
  expect((await fetch(elsewhere, { redirect: 'manual' })).status).toBe(404);
  await data.remove();
});
