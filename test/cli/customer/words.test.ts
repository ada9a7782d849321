import { describe, expect, test } from 'vitest';
import { createOwnKeyCommand } from '../../../src/cli/customer/login.ts';
import { deleteKeyCommand, revokeKeyCommand } from '../../../src/cli/keys.ts';
import { outbox, startDouble, testTerminal, useCustomer } from './customer.ts';

/** Results as people read them. */

const customer = useCustomer();
const { now, env, run } = customer;

const said = async (...words: readonly string[]): Promise<string> => (await outbox(words, { env: env() })).stdout;

const LONG = `a-very-long-mailbox-name-that-no-window-shows-in-full-${'x'.repeat(10)}@${'long.'.repeat(10)}example.net`;

test('suppressions and webhooks answer in sentences', async () => {
  expect(await said('suppressions', 'check', 'ann@example.net')).toBe('ann@example.net is not suppressed\n');
  expect(await said('suppressions', 'add', 'ann@example.net')).toBe(
    'ann@example.net is suppressed for all mail (manual)\n',
  );
  expect(await said('suppressions', 'add', 'bob@example.net', '--scope', 'bulk')).toBe(
    'bob@example.net is suppressed for bulk mail (manual)\n',
  );
  expect(await said('suppressions', 'check', 'ann@example.net')).toMatch(
    /^ann@example\.net is suppressed for all mail: manual, since 20\S+Z\n$/,
  );
  expect(await said('suppressions', 'check', 'bob@example.net')).toMatch(
    /^bob@example\.net is suppressed for bulk mail/,
  );
  const both = 'address,reason\nann@example.net,bounce\n';
  await outbox(['suppressions', 'import', '--file', '-'], { env: env(), input: both });
  expect(await said('suppressions', 'check', 'ann@example.net')).toMatch(
    /^ann@example\.net is suppressed for all mail: manual, since 20\S+Z; bounce, since 20\S+Z\n$/,
  );
  expect(await said('suppressions', 'list', '--reason', 'bounce')).toContain('manual, bounce');
  expect(await said('suppressions', 'remove', 'ann@example.net')).toBe('ann@example.net is no longer suppressed\n');
  const csv = 'address\nann@example.net\nnobody\n';
  const imported = await outbox(['suppressions', 'import', '--file', '-'], { env: env(), input: csv });
  expect(imported.code).toBe(2);
  expect(imported.stdout).toBe(
    '1 added, 0 already suppressed, 1 rejected\n  line 3: address is not an email address\n',
  );
  const url = await startDouble((request, response) => {
    response.statusCode = request.method === 'DELETE' ? 204 : 202;
    response.setHeader('content-type', 'application/json');
    const pinged = { object: 'webhook_ping', webhook_id: 'whk_x', event_id: 'evt_x', delivery_id: 'dlv_x' };
    response.end(request.method === 'DELETE' ? undefined : JSON.stringify(pinged));
  });
  const double = { ...env(), OUTBOX_URL: url };
  expect((await outbox(['webhooks', 'ping', 'whk_x'], { env: double })).stdout).toBe(
    'A test event is on its way to whk_x (dlv_x). See how your endpoint answers: outbox webhooks show whk_x\n',
  );
  expect((await outbox(['webhooks', 'delete', 'whk_x'], { env: double })).stdout).toBe('webhook whk_x deleted\n');
});

test('a webhook is shown with its last deliveries and how they were answered', async () => {
  const at = '2026-11-29T01:00:00.000Z';
  const deliveries = [
    {
      created_at: at,
      status: 'failed',
      event_type: 'message.bounced',
      attempts: [{ status: 500, response: 'no\u001b[2J' }],
    },
    { created_at: at, status: 'pending', event_type: 'message.opened', attempts: [] },
    { created_at: at, status: 'failed', event_type: 'ping', attempts: [{ status: null, response: 'timed out' }] },
  ];
  let data: readonly object[] = deliveries;
  const asked: (string | undefined)[] = [];
  const url = await startDouble((request, response) => {
    asked.push(request.url);
    response.setHeader('content-type', 'application/json');
    const page = { object: 'list', data, has_more: false, next_cursor: null };
    response.end(JSON.stringify(request.url?.includes('/deliveries') ? page : { id: 'whk_x', status: 'enabled' }));
  });
  const shown = async (...words: readonly string[]): Promise<string> =>
    (await outbox(['webhooks', 'show', 'whk_x', ...words], { env: { ...env(), OUTBOX_URL: url } })).stdout;
  const text = await shown();
  expect(asked).toEqual(['/v1/webhooks/whk_x', '/v1/webhooks/whk_x/deliveries?limit=10']);
  expect(text).toMatch(/^id: whk_x\nstatus: enabled\n\nCREATED AT +STATUS +EVENT +ATTEMPTS +LAST RESPONSE\n/);
  expect(text).toMatch(/failed +message\.bounced +1 +500 no/);
  expect(text).not.toContain('\u001b');
  expect(text).toMatch(/pending +message\.opened +0 +-\n/);
  expect(text).toMatch(/failed +ping +1 +none timed out\n$/);
  expect(JSON.parse(await shown('--json')).deliveries).toEqual(deliveries);
  data = [];
  expect(await shown()).toMatch(/\n\nno deliveries yet\n$/);
});

