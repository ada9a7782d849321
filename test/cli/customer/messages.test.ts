import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createOwnKeyCommand, rotateOwnKeyCommand } from '../../../src/cli/customer/login.ts';
import {
  explainMessageCommand,
  listMessagesCommand,
  resendMessageCommand,
  sendCommand,
  showMessageCommand,
} from '../../../src/cli/customer/messages.ts';
import { statsCommand } from '../../../src/cli/customer/stats.ts';
import { configFolder, outbox, startDouble, testTerminal, useCustomer } from './customer.ts';

const customer = useCustomer();
const { now, env, run } = customer;

describe('outbox send', () => {
  test('reads the text from standard input, and says what happens next', async () => {
    const words = ['send', '--from', `shop@${now.domain}`, '--to', 'ann@example.net', '--subject', 'Hi', '--text', '-'];
    const ran = await outbox(words, { env: env(), input: 'Héllo\n' });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toMatch(/^id: msg_[a-z2-7]{26}\nstatus: accepted\nnext: (?:Delivered|Waiting|Being sent)/);
    const [sent] = await customer.messages();
    expect(sent).toMatchObject({ subject: 'Hi', recipients: [{ address: 'ann@example.net' }] });
  });

  test('accepts files, several recipients, tags and attachments, and sends once per idempotency key', async () => {
    const folder = await configFolder();
    await writeFile(join(folder, 'mail.html'), '<p>Hello</p>');
    await writeFile(join(folder, 'report.csv'), 'a,b');
    const values = {
      from: `shop@${now.domain}`,
      to: ['ann@example.net', 'Bob <bob@example.net>'],
      subject: 'Report',
      html: join(folder, 'mail.html'),
      attach: [join(folder, 'report.csv')],
      tag: ['order:1:2'],
      'idempotency-key': 'once',
    };
    const first = await run(sendCommand, values);
    expect(await run(sendCommand, values)).toEqual(first);
    expect(await customer.messages()).toMatchObject([{ tags: [{ name: 'order', value: '1:2' }] }]);
  });

  test('accepts input from a shell pipe, up to the same size', async () => {
    const pipe = join(await configFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const values = { from: `shop@${now.domain}`, to: ['ann@example.net'], subject: 'Piped', text: pipe };
    const [sent] = await Promise.all([run(sendCommand, values), writeFile(pipe, 'Hello')]);
    expect(sent).toMatchObject({ status: 'accepted' });
    const tooMuch = writeFile(pipe, Buffer.alloc(41_000_000, 'x')).catch(({ code }) => code);
    await expect(run(sendCommand, values)).rejects.toThrow(`${pipe} is larger than 40000000 bytes`);
    expect(await tooMuch).toBe('EPIPE');
  });

  test.each([
    [{ text: '/nonexistent/text' }, '/nonexistent/text cannot be read (ENOENT)'],
    [{ text: '/dev/zero' }, '/dev/zero is not a file'],
    [{ body: '-', text: '-' }, 'only one of --body, --text can be -'],
    [{ tag: ['order'] }, '--tag order: expected name:value'],
  ])('rejects %j before anything is sent', async (values, sentence) => {
    await expect(run(sendCommand, values)).rejects.toThrow(sentence);
  });

  test('names the fields that the service rejected', async () => {
    await expect(run(sendCommand, { from: `shop@${now.domain}`, subject: 'a\r\nBcc: x@example.net' })).rejects.toThrow(
      /to is required[\s\S]*|subject/,
    );
    const code = await run(sendCommand, { from: 'shop@elsewhere.test', to: ['a@example.net'], subject: 'a' }).catch(
      (error) => error.exitCode,
    );
    expect([undefined, 4]).toContain(code);
    expect(await customer.messages()).toEqual([]);
  });

  test('does not send text that is not UTF-8', async () => {
    const file = join(await configFolder(), 'latin1.txt');
    await writeFile(file, Buffer.from([0x48, 0xe9]));
    await expect(run(sendCommand, { text: file })).rejects.toThrow(`${file} is not UTF-8`);
  });
});

describe('messages', () => {
  test('are listed over several pages up to a limit, filtered, and shown with their outcome', async () => {
    const id = await customer.send({ subject: 'Needle' });
    for (let sent = 0; sent < 4; sent += 1) await customer.send({ subject: `Other ${sent}` });
    const found = (await run(listMessagesCommand, { subject: 'Needle' })) as readonly { id: string }[];
    expect(found.map((each) => each.id)).toEqual([id]);
    expect(await run(listMessagesCommand, { limit: '3' })).toHaveLength(3);
    const shown = await run(showMessageCommand, {}, [id]);
    expect(showMessageCommand.textOf?.(shown ?? {})).toContain('to ann@example.net: accepted');
    const explained = await run(explainMessageCommand, {}, [id]);
    expect(explainMessageCommand.textOf?.(explained ?? {})).toMatch(/Why it waits:[\s\S]*What happened:/);
  });

  test.each([['msg_aaaaaaaaaaaaaaaaaaaaaaaaaa'], ['../api-keys'], ['%2e%2e/x']])(
    'cannot be found as %j',
    async (id) => {
      await expect(run(showMessageCommand, {}, [id])).rejects.toMatchObject({ status: 404 });
    },
  );

  test('reach a terminal without control sequences', async () => {
    const hostile = '\u001b]0;owned\u0007\u009b31m\u202egnp.exe\r\nstatus: delivered';
    const url = await startDouble((_, response) =>
      response.end(
        JSON.stringify({
          object: 'list',
          data: [
            { id: 'msg_x', created_at: hostile, status: hostile, subject: hostile, recipients: [{ address: hostile }] },
          ],
          has_more: false,
          next_cursor: null,
        }),
      ),
    );
    const doubled = { OUTBOX_URL: url, OUTBOX_API_KEY: 'ob_live_x' };
    for (const words of [['messages', 'list'], ['messages', 'list', '--json'], ['whoami'], ['messages', 'show', 'x']]) {
      const { stdout, stderr } = await outbox(words, { env: doubled });
      expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
    }
    const { stdout } = await outbox(['messages', 'list', '--json'], { env: doubled });
    expect(JSON.parse(stdout)[0].subject).toBe(hostile);
    expect((await outbox(['messages', 'list'], { env: doubled })).stdout.split('\n')).toHaveLength(3);
  });

  test('show errors of a service with control characters escaped', async () => {
    const url = await startDouble((_, response) => {
      response.statusCode = 400;
      response.end(
        JSON.stringify({ error: { message: 'no \u001b[2J', code: '\u0007', details: { to: ['\u009bx'] } } }),
      );
    });
    const ran = await outbox(['messages', 'list'], { env: { OUTBOX_URL: url, OUTBOX_API_KEY: 'ob_live_x' } });
    expect(ran).toEqual({ code: 1, stdout: '', stderr: 'no \\u001b[2J (\\u0007)\n  \\u009bx\n' });
  });
});

describe('outbox messages resend', () => {
  test('sends a message again once, and says so when it is repeated', async () => {
    const id = await customer.send();
    await customer.bounce(id);
    const sent = (await run(resendMessageCommand, {}, [id])) as unknown as { id: string };
    expect(sent).toMatchObject({ resend_of: id, replayed: false, recipients: [{ address: 'ann@example.net' }] });
    const words = ['messages', 'resend', id];
    const { stdout } = await outbox(words, { env: env() });
    expect(stdout).toBe(`Nothing was sent: ${id} was already sent again to ann@example.net, as ${sent.id}\n`);
    expect(await customer.messages()).toHaveLength(2);
  });

  test('refuses suppressed addresses unless they are left out', async () => {
    const id = await customer.send({ to: ['ann@example.net', 'bob@example.net'] });
    const [ann, bob] = await customer.bounce(id);
    await customer.suppress('ann@example.net');
    await expect(run(resendMessageCommand, {}, [id])).rejects.toThrow(/is suppressed/);
    await expect(run(resendMessageCommand, { recipients: [ann ?? ''] }, [id])).rejects.toThrow(/is suppressed/);
    const sent = await run(resendMessageCommand, { 'skip-suppressed': true }, [id]);
    expect(sent).toMatchObject({ recipients: [{ address: 'bob@example.net' }] });
    expect(bob).toMatch(/^rcp_/);
  });
});

describe('keys', () => {
  test('are created for the only domain, and rotated with a grace period', async () => {
    const created = (await run(createOwnKeyCommand, { name: 'Shop', permissions: 'send, read' })) as unknown as {
      id: string;
      key: string;
    };
    expect(created).toMatchObject({ domain_id: now.domainId, domain: now.domain, permissions: ['send', 'read'] });
    expect(createOwnKeyCommand.textOf?.(created as never)).toContain(`\ndomain: ${now.domain}\n`);
    const rotated = await run(rotateOwnKeyCommand, { 'grace-minutes': '5' }, [created.id]);
    expect(rotated).toMatchObject({ id: created.id, kept: null });
    expect(rotateOwnKeyCommand.textOf?.(rotated ?? {})).toMatch(/^The old secret works until .*Z\. /m);
    expect((rotated as unknown as { key: string }).key).not.toBe(created.key);
  });

  test('are refused by code to a key that may not manage them', async () => {
    const { value } = await customer.keyFor({ permissions: ['read'] });
    const words = ['keys', 'create', '--name', 'x', '--permissions', 'send', '--domain', now.domainId];
    const ran = await outbox(words, { env: { ...env(), OUTBOX_API_KEY: value } });
    expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining("lacks 'manage' permission") });
  });

  test("are the operator's when an organization is named", async () => {
    const words = ['keys', 'rotate', '--organization', 'org_x', '--key', 'key_x'];
    const ran = await outbox(words, { env: { ...env(), DATA_DIR: '/nonexistent/data' } });
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('no Outbox data in /nonexistent/data') });
  });
});

