import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../src/lib/async/async.ts';
import { BODY_LIMITS, createBodyBudget } from '../../src/lib/http/body-budget.ts';
import { holdAllRoom } from '../support/hold-all-room.ts';
import { plain, talkSmtp } from './support/smtp-talk.ts';
import { type Submitting, startSubmitting } from './support/submitting.ts';

let submitting: Submitting;
beforeAll(async () => {
  submitting = await startSubmitting();
});
afterAll(() => submitting.close());

const EHLO = 'EHLO client.test\r\n';
const MAIL = 'MAIL FROM:<ann@example.test>\r\n';
const RCPT = 'RCPT TO:<bob@example.org>\r\n';
const HEADER = 'From: ann@example.test\r\nTo: bob@example.org\r\nSubject: x\r\n';

/** Number of messages that were accepted during `work`. */
const acceptedBy = async (work: () => Promise<unknown>): Promise<number> => {
  const before = await submitting.accepted();
  await work();
  return (await submitting.accepted()) - before;
};

const inData = async () => {
  const talk = await submitting.talk();
  for (const line of [MAIL, RCPT, 'DATA\r\n']) await talk.ask(line);
  return talk;
};

describe('smuggling', () => {
  const SMUGGLED = `${MAIL}${RCPT}DATA\r\n${HEADER}\r\nsmuggled`;

  // RFC 5321 §4.1.1.4: only <CRLF>.<CRLF> ends a message (CVE-2023-51764 and similar).
  test.each([
    ['LF . LF', '\n.\n'],
    ['CR . CR', '\r.\r'],
    ['LF . CRLF', '\n.\r\n'],
    ['CR . CRLF', '\r.\r\n'],
    ['CRLF . LF', '\r\n.\n'],
    ['CRLF . CR', '\r\n.\r'],
    ['CRLF NUL . CRLF', '\r\n\0.\r\n'],
  ])('with %s results in one message, or none', async (_what, end) => {
    const accepted = await acceptedBy(async () => {
      const talk = await inData();
      expect(await talk.ask(`${HEADER}\r\nHi${end}${SMUGGLED}\r\n.\r\n`)).toMatch(/^(?:250 2\.0\.0 Ok|554 )/);
      expect(await talk.ask('QUIT\r\n')).toMatch(/^221/);
      talk.close();
    });
    expect(accepted).toBeLessThanOrEqual(1);
  });

  test('is not possible with a dot in a packet of its own, which is content', async () => {
    const talk = await inData();
    talk.socket.write(`${HEADER}\r\n`);
    for (const piece of ['.', '.', '\r', '\n', '..x\r\n', '\r\n']) {
      talk.socket.write(piece);
      await sleep(10);
    }
    const reply = await talk.ask('.\r\n');
    expect((await submitting.shown(reply)).text).toBe('.\n.x\n');
    talk.close();
  });
});