test('keys, messages and webhooks answer in sentences when they change', async () => {
  const made = await run(createOwnKeyCommand, { name: 'Old shop', permissions: 'send', domain: now.domain });
  const { id } = made as unknown as { readonly id: string };
  expect(await said('keys', 'revoke', id)).toBe(`Key ${id} (Old shop) is revoked: requests with it are rejected\n`);
  const ended = { key_id: id, name: 'Old shop' };
  expect(revokeKeyCommand.textOf?.({ ...ended, status: 'revoked' })).toBe(
    `Key ${id} (Old shop) is revoked: requests with it are rejected`,
  );
  expect(deleteKeyCommand.textOf?.({ ...ended, status: 'deleted' })).toBe(
    `Key ${id} (Old shop) is deleted: requests with it are rejected`,
  );
  const whk = { id: 'whk_x', url: 'https://a.test/hook', events: ['message.*', 'domain.*'], secret: 'whsec_x' };
  const url = await startDouble((request, response) => {
    response.setHeader('content-type', 'application/json');
    const isCancelled = request.url?.includes('msg_a') === true;
    const message = { id: isCancelled ? 'msg_a' : 'msg_b', status: isCancelled ? 'cancelled' : 'sending' };
    response.end(JSON.stringify(request.url?.startsWith('/v1/webhooks') ? whk : message));
  });
  const answered = async (...words: readonly string[]): Promise<string> =>
    (await outbox(words, { env: { ...env(), OUTBOX_URL: url } })).stdout;
  expect(await answered('messages', 'cancel', 'msg_a')).toBe('Message msg_a is cancelled: it will not be sent\n');
  expect(await answered('messages', 'cancel', 'msg_b')).toBe('Message msg_b is sending\n');
  expect(await answered('webhooks', 'add', '--url', 'https://a.test/hook', '--events', 'message.*')).toBe(
    `Webhook whk_x is added: it posts message.*, domain.* to https://a.test/hook
Signing secret, which is not shown again: whsec_x
Send a test event: outbox webhooks ping whk_x
`,
  );
});

test('a list that is piped is never cut', async () => {
  expect(await said('suppressions', 'add', LONG)).toContain(LONG);
  expect(await said('suppressions', 'list')).toContain(` ${LONG}\n`);
  const name = 'n'.repeat(120);
  expect(await said('keys', 'create', '--name', name, '--permissions', 'send')).toContain(`domain: ${now.domain}\n`);
  expect(await said('keys', 'list')).toContain(` ${name}\n`);
  expect(await said('stats')).toMatch(/^accepted, by day/);
});

describe('a new key', () => {
  const values = { name: 'Shop', permissions: 'send' };

  test('belongs to the domain that is named, by name or id', async () => {
    const other = await customer.addDomain(`other.${now.domain}`);
    for (const domain of [`other.${now.domain}`, `OTHER.${now.domain}`, other])
      expect(await run(createOwnKeyCommand, { ...values, domain })).toMatchObject({ domain_id: other });
    const unknown = run(createOwnKeyCommand, { ...values, domain: 'nowhere.test\r\n' });
    await expect(unknown).rejects.toThrow('not found. List domains with `outbox domains list`');
  });

  test('asks for the domain if there are several, and fails without a person to ask', async () => {
    const other = await customer.addDomain(`other.${now.domain}`);
    const questions: string[] = [];
    const terminal = testTerminal({
      canAsk: true,
      ask: async (question) => {
        questions.push(question);
        return `other.${now.domain}`;
      },
    });
    expect(await run(createOwnKeyCommand, values, [], terminal)).toMatchObject({ domain_id: other });
    expect(questions).toEqual([expect.stringMatching(/^Domain \((?:other\.)?customer/)]);
    const words = ['keys', 'create', '--name', 'x', '--permissions', 'send'];
    const { code, stdout, stderr } = await outbox(words, { env: env() });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('choose a domain with --domain: ');
  });
});

test('help names the option for operators only where there are operator commands', async () => {
  expect((await outbox(['help', 'keys', 'revoke'])).stdout).toContain('(operators: add --organization)');
  expect((await outbox(['help', 'domains', 'list'])).stdout).toContain('(operators: add --all)');
  expect((await outbox(['help', 'suppressions', 'add'])).stdout).not.toContain('operators');
});