test('a message that some recipients did not get is partly delivered, in the list and alone', async () => {
  const message = {
    id: 'msg_x',
    created_at: '2026-11-28T10:00:00.000Z',
    status: 'delivered',
    partial: true,
    subject: 'Hi',
    tags: [],
    attempts: 1,
    recipients: ['delivered', 'bounced'].map((status) => ({ address: 'a@b.example', kind: 'to', status, smtp: null })),
  };
  const list = { object: 'list', data: [message], has_more: false, next_cursor: null };
  const url = await startDouble(({ url: path = '' }, response) =>
    response.end(JSON.stringify(path.startsWith('/v1/messages?') ? list : message)),
  );
  const doubled = { OUTBOX_URL: url, OUTBOX_API_KEY: 'ob_live_x' };
  for (const words of [
    ['messages', 'list'],
    ['messages', 'show', 'msg_x'],
  ])
    expect((await outbox(words, { env: doubled })).stdout).toContain('partly delivered, 1 of 2');
});

test('statistics with --json are the response of the API', async () => {
  await customer.send();
  const stats = await run(statsCommand, { granularity: 'hour' });
  expect(stats).toMatchObject({ object: 'stats', granularity: 'hour' });
  await expect(run(statsCommand, { metric: '__proto__' }, [], testTerminal({ json: false }))).rejects.toThrow(
    /^--metric must be one of accepted, delivered/,
  );
});

