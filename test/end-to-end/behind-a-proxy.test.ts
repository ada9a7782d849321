import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { type RequestOptions, request as requestOverTls } from 'node:https';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { issueCertificate } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { folderForTest, placeForTest, programForTest } from '../support/place-for-test.ts';

const HOST = 'outbox.example.com';
/** Another address of this machine than the proxy's, so that the service can tell the client from the proxy. */
const CLIENT = '127.0.0.5';
/** Base64 makes a third more of it, almost the largest request that the service accepts. */
const ATTACHMENT_BYTES = 18_000_000;

interface Place {
  readonly folder: string;
  readonly servicePort: string;
  readonly port: number;
  readonly plainPort: number;
}

interface Proxy {
  readonly name: string;
  readonly program: string;
  /** Arguments, and the configuration of the page with the ports and certificate of the test. */
  start(block: string, place: Place): Promise<readonly string[]>;
}

const nginx: Proxy = {
  name: 'nginx',
  program: '/usr/sbin/nginx',
  start: async (block, { folder, servicePort, port, plainPort }) => {
    const server = block
      .replace('listen 80;', `listen 127.0.0.1:${plainPort};`)
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`)
      .replace('127.0.0.1:3000', `127.0.0.1:${servicePort}`)
      .replace(/\S+fullchain\.pem/, join(folder, 'cert.pem'))
      .replace(/\S+privkey\.pem/, join(folder, 'key.pem'));
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${join(folder, name)};`)
      .join('\n');
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    const head = `daemon off; ${user} pid ${join(folder, 'pid')}; error_log stderr; events {}`;
    await writeFile(join(folder, 'nginx.conf'), `${head}\nhttp {\naccess_log off;\n${temporary}\n${server}\n}\n`);
    return ['-c', join(folder, 'nginx.conf'), '-p', folder];
  },
};

const caddy: Proxy = {
  name: 'caddy',
  program: '/usr/bin/caddy',
  start: async (block, { folder, servicePort, port }) => {
    const site = block
      .replace(`${HOST} {`, `https://${HOST}:${port} {\n\ttls ${join(folder, 'cert.pem')} ${join(folder, 'key.pem')}`)
      .replace('127.0.0.1:3000', `127.0.0.1:${servicePort}`);
    const options = '{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}\n';
    await writeFile(join(folder, 'Caddyfile'), `${options}${site}`);
    return ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
  },
};

const blockOf = async (language: string): Promise<string> => {
  const page = await readFile(new URL('../../docs/behind-a-proxy.md', import.meta.url), 'utf8');
  return page.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '';
};

const run = (program: string, options: readonly string[], folder: string): ChildProcess => {
  const child = spawn(program, options, {
    stdio: 'ignore',
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  onTestFinished(() => {
    child.kill();
  });
  return child;
};

describe.each([nginx, caddy])('the configuration of $name in docs/behind-a-proxy.md', (proxy) => {
  test.skipIf(!existsSync(proxy.program))(
    'carries large messages, event streams and the address of the client',
    async () => {
      const [servicePort, port, plainPort] = [String(await freePort()), await freePort(), await freePort()];
      const variables = { PORT: servicePort, PUBLIC_URL: `https://${HOST}`, TRUSTED_PROXIES: '127.0.0.1' };
      const program = await programForTest(await placeForTest(variables));
      const folder = await folderForTest();
      const { certificate, key } = issueCertificate({ names: [HOST] });
      await writeFile(join(folder, 'cert.pem'), certificate);
      await writeFile(join(folder, 'key.pem'), key);
      const options = await proxy.start(await blockOf(proxy.name), { folder, servicePort, port, plainPort });
      run(proxy.program, options, folder);

      const open = (method: string, path: string, more: RequestOptions = {}, body = ''): Promise<IncomingMessage> =>
        new Promise((resolve, reject) => {
          const headers = {
            host: HOST,
            authorization: `Bearer ${program.keys.live}`,
            'x-forwarded-for': '203.0.113.9', // a client that claims another address
            ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
            ...more.headers,
          };
          const where = { host: '127.0.0.1', port, servername: HOST, ca: certificate, localAddress: CLIENT };
          requestOverTls({ ...where, ...more, method, path, headers, agent: false }, resolve)
            .on('error', reject)
            .end(body);
        });
      const ask = async (method: string, path: string, body?: object) => {
        const answer = await open(method, path, {}, body === undefined ? '' : JSON.stringify(body));
        const text = Buffer.concat(await answer.toArray()).toString();
        return { status: answer.statusCode, body: JSON.parse(text) };
      };
      await vi.waitFor(() => open('GET', '/readyz').then((answer) => answer.resume()), 20_000);

      const stream = await open('GET', '/v1/events', { headers: { accept: 'text/event-stream' } });
      expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
      const seen = (async () => {
        for await (const chunk of stream) if (String(chunk).includes('message.accepted')) return true;
        return false;
      })();
      const content = Buffer.alloc(ATTACHMENT_BYTES, 'an attachment ').toString('base64');
      const sent = await ask('POST', '/v1/messages/send', {
        from: 'hello@example.test',
        to: 'you@example.net',
        subject: 'Large',
        text: 'See the attachment.',
        attachments: [{ filename: 'large.txt', content_type: 'text/plain', content }],
      });
      expect(sent).toMatchObject({ status: 202 });
      expect(await seen).toBe(true);

      const { id } = (await ask('GET', '/v1/domains')).body.data[0];
      const created = await ask('POST', '/v1/api-keys', { name: 'shop', domain_id: id, permissions: ['send'] });
      const entry = await vi.waitFor(async () => {
        const { body } = await ask('GET', `/v1/audit/log?key_id=${created.body.id}`);
        expect(body.data).toHaveLength(1);
        return body.data[0];
      }, 20_000);
      expect(entry).toMatchObject({ type: 'KeyCreated', address: CLIENT });
    },
  );
});

test.skipIf(!existsSync(nginx.program))('the configuration of nginx leads plain HTTP to HTTPS', async () => {
  const folder = await folderForTest();
  const { certificate, key } = issueCertificate({ names: [HOST] });
  await writeFile(join(folder, 'cert.pem'), certificate);
  await writeFile(join(folder, 'key.pem'), key);
  const [port, plainPort] = [await freePort(), await freePort()];
  run(nginx.program, await nginx.start(await blockOf('nginx'), { folder, servicePort: '9', port, plainPort }), folder);
  const answer = await vi.waitFor(
    () => fetch(`http://127.0.0.1:${plainPort}/docs?a=b`, { headers: { host: HOST }, redirect: 'manual' }),
    20_000,
  );
  expect(answer.status).toBe(301);
  expect(answer.headers.get('location')).toMatch(/^https:\/\/[^/]+\/docs\?a=b$/);
});

// Traefik is not in Debian, so its configuration is read and not run.
test('the configuration of Traefik names only parts that it has, and the address of the service', async () => {
  const { routers, services, serversTransports } = parse(await blockOf('yaml')).http;
  expect(Object.keys(services)).toContain(routers.outbox.service);
  const { servers, serversTransport } = services[routers.outbox.service].loadBalancer;
  expect(Object.keys(serversTransports)).toContain(serversTransport);
  expect(servers).toEqual([{ url: 'http://127.0.0.1:3000' }]);
  expect(routers.outbox.rule).toBe(`Host(\`${HOST}\`)`);
});
