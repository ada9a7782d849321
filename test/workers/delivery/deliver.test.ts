import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { claimAttempt } from '../../../src/commands/message/attempt.ts';
import type { ExistingMessage } from '../../../src/domain/message/message.ts';
import type { Queue, QueueName, Queues } from '../../../src/domain/ports/queue.ts';
import type { DeliveryJob } from '../../../src/workers/delivery/due.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { openDelivering as open, statuses, until } from '../delivering.ts';
import { openService, type Service } from '../service.ts';

const MINUTE_MS = 60_000;

const messageIdHeader = (raw: string): string | undefined => /^Message-ID: (.*)$/im.exec(raw)?.[1]?.trim();

describe('delivering a message', () => {
  test('sends it and records the reply, with its text in the vault', async () => {
    const service = await open();
    service.workers().start();
    const id = await service.send(['ann@example.org', 'bob@example.org']);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'delivered']));
    expect(service.sink.mails).toHaveLength(1);
    expect(service.sink.mails[0]).toMatchObject({
      from: 'shop@example.test',
      to: ['ann@example.org', 'bob@example.org'],
    });
    const [first] = (await service.message(id)).recipients;
    expect(first?.smtp).toMatchObject({ code: 250 });
    const replyId = first?.smtp?.replyId ?? '';
    expect((await service.context.contents.get([replyId])).get(replyId)).toMatchObject({
      kind: 'reply',
      messageId: id,
    });
  });

  test('sends once when the same job runs twice and two workers receive it at once', async () => {
    const service = await open({ onData: async () => sleep(50, null) });
    const id = await service.send('ann@example.org');
    const workers = [service.workers(), service.workers()];
    for (const one of workers) one.start();
    const job = {
      data: {
        due: [
          { messageId: id, destination: null },
          { messageId: id, destination: null },
        ],
      },
    };
    for (const { queues } of workers) await queues.transactional.add([job, job]);
    const behind = await service.send('bob@example.org');
    for (const { queues } of workers) {
      await queues.transactional.add([{ data: { due: [{ messageId: behind, destination: null }] } }]);
    }
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    await until(async () => expect(await statuses(service, behind)).toEqual(['delivered']));
    expect(service.sink.mails.map(({ to }) => to).toSorted()).toEqual([['ann@example.org'], ['bob@example.org']]);
    expect(await service.history(id)).toEqual(['MessageAccepted', 'AttemptStarted', 'RecipientDelivered']);
  });

  test('defers on a temporary refusal, and sends it again when it is due', async () => {
    const replies = [{ code: 451, text: 'try later ann@example.org' }];
    const service = await open({ onRcpt: () => replies.shift() ?? null });
    service.workers().start();
    const id = await service.send('ann@example.org');
    await until(async () => expect(await statuses(service, id)).toEqual(['deferred']));
    expect(service.sink.mails).toHaveLength(0);
    service.system.shift(2 * MINUTE_MS);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    expect((await service.message(id)).attempts).toBe(2);
  });

  test('bounces only the recipient that was refused permanently', async () => {
    const service = await open({
      onRcpt: (address) => (address.startsWith('nobody') ? { code: 550, text: '5.1.1 no such user' } : null),
    });
    service.workers().start();
    const id = await service.send(['nobody@example.org', 'ann@example.org']);
    await until(async () => expect(await statuses(service, id)).toEqual(['bounced', 'delivered']));
    expect(service.sink.mails[0]?.to).toEqual(['ann@example.org']);
  });

  test('defers when there is no server, with a reason of its own', async () => {
    const service = closedAfterTest(await openService());
    service.workers().start();
    const id = await service.send('ann@example.org');
    await until(async () => expect(await statuses(service, id)).toEqual(['deferred']));
    expect((await service.message(id)).recipients[0]).toMatchObject({
      reason: 'no answer from the mail server',
      smtp: { code: 0 },
    });
  });

  test('raises an alarm and retries later when the contents are missing', async () => {
    const service = await open();
    const id = await service.send('ann@example.org');
    service.workers({ contents: { ...service.dependencies.contents, get: async () => new Map() } }).start();
    await until(async () => expect(await statuses(service, id)).toEqual(['deferred']));
    expect(service.logger.said('error')).toEqual(['could not send a message: it will be retried']);
    expect(service.sink.mails).toHaveLength(0);
  });
});