test('lists and statistics accept names of domains and keys, and reject unknown ones', async () => {
  const domain = { id: 'dom_a', name: 'shop.test' };
  const keys = ['key_a', 'key_b', 'key_c'].map((id) => ({ id, name: id === 'key_a' ? 'Shop' : 'Twice' }));
  const asked: string[] = [];
  const url = await startDouble(({ url: path = '' }, response) => {
    asked.push(path);
    response.setHeader('content-type', 'application/json');
    const data = path.startsWith('/v1/domains') ? [domain] : path.startsWith('/v1/api-keys') ? keys : [];
    response.end(JSON.stringify({ object: 'list', data, totals: {}, has_more: false, next_cursor: null }));
  });
  const said = (...words: readonly string[]) =>
    outbox([...words, '--json'], { env: { OUTBOX_URL: url, OUTBOX_API_KEY: 'ob_live_x' } });
  for (const [words, query] of [
    [['messages', 'list', '--domain', 'Shop.test'], 'domain_id=dom_a'],
    [['messages', 'list', '--domain', 'dom_gone'], 'domain_id=dom_gone'],
    [['messages', 'list', '--key', 'shop'], 'key_id=key_a'],
    [['events', 'list', '--domain', 'shop.test'], 'domain_id=dom_a'],
    [['stats', '--domain', 'shop.test'], 'domain=dom_a'],
  ] as const) {
    const { code } = await said(...words);
    expect([words, code, asked.at(-1)]).toEqual([words, 0, expect.stringContaining(query)]);
  }
  for (const [words, sentence] of [
    [['stats', '--domain', 'none.test'], 'domain none.test not found'],
    [['messages', 'list', '--key', 'none'], 'key none not found'],
    [['messages', 'list', '--key', 'twice'], 'several keys are named twice: choose one by its id: key_b, key_c'],
  ] as const) {
    const { code, stderr } = await said(...words);
    expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
  }
});

test('lists say where to continue, also with --json', async () => {
  let hasMore = true;
  const url = await startDouble((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'x' }], has_more: hasMore, next_cursor: 'cur' }));
  });
  const run = (...words: readonly string[]) => outbox(words, { env: { OUTBOX_URL: url, OUTBOX_API_KEY: 'ob_live_x' } });
  for (const command of ['messages', 'events'])
    expect(JSON.parse((await run(command, 'list', '--limit', '1', '--json')).stderr)).toEqual({
      ...{ next_cursor: 'cur', has_more: true },
    });
  hasMore = false;
  expect((await run('events', 'list')).stderr).toBe('to continue from here: --after cur\n');
  const { stdout, stderr } = await run('events', 'list', '--json');
  expect(JSON.parse(stderr)).toEqual({ next_cursor: 'cur', has_more: false });
  expect(JSON.parse(stdout)).toEqual([{ id: 'x' }]);
});
