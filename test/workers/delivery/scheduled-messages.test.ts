import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createInProcessQueues } from '../../../src/adapters/queue/in-process.ts';
import type { Origin } from '../../../src/commands/execute.ts';
import { cancelMessage, rescheduleMessage } from '../../../src/commands/message/attempt.ts';
import type { NewEvent, RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import type { MessageEvent, SendingDomainEvent } from '../../../src/domain/kernel/events.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import type { Queue, QueueName, Queues } from '../../../src/domain/ports/queue.ts';
import type { DueDelivery } from '../../../src/projections/deliveries/queries.ts';
import type { DeliveryJob } from '../../../src/workers/delivery/due.ts';
import type { Timetable } from '../../../src/workers/delivery/sweep.ts';
import { slowness } from '../../support/slowness.ts';
import { contextAt } from '../../support/specification.ts';
import { type Delivering, openDelivering, statuses, until } from '../delivering.ts';
import type { Parts, Service } from '../service.ts';

const HOUR_MS = 3_600_000;

interface ScheduleWorld extends Delivering {
  readonly origin: Origin;
  /** Ids of messages that were added to the queue, in order. */
  readonly queued: readonly string[];
  /** A time relative to the workers' clock. */
  inMs(ms: number): string;
  sendLater(ms: number, ttlSeconds?: number): Promise<string>;
}

/** Queues that record the messages added to them. */
const telling = (queues: Queues, queued: string[]): Queues => ({
  ...queues,
  open: <Job>(name: QueueName): Queue<Job> => {
    const queue = queues.open<Job>(name);
    const add: Queue<Job>['add'] = async (jobs) => {
      queued.push(...jobs.flatMap(({ data }) => (data as DeliveryJob).due.map(({ messageId }) => messageId)));
      await queue.add(jobs);
    };
    return { ...queue, add };
  },
});

const open = async (parts: Parts = {}): Promise<ScheduleWorld> => {
  const service = await openDelivering(parts);
  const queued: string[] = [];
  const { system, logger, organizationId } = service;
  const inMs = (ms: number): string => new Date(system.now().getTime() + ms).toISOString();
  return {
    ...service,
    queued,
    inMs,
    origin: {
      actor: 'key:key_1',
      organizationId,
      environment: 'live',
      requestId: null,
      correlationId: 'test',
      causationId: 'test',
    },
    workers: (more) => service.workers({ queues: telling(createInProcessQueues({ system, logger }), queued), ...more }),
    sendLater: (ms, ttlSeconds = 86_400) =>
      service.send('ann@example.org', 'live', 'Hello', { scheduledAt: inMs(ms), ttlSeconds }),
  };
};

const becomes = (service: Service, id: string, status: string): Promise<void> =>
  until(async () => expect(await statuses(service, id)).toEqual([status]));

/** Sends a message to another recipient. */
const sendAnother = async (service: Service): Promise<void> =>
  becomes(service, await service.send('another@example.org'), 'delivered');

/** A timetable on which a message is always due. */
const alwaysDue = (messageId: string): Timetable => {
  const due: DueDelivery = { messageId, destination: 'example.org', environment: 'live', dueAt: '', expiresAt: '9999' };
  return { due: async ({ bulk }) => ({ due: bulk ? [] : [due], next: '' }) };
};

describe('a scheduled message', () => {
  test('is not queued before its time, and is sent at its time', async () => {
    const service = await open();
    service.workers().start();
    const id = await service.sendLater(HOUR_MS);
    const sooner = await service.sendLater(HOUR_MS / 2);
    const other = await service.send('bob@example.org');
    await becomes(service, other, 'delivered');
    expect(service.queued).toEqual([other]);
    service.system.shift(HOUR_MS / 2);
    await becomes(service, sooner, 'delivered');
    expect(service.queued).toEqual([other, sooner]);
    service.system.shift(HOUR_MS / 2);
    await becomes(service, id, 'delivered');
    expect(service.queued).toEqual([other, sooner, id]);
    expect(service.sink.mails).toHaveLength(3);
  });

  test('for the near future waits, and is hardly late', async () => {
    const service = await open();
    service.workers().start();
    const due = Date.parse(service.inMs(1000));
    const id = await service.sendLater(1000);
    await becomes(service, id, 'delivered');
    const started = (await service.dependencies.store.readStream(messageStream(id))).find(
      (event): event is RecordedEvent<MessageEvent> => event.type === 'AttemptStarted',
    );
    const lateMs = Date.parse(started?.metadata.occurredAt ?? '') - due;
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(2000 * slowness());
  });

  test('that is rescheduled to an earlier time is sent then', async () => {
    const service = await open();
    service.workers().start();
    const id = await service.sendLater(24 * HOUR_MS);
    await rescheduleMessage(service.context, service.origin, { messageId: id, scheduledAt: service.inMs(500) });
    await becomes(service, id, 'delivered');
  });

  test('that is rescheduled to a later time, even after it was queued, waits until then', async () => {
    const service = await open();
    const id = await service.sendLater(HOUR_MS);
    service.system.shift(HOUR_MS);
    const scheduledAt = service.inMs(HOUR_MS);
    await rescheduleMessage(service.context, service.origin, { messageId: id, scheduledAt });
    const workers = service.workers({ timetable: alwaysDue(id) });
    workers.start();
    await until(() => expect(service.queued).toContain(id));
    await sendAnother(service); // queued after it
    expect(await statuses(service, id)).toEqual(['scheduled']);
    await workers.stop();
    service.workers().start();
    service.system.shift(HOUR_MS);
    await becomes(service, id, 'delivered');
    expect(service.sink.mails).toHaveLength(2);
  });

  test('that could not be sent expires when its time to live has passed since its scheduled time', async () => {
    const service = await open();
    const id = await service.sendLater(2 * HOUR_MS, 3600);
    service.system.shift(3 * HOUR_MS);
    service.workers().start();
    await becomes(service, id, 'expired');
    expect(service.sink.mails).toEqual([]);
  });
});

describe('a cancelled message', () => {
  test('is never sent if it was still waiting', async () => {
    const service = await open();
    service.workers().start();
    const id = await service.sendLater(HOUR_MS);
    await cancelMessage(service.context, service.origin, { messageId: id });
    const later = await service.sendLater(2 * HOUR_MS);
    service.system.shift(2 * HOUR_MS);
    await becomes(service, later, 'delivered');
    expect(service.queued).toEqual([later]);
    expect(await service.history(id)).toEqual(['MessageAccepted', 'MessageScheduled', 'RecipientCancelled']);
    expect(service.sink.mails).toHaveLength(1);
  });

  test('is not sent even if it was already queued', async () => {
    const service = await open();
    const id = await service.send('ann@example.org');
    await cancelMessage(service.context, service.origin, { messageId: id });
    service.workers({ timetable: alwaysDue(id) }).start();
    await until(() => expect(service.queued).toContain(id));
    await sendAnother(service); // queued after it
    expect(await service.history(id)).toEqual(['MessageAccepted', 'RecipientCancelled']);
    expect(service.sink.mails.map(({ to }) => to)).toEqual([['another@example.org']]);
  });
});

describe('a message whose domain was deleted', () => {
  const DOMAIN = { domainId: 'dom_1', name: 'example.test' };
  const DELETED: SendingDomainEvent = { type: 'DomainDeleted', data: DOMAIN };
  const REGISTERED: SendingDomainEvent = { type: 'DomainRegistered', data: { ...DOMAIN, token: 'token', dkim: [] } };

  const happen = async ({ dependencies, system }: Service, event: SendingDomainEvent): Promise<void> => {
    const { store } = dependencies;
    const stream = 'domain-dom_1';
    const last = (await store.readStream(stream)).at(-1);
    const events: NewEvent[] = [{ ...event, id: system.uuid() }];
    const context = contextAt(system.now().toISOString());
    await store.append({ stream, expected: last?.revision ?? 'no-stream', events, context });
    await sleep(20); // so that the following has a later time
  };

  const reasonOf = async (service: Service, id: string): Promise<string | null | undefined> =>
    (await service.message(id)).recipients[0]?.reason;

  test('is cancelled with a reason when its time comes', async () => {
    const service = await open();
    service.workers().start();
    const id = await service.sendLater(HOUR_MS);
    await happen(service, DELETED);
    service.system.shift(HOUR_MS);
    await becomes(service, id, 'cancelled');
    expect(await reasonOf(service, id)).toBe('the sending domain was deleted');
    expect(await service.history(id)).toEqual(['MessageAccepted', 'MessageScheduled', 'RecipientCancelled']);
    expect(service.sink.mails).toEqual([]);
  });

  test('before a start is cancelled too: nothing is sent before the process has caught up', async () => {
    const service = await open();
    const id = await service.send('ann@example.org');
    await happen(service, DELETED);
    const { store } = service.dependencies;
    const readAll: typeof store.readAll = async (options) => {
      if (options.filter?.categories?.includes('domain') === true) await sleep(1500);
      return store.readAll(options);
    };
    service.workers({ store: { ...store, readAll } }).start();
    await becomes(service, id, 'cancelled');
    expect(service.sink.mails).toEqual([]);
  });

  test('and registered again is cancelled if it was accepted before, and is sent if accepted after', async () => {
    const service = await open();
    await happen(service, REGISTERED);
    const before = await service.sendLater(HOUR_MS);
    await happen(service, DELETED);
    await happen(service, REGISTERED);
    const after = await service.sendLater(HOUR_MS);
    service.workers().start();
    service.system.shift(HOUR_MS);
    await becomes(service, before, 'cancelled');
    await becomes(service, after, 'delivered');
    expect(service.sink.mails).toHaveLength(1);
  });
});
