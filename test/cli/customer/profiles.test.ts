import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configFolder, outbox, startDouble, useCustomer } from './customer.ts';

const customer = useCustomer();
const { now } = customer;

const signIn = async (more: readonly string[] = []) => {
  const config = await configFolder();
  const env = { XDG_CONFIG_HOME: config };
  const ran = await outbox(['login', '--url', now.url, '--stdin', ...more], { env, input: `${now.key}\n` });
  return { ran, env, file: join(config, 'outbox', 'default.json') };
};

describe('outbox login', () => {
  test('stores the key in a file that only its owner can read, and never shows it', async () => {
    const { ran, env, file } = await signIn();
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('permissions: admin') });
    expect(ran.stdout + ran.stderr).not.toContain(now.key);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(file, '..'))).mode & 0o777).toBe(0o700);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ url: now.url, key: now.key });
    expect(await outbox(['whoami', '--json'], { env })).toMatchObject({ code: 0, stderr: '' });
    expect(await outbox(['logout', '--json'], { env })).toMatchObject({
      stdout: '{"profile":"default","removed":true}\n',
    });
    expect(await outbox(['whoami'], { env })).toMatchObject({
      code: 4,
      stderr: 'not signed in (profile default): sign in with `outbox login`, or set OUTBOX_URL and OUTBOX_API_KEY\n',
    });
  });

  test('recognizes a key that may only send', async () => {
    const env = { XDG_CONFIG_HOME: await configFolder() };
    const { value, id } = await customer.keyFor({ permissions: ['send'] });
    const ran = await outbox(['login', '--url', now.url, '--stdin'], { env, input: value });
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^permissions: send\nenvironment: live$/m) });
    expect(ran.stdout).toContain(`as: key ${id}\n`);
  });

  test('stores nothing if the service rejects the key', async () => {
    const config = await configFolder();
    const ran = await outbox(['login', '--url', now.url, '--stdin'], {
      env: { XDG_CONFIG_HOME: config },
      input: `ob_live_${'x'.repeat(49)}`,
    });
    expect(ran).toMatchObject({ code: 4, stdout: '' });
    await expect(stat(join(config, 'outbox'))).rejects.toThrow('ENOENT');
  });

  test.each([
    [[], '', /^cannot prompt without a terminal: pass --url$/m],
    [['--url', 'http://127.0.0.1:9'], '', /^cannot prompt without a terminal: pipe it in with --stdin$/m],
    [['--url', 'ftp://example.net', '--stdin'], 'x', /^--url must be an http or https URL$/m],
    [['--url', 'http://u:p@127.0.0.1', '--stdin'], 'x', /^--url must not contain a user/m],
    [['--url', 'http://127.0.0.1:9', '--stdin'], ' \n', /^standard input is empty$/m],
    [['--url', 'http://127.0.0.1:9', '--stdin'], 'two words', /^expected one word without spaces$/m],
    [['--url', 'http://127.0.0.1:9', '--stdin'], 'sk_live_x', /^an API key begins with ob_live_ or ob_test_$/m],
    [['--url', 'http://127.0.0.1:9', '--profile', '../x', '--stdin'], 'x', /^a profile name must have/m],
  ])('%j does not prompt without a terminal, and says what is wrong', async (words, input, sentence) => {
    const env = { XDG_CONFIG_HOME: await configFolder() };
    expect(await outbox(['login', ...words], { env, input })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(sentence),
    });
  });
});

describe('a key that may only manage', () => {
  test('creates another key for its own domain, and rotates itself', async () => {
    const { value, id } = await customer.keyFor({ permissions: ['manage'] });
    const env = { OUTBOX_URL: now.url, OUTBOX_API_KEY: value };
    const made = await outbox(['keys', 'create', '--name', 'shop', '--permissions', 'send', '--json'], { env });
    expect(JSON.parse(made.stdout)).toMatchObject({ domain_id: now.domainId, permissions: ['send'] });
    const config = { XDG_CONFIG_HOME: await configFolder() };
    await outbox(['login', '--url', now.url, '--stdin'], { env: config, input: value });
    const rotated = await outbox(['keys', 'rotate', id], { env: config });
    expect(rotated).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('profile default now has the new secret'),
    });
  });
});

