import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { claimAttempt } from '../../../src/commands/message/attempt.ts';
import { organizationSecret } from '../../../src/commands/organization.ts';
import { unsubscribeToken } from '../../../src/domain/message/tokens.ts';
import type { MailTransport } from '../../../src/domain/ports/mail.ts';
import { openDelivering as open, statuses, until } from '../delivering.ts';

const header = (raw: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(raw)?.[1]?.trim();

const ADDRESSES = ['ann@example.org', 'bob@example.org', 'eve@example.org'];
const MANAGED = { unsubscribe: 'managed' } as const;

describe('a message with managed unsubscribe links', () => {
  test('is sent as one copy for each recipient, and the copies differ only in their links', async () => {
    const service = await open();
    service.workers().start();
    const id = await service.send(ADDRESSES, 'live', 'Hello', MANAGED);
    await until(async () => expect(await statuses(service, id)).toEqual(ADDRESSES.map(() => 'delivered')));
    const { mails } = service.sink;
    expect(mails.map(({ to }) => to)).toEqual(ADDRESSES.map((address) => [address]));
    const secret = await organizationSecret(service.context.secrets, service.organizationId);
    const { recipients } = await service.message(id);
    const links = recipients.map(
      (each) => `<https://mail.example.test/unsubscribe/${unsubscribeToken(secret, id, each.id)}>`,
    );
    expect(mails.map(({ raw }) => header(raw, 'List-Unsubscribe'))).toEqual(links);
    expect(new Set(links).size).toBe(3);
    const others = mails.map(({ raw }) => raw.replace(/^List-Unsubscribe: .*$/m, ''));
    expect(new Set(others).size).toBe(1);
    expect(header(others[0] ?? '', 'Message-ID')).toBe(`<${id}@example.test>`);
    expect(header(others[0] ?? '', 'List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click');
    expect(header(others[0] ?? '', 'To')).toContain('ann@example.org');
  });

  test('has no one-click header when the service cannot be reached by HTTPS', async () => {
    const service = await open();
    service.workers({ publicUrl: () => 'http://127.0.0.1:3000' }).start();
    await service.send('ann@example.org', 'live', 'Hello', MANAGED);
    await until(() => expect(service.sink.mails).toHaveLength(1));
    const [mail] = service.sink.mails;
    expect(header(mail?.raw ?? '', 'List-Unsubscribe')).toMatch(
      /^<http:\/\/127\.0\.0\.1:3000\/unsubscribe\/[\w-]{64}>$/,
    );
    expect(mail?.raw).not.toContain('List-Unsubscribe-Post');
  });

  test('gives each recipient a separate outcome, and retries only those without a final one', async () => {
    const replies = new Map([['bob@example.org', [{ code: 451, text: 'later' }]]]);
    const service = await open({
      onRcpt: (address) =>
        address === 'eve@example.org' ? { code: 550, text: '5.1.1 nobody' } : (replies.get(address)?.shift() ?? null),
    });
    service.workers().start();
    const id = await service.send(ADDRESSES, 'live', 'Hello', MANAGED);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'deferred', 'bounced']));
    service.system.shift(120_000);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'delivered', 'bounced']));
    expect(service.sink.mails.map(({ to }) => to)).toEqual([['ann@example.org'], ['bob@example.org']]);
    const links = service.sink.mails.map(({ raw }) => header(raw, 'List-Unsubscribe'));
    expect(new Set(links).size).toBe(2);
  });

  test('is recorded copy by copy: one that arrived is certain while the next is sent', async () => {
    const service = await open({ onData: async ({ to }) => sleep(to[0] === 'bob@example.org' ? 1000 : 0, null) });
    service.workers().start();
    const id = await service.send(ADDRESSES, 'live', 'Hello', MANAGED);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'sending', 'sending']));
    await until(async () => expect(await statuses(service, id)).toEqual(ADDRESSES.map(() => 'delivered')));
    expect(service.sink.mails).toHaveLength(3);
    expect(await service.history(id)).toEqual([
      ...['MessageAccepted', 'AttemptStarted', 'RecipientDelivered', 'RecipientDelivered', 'RecipientDelivered'],
    ]);
  });

  test('with a faulty copy is sent to the other recipients, and to that one later', async () => {
    const service = await open();
    const { live } = service.dependencies.transports;
    let faults = 1;
    const faulty: MailTransport = {
      ...live,
      send: async (mail, options) => {
        if (mail.envelope.to[0]?.address === 'bob@example.org' && faults-- > 0) throw new Error('a fault of ours');
        return live.send(mail, options);
      },
    };
    service.workers({ transports: { ...service.dependencies.transports, live: faulty } }).start();
    const id = await service.send(ADDRESSES, 'live', 'Hello', MANAGED);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'deferred', 'delivered']));
    expect(service.logger.said('error')).toEqual(['could not send a message: it will be retried']);
    service.system.shift(120_000);
    await until(async () => expect(await statuses(service, id)).toEqual(ADDRESSES.map(() => 'delivered')));
    expect(service.sink.mails).toHaveLength(3);
  });

  test('whose claim is lost after the first copy is sent to no other recipient, and leaves the next attempt alone', async () => {
    const service = await open();
    const { store, transports } = service.dependencies;
    const { system } = service;
    const { promise: sent, resolve } = Promise.withResolvers<string>();
    const left: string[] = [];
    const claim = async () => claimAttempt({ store, system }, { messageId: await sent, leaseMs: 300_000, random: 0.5 });
    const slow: MailTransport = {
      ...transports.live,
      send: async (mail, options) => {
        left.push(...mail.envelope.to.map(({ address }) => address));
        const outcomes = await transports.live.send(mail, options);
        if (left.length === 1) {
          await sent;
          system.shift(25_000); // past the lease
          await claim();
          system.shift(60_000); // until it is due again
          expect(await claim()).toMatchObject({ claimed: true, attempt: 2 });
        }
        return outcomes;
      },
    };
    const workers = service.workers({ transports: { ...transports, live: slow } });
    workers.start();
    const id = await service.send(ADDRESSES, 'live', 'Hello', MANAGED);
    resolve(id);
    const claimed = ['MessageAccepted', 'AttemptStarted', 'AttemptOutcomeUnknown', 'AttemptStarted'];
    await until(async () => expect(await service.history(id)).toEqual(claimed));
    await workers.stop(); // waits for the end of the attempt
    expect(left).toEqual([ADDRESSES[0]]);
    expect(await service.history(id)).toEqual(claimed);
  });

  test('is simulated in the test environment', async () => {
    const service = await open();
    service.workers().start();
    const fates = ['delivered@sandbox.outbox.test', 'bounced@sandbox.outbox.test'];
    const id = await service.send(fates, 'test', 'Hello', MANAGED);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'bounced']));
    expect(service.sink.mails).toHaveLength(0);
  });
});

test('a message with its sender’s own unsubscribe link is sent as one mail to all recipients', async () => {
  const service = await open();
  service.workers().start();
  await service.send(ADDRESSES, 'live', 'Hello', { unsubscribe: { url: 'https://a.test/u', mailto: 'u@a.test' } });
  await until(() => expect(service.sink.mails.map(({ to }) => to)).toEqual([ADDRESSES]));
  expect(service.sink.mails[0]?.raw).toContain(
    'List-Unsubscribe: <https://a.test/u>,\r\n <mailto:u@a.test>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n',
  );
});
