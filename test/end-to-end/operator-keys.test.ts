import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../support/api-client.ts';
import { operator } from '../support/operator.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

const UNKNOWN = `org_${'a'.repeat(26)}`;

describe('the operator of a running service', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let database: TestDatabase;
  let program: Program;
  let options: { dataDir: string; env: Record<string, string> };
  let organization: string;
  let domain: string;

  const run = (...words: readonly string[]) => operator(options, ...words);
  const own = (command: string, ...words: readonly string[]) =>
    run('keys', command, '--organization', organization, ...words);
  const statusOf = async (key: string, path = '/v1/api-keys'): Promise<number> =>
    (await fetch(program.baseUrl + path, { headers: { authorization: `Bearer ${key}` } })).status;

  beforeAll(async () => {
    data = await newDataDir();
    database = await freshDatabase();
    const env = { DATABASE_URL: database.url, SECRET_KEY: 'a secret key that is long enough for a test' };
    options = { dataDir: data.path, env };
    program = await startProgram(options);
    organization = (await run('organizations', 'create', '--name', 'Example')).organization_id;
    const made = await run('domains', 'create', '--organization', organization, '--name', 'operated.test');
    domain = made.domain_id;
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await database.drop();
    await data.remove();
  });

  const make = (...words: readonly string[]) => own('create', '--domain', domain, '--permissions', 'admin', ...words);

  test('gets links to the port that the service found free, like its API and its documents', async () => {
    const { port } = new URL(program.baseUrl);
    const person = ['--email', 'ada@example.net', '--role', 'analyst'];
    const { link } = await run('members', 'invite', '--organization', organization, ...person);
    const client = apiClient(program.baseUrl, program.keys.live);
    const invited = await client.post('/v1/members', { email: 'bob@example.net', role: 'analyst' });
    expect([new URL(link).port, new URL(invited.body.link.url).port]).toEqual([port, port]);
    expect((await client.get('/openapi.json')).body.servers[0].url).toBe(program.baseUrl);
    const first = /http\S+#ob_link_\w+/.exec(program.output())?.[0] ?? '';
    expect(new URL(first).port).toBe(port);
  });

  test('prints links for members who exist, and for the first owner', async () => {
    const person = ['--email', 'grace@example.net', '--role', 'owner'];
    const invited = await run('members', 'invite', '--organization', organization, ...person);
    const links = [
      await run('members', 'link', '--organization', organization, '--owner'),
      await run('members', 'link', '--organization', organization, '--member', invited.member_id),
    ];
    for (const { member_id, role, link } of links)
      expect([member_id, role, link]).toEqual([invited.member_id, 'owner', expect.stringMatching(/#ob_link_\w{49}$/)]);
    expect(new Set([invited, ...links].map(({ link }) => link)).size).toBe(3);
    for (const [words, sentence] of [
      [['--email', 'nobody'], /--email is not an email address/],
      [['--email', 'a@b.test', '--name', 'x'.repeat(101)], /--name must have at most 100 characters/],
      [['--email', 'a@b.test', '--name', ' '], /--name must not be blank/],
    ] as const)
      await expect(
        run('members', 'invite', '--organization', organization, '--role', 'owner', ...words),
      ).rejects.toThrow(sentence);
    await expect(run('members', 'link', '--organization', organization)).rejects.toThrow(
      /either --member MEMBER_ID or --owner/,
    );
    await expect(
      run('members', 'link', '--organization', organization, '--member', 'mbr_aaaaaaaaaaaaaaaaaaaaaaaaaa'),
    ).rejects.toThrow(/member not found/);
  });

  test('prints a link for the first owner as the sign-in page says, however many organizations there are', async () => {
    expect(await run('members', 'link', '--owner')).toMatchObject({
      name: 'First owner',
      role: 'owner',
      link: expect.stringMatching(/#ob_link_\w{49}$/),
    });
    await expect(run('members', 'link', '--member', 'mbr_aaaaaaaaaaaaaaaaaaaaaaaaaa')).rejects.toThrow(
      /--organization is required/,
    );
  });

  test('sets ceilings, which apply to keys at once, and removes them', async () => {
    const { key } = await make('--read', '5000');
    const limitOf = async (): Promise<string | null> =>
      (await apiClient(program.baseUrl, key).get('/v1/organization')).headers.get('ratelimit-limit');
    const set = ['organizations', 'set-ceilings', '--organization', organization];
    expect(await limitOf()).toBe('5000');
    expect(await run(...set, '--read', '700', '--send', '10')).toMatchObject({ ceilings: { read: 700, send: 10 } });
    await eventually(limitOf, (limit) => limit === '700');
    const [listed] = (await run('organizations', 'list')).filter(
      ({ organization_id }: { organization_id: string }) => organization_id === organization,
    );
    expect(listed.ceilings).toEqual({ read: 700, send: 10 });
    expect(await make('--send', '100')).toMatchObject({
      rate_limits: { send: 100, read: 1000, manage: 100 },
      effective_rate_limits: { send: 10, read: 700, manage: 100 },
    });
    expect((await own('list'))[0]).toMatchObject({
      rate_limits: { send: 100, read: 5000, manage: 100 },
      effective_rate_limits: { send: 10, read: 700, manage: 100 },
    });
    expect(await run(...set)).toMatchObject({ ceilings: null });
    await eventually(limitOf, (limit) => limit === '5000');
  });

  test('suspends an organization, which stops its mail, and resumes it', async () => {
    const { key } = await make();
    const api = apiClient(program.baseUrl, key);
    const message = { from: 'a@operated.test', to: 'b@example.org', subject: 'Hello', text: 'Hi' };
    const send = async () => (await api.post('/v1/messages/send', message)).status;
    const about = ['--organization', organization, '--reason'];
    const suspension = { since: expect.stringMatching(/Z$/), reason: 'It sent spam.' };
    expect(await run('organizations', 'suspend', ...about, 'It sent spam.')).toMatchObject({ suspension });
    await eventually(send, (status) => status === 403);
    expect((await api.get('/v1/organization')).body.suspension).toMatchObject(suspension);
    const listed: readonly { organization_id: string }[] = await run('organizations', 'list');
    expect(listed.find(({ organization_id }) => organization_id === organization)).toMatchObject({ suspension });
    const log = await api.get('/v1/audit/log?type=OrganizationSuspended&limit=1');
    expect(log.body.data).toMatchObject([
      { type: 'OrganizationSuspended', actor: { type: 'operator' }, data: { reason: 'It sent spam.' } },
    ]);
    expect(await run('organizations', 'resume', ...about, 'The list is clean.')).toMatchObject({ suspension: null });
    await eventually(send, (status) => status !== 403);
    expect((await api.get('/v1/organization')).body.suspension).toBeNull();
  });

  test('creates keys with networks and an expiry, changes them, and sees where they are used', async () => {
    const made = await make('--cidr', '127.0.0.0/8,::1', '--cidr', '192.0.2.1', '--expires-at', '2099-01-01');
    expect(made).toMatchObject({
      allowed_cidrs: ['127.0.0.0/8', '::1', '192.0.2.1'],
      expires_at: '2099-01-01T00:00:00.000Z',
      status: 'active',
    });
    expect(await statusOf(made.key)).toBe(200);
    const changed = await own('update', '--key', made.key_id, '--cidr', '192.0.2.0/24', '--expires-at', 'never');
    expect(changed).toMatchObject({ allowed_cidrs: ['192.0.2.0/24'], expires_at: null });
    await eventually(
      () => statusOf(made.key),
      (status) => status === 403,
    );
    await own('update', '--key', made.key_id, '--cidr', 'any', '--permissions', 'read', '--name', 'Reader');
    await eventually(
      () => statusOf(made.key, '/v1/messages'),
      (status) => status === 200,
    );
    await program.end('SIGTERM'); // the shutdown writes the last use of keys
    program = await startProgram(options);
    const listed = await own('list');
    expect(listed.find(({ key_id }: { key_id: string }) => key_id === made.key_id)).toMatchObject({
      name: 'Reader',
      status: 'active',
      permissions: ['read'],
      last_used_address: '127.0.0.1',
      last_used_at: expect.stringMatching(/Z$/),
    });
    expect(JSON.stringify(listed)).not.toContain(made.key.slice(8, 30));
  });

  test('revokes and deletes keys, even the last admin key, and can always create another', async () => {
    const listed: readonly { key_id: string }[] = await own('list');
    for (const { key_id } of listed) expect(await own('delete', '--key', key_id)).toMatchObject({ status: 'deleted' });
    expect(await own('list')).toEqual([]);
    const { key, key_id } = await make();
    expect(await statusOf(key)).toBe(200);
    expect(await own('revoke', '--key', key_id)).toMatchObject({ status: 'revoked' });
    expect((await own('list'))[0]).toMatchObject({ key_id, status: 'revoked' });
    expect((await make()).key).toMatch(/^ob_live_/);
  });

  test.each([
    [['keys', 'list', '--organization', UNKNOWN], /organization org_\w+ not found/],
    [['domains', 'list', '--organization', UNKNOWN], /organization org_\w+ not found/],
    [['organizations', 'set-ceilings', '--organization', UNKNOWN], /organization org_\w+ not found/],
    [['organizations', 'suspend', '--organization', UNKNOWN, '--reason', 'Spam.'], /organization org_\w+ not found/],
    [['organizations', 'suspend'], /--reason is required/],
    [['organizations', 'resume', '--reason', ''], /--reason is required/],
    [['organizations', 'suspend', '--reason', 'two\nlines'], /--reason must be one line of at most 500 characters/],
    [['organizations', 'suspend', '--reason', 'x'.repeat(501)], /--reason must be one line of at most 500 characters/],
    [['keys', 'delete', '--organization', UNKNOWN, '--key', `key_${'a'.repeat(26)}`], /organization org_\w+ not found/],
    [['keys', 'create', '--cidr', '10/8'], /--cidr: '10\/8' must be an address or a network/],
    [['keys', 'create', '--cidr', '10.1.2.3/8'], /--cidr: '10\.1\.2\.3\/8' .* use 10\.0\.0\.0\/8/],
    [['keys', 'create', '--expires-at', '2001-01-01'], /--expires-at must be a time in the future/],
    [['keys', 'create', '--name', 'two\nlines'], /--name must be/],
    [['keys', 'update', '--key', `key_${'a'.repeat(26)}`, '--name', 'x'], /API key not found/],
    [['keys', 'update', '--key', `key_${'a'.repeat(26)}`], /nothing to change: pass at least one option/],
  ])('gets a sentence that explains what is wrong with %j', async (words, sentence) => {
    const more = words.includes('--organization') ? [] : ['--organization', organization];
    const place = words[1] === 'create' ? ['--domain', domain, '--permissions', 'send'] : [];
    await expect(run(...words, ...more, ...place)).rejects.toThrow(sentence);
  });
});