describe('a profile', () => {
  test('that others can read is rejected with advice', async () => {
    const { env, file } = await signIn();
    await chmod(file, 0o640);
    const refused = await outbox(['whoami'], { env });
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining(`run \`chmod 600 ${file}\``) });
    expect(refused.stderr).not.toContain(now.key);
  });

  test('that is a link, or not a regular file, is not read', async () => {
    const config = await configFolder();
    const env = { XDG_CONFIG_HOME: config };
    const file = join(config, 'outbox', 'default.json');
    await mkdir(join(config, 'outbox'));
    await symlink('/etc/hostname', file);
    expect((await outbox(['whoami'], { env })).stderr).toBe(`${file} is a symbolic link\n`);
    for (const text of ['{', '{"url":"file:///etc/passwd","key":"x"}', 'x'.repeat(20_000)]) {
      const other = join(config, 'outbox', 'other.json');
      await writeFile(other, text, { mode: 0o600 });
      expect((await outbox(['whoami', '--profile', 'other'], { env })).stderr).toContain(
        'is damaged: sign in again with `outbox login`',
      );
    }
  });

  test('never sends its key to another service', async () => {
    const { env } = await signIn();
    const asked: (string | undefined)[] = [];
    const url = await startDouble((request, response) => {
      asked.push(request.headers.authorization);
      response.end('{}');
    });
    expect(await outbox(['whoami'], { env: { ...env, OUTBOX_URL: url } })).toMatchObject({
      code: 4,
      stderr: 'OUTBOX_API_KEY is not set\n',
    });
    expect(asked).toEqual([]);
    expect(await outbox(['whoami', '--json'], { env: { ...env, OUTBOX_URL: now.url } })).toMatchObject({ code: 0 });
  });

  test('yields to the environment, unless it is selected by name', async () => {
    const { env } = await signIn();
    const { value } = await customer.keyFor({ permissions: ['read'] });
    const both = { ...env, OUTBOX_URL: now.url, OUTBOX_API_KEY: value };
    expect((await outbox(['whoami'], { env: both })).stdout).toContain('permissions: read');
    expect((await outbox(['whoami', '--profile', 'default'], { env: both })).stdout).toContain('permissions: admin');
  });

  test('follows a rotation of its own key', async () => {
    const { env, file } = await signIn();
    const id = /key_[a-z2-7]+/.exec((await outbox(['whoami'], { env })).stdout)?.[0] ?? '';
    const rotated = await outbox(['keys', 'rotate', id, '--grace-minutes', '0'], { env });
    expect(rotated).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('profile default now has the new secret'),
    });
    expect(rotated.stdout).toMatch(/^The old secret works until \d{4}-.*\.$/m);
    const [value] = /ob_live_\w+/.exec(rotated.stdout) ?? [];
    expect(JSON.parse(await readFile(file, 'utf8')).key).toBe(value);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await outbox(['whoami'], { env })).code).toBe(0);
  });
});

describe('keys list', () => {
  test('lists your own keys if you are signed in, and is the command of operators with --all or without a profile', async () => {
    const { env } = await signIn();
    const own = await outbox(['keys', 'list', '--json'], { env });
    expect(own).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(own.stdout)).toEqual([expect.objectContaining({ object: 'api_key', domain_id: now.domainId })]);
    const nowhere = { ...env, DATA_DIR: '/nonexistent/data' };
    for (const ran of [
      await outbox(['keys', 'list', '--all'], { env: nowhere }),
      await outbox(['keys', 'list'], { env: { ...nowhere, XDG_CONFIG_HOME: '/nonexistent' } }),
    ])
      expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('no Outbox data in /nonexistent/data') });
  });
});
