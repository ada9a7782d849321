import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiClient } from '../support/api-client.ts';
import { audit } from '../support/browser.ts';
import { chromiumIsMissing, render } from '../support/chromium.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

describe.skipIf(chromiumIsMissing)('the API reference in Chromium', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path });
  }, 60_000);
  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  test('shows every operation under its content security policy, with nothing blocked', async () => {
    const { body: document } = await apiClient(program.baseUrl, program.keys.live).get('/openapi.json');
    const operations = (Object.values(document.paths) as object[])
      .flatMap((path) => Object.values(path))
      .map(({ operationId }) => operationId);
    const answer = await fetch(`${program.baseUrl}/docs`);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");

    const { dom, console } = await render(`${program.baseUrl}/docs`, data.path);
    expect(console).toEqual([]);
    const ids = new Set([...dom.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    expect(operations.length).toBeGreaterThan(50);
    expect(operations.filter((id) => !ids.has(id))).toEqual([]);
    const links = [...dom.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.filter((id) => !ids.has(id))).toEqual([]);
  }, 120_000);

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
  }, 120_000);

  test.each([
    ['dark', 390],
    ['light', 1_400],
  ] as const)(
    'has no accessibility faults and fits the width, %s at %i pixels',
    async (theme, width) => {
      const page = await (await fetch(`${program.baseUrl}/docs`)).text();
      const [audited] = await audit([page], { theme, width });
      expect(audited).toMatchObject({ isDark: theme === 'dark', violations: [], isTooWide: false });
    },
    180_000,
  );
});