describe('an unfinished attempt', () => {
  const lost = async (service: Service, leaseMs = 20_000): Promise<string> => {
    const id = await service.send('ann@example.org');
    await claimAttempt(service.context, { messageId: id, leaseMs, random: 0.5 });
    return id;
  };

  test('is left alone while its lease lasts', async () => {
    const service = await open();
    const id = await lost(service, 60_000);
    const shorter = await lost(service);
    service.workers().start();
    service.system.shift(21_000);
    await until(async () => expect((await service.history(shorter)).at(-1)).toBe('AttemptOutcomeUnknown'));
    expect(await service.history(id)).toEqual(['MessageAccepted', 'AttemptStarted']);
  });

  test('is recorded as unknown when the lease ends, and repeated with the same Message-ID', async () => {
    const service = await open();
    const id = await lost(service);
    service.workers().start();
    service.system.shift(21_000);
    await until(async () => expect((await service.history(id)).at(-1)).toBe('AttemptOutcomeUnknown'));
    service.system.shift(6000);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    const { accepted }: ExistingMessage = await service.message(id);
    expect(service.sink.mails.map(({ raw }) => messageIdHeader(raw))).toEqual([accepted.internetMessageId]);
  });
});

describe('a queue that was deleted', () => {
  test('loses nothing: the sweep queues again what is due', async () => {
    const service = await open();
    const { queues } = service.dependencies;
    let wiped = 0;
    /** Discards the first 250 messages that are added. */
    const forgetful: Queues = {
      ...queues,
      open: <Job>(name: QueueName): Queue<Job> => {
        const queue = queues.open<Job>(name);
        const add: Queue<Job>['add'] = async (jobs) => {
          if (wiped >= 250) return queue.add(jobs);
          wiped += jobs.flatMap(({ data }) => (data as DeliveryJob).due).length;
        };
        return { ...queue, add };
      },
    };
    service.workers({ queues: forgetful }).start();
    const ids = await Promise.all(Array.from({ length: 250 }, (_, index) => service.send(`u${index}@example.org`)));
    await until(() => expect(wiped).toBe(250));
    await until(async () => {
      const all = await Promise.all(ids.map((id) => statuses(service, id)));
      expect(all.flat().every((status) => status === 'delivered')).toBe(true);
    });
    expect(service.sink.mails).toHaveLength(250);
  });

  test('does not affect messages accepted while nothing was dispatched', async () => {
    const service = await open();
    const id = await service.send('ann@example.org');
    service.workers().start();
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
  });
});

describe('a stop', () => {
  test('finishes the message being sent, and returns the others to the queue', async () => {
    const service = await open({ onData: async () => sleep(500, null) });
    const first = service.workers();
    first.start();
    const ids = await Promise.all(Array.from({ length: 90 }, (_, index) => service.send(`u${index}@example.org`)));
    await until(async () => {
      const begun = await Promise.all(ids.map((id) => statuses(service, id)));
      expect(begun.flat()).toContain('sending');
    });
    await first.stop();
    const states = (await Promise.all(ids.map((id) => statuses(service, id)))).flat();
    expect(states).not.toContain('sending');
    expect(states.filter((status) => status === 'delivered')).toHaveLength(service.sink.mails.length);
    service.workers().start();
    await until(() => expect(service.sink.mails).toHaveLength(90));
  });
});

describe('the test environment', () => {
  test('sends nothing, and sandbox addresses select the simulated outcome', async () => {
    const service = await open();
    service.workers().start();
    const fates = ['delivered', 'bounced', 'complained', 'suppressed', 'deferred+2s'];
    const id = await service.send(
      fates.map((fate) => `${fate}@sandbox.outbox.test`),
      'test',
    );
    await until(async () => {
      const { recipients } = await service.message(id);
      expect(recipients.map(({ status, complained }) => `${status}${complained ? ' complained' : ''}`)).toEqual([
        ...['delivered', 'bounced', 'delivered complained', 'suppressed', 'deferred'],
      ]);
    });
    await until(async () => expect((await statuses(service, id)).at(-1)).toBe('delivered'));
    expect(service.sink.mails).toHaveLength(0);
  });
});