describe('a client', () => {
  test('that disconnects during a message has sent nothing, and holds no memory budget', async () => {
    const accepted = await acceptedBy(async () => {
      const talk = await inData();
      talk.socket.write(`${HEADER}\r\n${'Hi\r\n'.repeat(100_000)}`);
      await sleep(100);
      talk.socket.resetAndDestroy();
      await expect.poll(() => submitting.bodies.held()).toBe(0);
      const end = await inData();
      end.socket.end(`${HEADER}\r\nHi\r\n.`);
      await once(end.socket, 'close');
    });
    expect(accepted).toBe(0);
    expect(submitting.bodies.held()).toBe(0);
  });

  test('is asked to retry when too many bytes are in flight', async () => {
    const hasty = await startSubmitting({}, { bodies: createBodyBudget({ ...BODY_LIMITS, patienceMs: 300 }) });
    const release = await holdAllRoom(hasty.bodies);
    const reply = await hasty.sendRaw(`${HEADER}\r\nHi`);
    release();
    expect(reply).toMatch(/^451 4\.3\.1 too many messages are in progress/);
    expect(await hasty.sendRaw(`${HEADER}\r\nHi`)).toMatch(/^250/);
    await hasty.close();
  });

  test('is asked to retry while the log is unavailable; the message is stored completely or not at all', async () => {
    const { store } = submitting.service.deps.context;
    const { append } = store;
    (store as { append: typeof append }).append = () => Promise.reject(new StoreUnavailable('away'));
    const accepted = await acceptedBy(async () => {
      expect(await submitting.sendRaw(`${HEADER}\r\nHi`)).toBe(
        '451 4.3.0 the service is unavailable at the moment: try again',
      );
    });
    (store as { append: typeof append }).append = append;
    expect(accepted).toBe(0);
  });

  test('that takes too long to authenticate or to send is disconnected', async () => {
    const hasty = await startSubmitting({ times: { authMs: 300, dataMs: 300 } });
    const stranger = await talkSmtp(hasty.port);
    const talk = await hasty.talk();
    for (const line of [MAIL, RCPT, 'DATA\r\n']) await talk.ask(line);
    const trickling = setInterval(() => [stranger, talk].map(({ socket }) => socket.write('N')), 50);
    expect(await stranger.next()).toBe('');
    expect(await talk.next()).toBe('');
    clearInterval(trickling);
    expect(await hasty.accepted()).toBe(0);
    expect(hasty.bodies.held()).toBe(0);
    await hasty.close();
  });

  test('that sends nonsense is disconnected', async () => {
    const talk = await talkSmtp(submitting.port);
    let last = '';
    for (let at = 0; at < 12 && (at === 0 || last !== ''); at += 1)
      last = (await talk.ask(`NONSENSE ${at}\r\n`)) || last;
    expect(last).toMatch(/^421/);
    talk.close();
    const long = await talkSmtp(submitting.port);
    expect(await long.ask(`EHLO ${'x'.repeat(100_000)}\r\n`)).toMatch(/^421/);
    long.close();
  });

  test('that opens hundreds of connections loses those that are silent for the longest', async () => {
    const talks: Awaited<ReturnType<typeof talkSmtp>>[] = [];
    for (let round = 0; round < 12; round += 1)
      talks.push(...(await Promise.all(Array.from({ length: 10 }, () => talkSmtp(submitting.port)))));
    expect(new Set(talks.map(({ greeting }) => greeting.slice(0, 3)))).toEqual(new Set(['220']));
    await expect.poll(() => talks.filter(({ socket }) => socket.closed).length, { timeout: 5_000 }).toBe(20);
    const member = await submitting.talk();
    for (const line of [MAIL, RCPT, 'DATA\r\n']) await member.ask(line);
    expect(await member.ask(`${HEADER}\r\nHi\r\n.\r\n`)).toMatch(/^250/);
    for (const talk of [...talks, member]) talk.close();
  });
});

test('an organization whose connections all receive messages gets no more, and another one sends', async () => {
  const { service, port, key, talk, sendRaw, close } = await startSubmitting();
  const enterData = async () => {
    const opened = await talk();
    for (const line of [MAIL, RCPT]) await opened.ask(line);
    return { opened, reply: await opened.ask('DATA\r\n') };
  };
  const taken = [];
  for (let round = 0; round < 10; round += 1) taken.push(...(await Promise.all(Array.from({ length: 20 }, enterData))));
  expect(new Set(taken.map(({ reply }) => reply.slice(0, 3)))).toEqual(new Set(['354']));
  const organizationId = await service.makeOrganization();
  const other = await service.makeKey(organizationId, await service.makeDomain(organizationId, 'other.test'));
  const refused = await talkSmtp(port);
  await refused.ask(EHLO);
  expect(await refused.ask(plain(key))).toMatch(/^421 4\.7\.0 too many connections/);
  expect(await sendRaw('From: ann@other.test\r\nSubject: x\r\n\r\nHi', ['bob@example.org'], other.value)).toMatch(
    /^250/,
  );
  for (const { opened } of taken) opened.close();
  await close();
});
