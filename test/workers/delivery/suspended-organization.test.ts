import { describe, expect, test } from 'vitest';
import { internalOrigin } from '../../../src/commands/execute.ts';
import { mailNotice } from '../../../src/commands/message/send-message.ts';
import { createOrganization, resumeOrganization, suspendOrganization } from '../../../src/commands/organization.ts';
import { pauseBulkMail } from '../../../src/commands/reputation.ts';
import { organizationStream } from '../../../src/domain/kernel/streams.ts';
import { type Delivering, openDelivering, statuses, until } from '../delivering.ts';
import type { Service } from '../service.ts';

const HOUR_MS = 3_600_000;

const originOf = ({ organizationId }: Service) =>
  internalOrigin({ actor: 'operator', organizationId, causeId: 'test' });
const suspend = (service: Service) => suspendOrganization(service.context, originOf(service), 'It sent spam.');
/** What was in the queue a moment ago is not queued again yet: the tests need not wait for that. */
const passQueued = ({ system }: Service): void => system.shift(5_000);
const resume = async (service: Service): Promise<void> => {
  await resumeOrganization(service.context, originOf(service), 'Solved.');
  passQueued(service);
};

const becomes = (service: Service, id: string, status: string): Promise<void> =>
  until(async () => expect(await statuses(service, id)).toEqual([status]));
const becomesHeld = (service: Service, id: string, reason: string, heldBy: string): Promise<void> =>
  until(async () => expect((await service.message(id)).recipients[0]?.held).toMatchObject({ reason, heldBy }));
const becomesSuspended = (service: Service, id: string): Promise<void> =>
  becomesHeld(service, id, 'organization_suspended', organizationStream(service.organizationId));

const bulk = (service: Service, to: string, ttlSeconds = 86_400): Promise<string> =>
  service.send(to, 'live', 'Sale', { stream: 'bulk', ttlSeconds });
const receivers = ({ sink }: Delivering): readonly (string | undefined)[] => sink.mails.map(({ to }) => to[0]).sort();

describe('mail of a suspended organization', () => {
  test('is held, whatever its kind, and sent once when its organization is resumed', async () => {
    const service = await openDelivering();
    const ids = [
      await service.send('ann@example.org'),
      await bulk(service, 'bob@example.org'),
      await service.send('cy@example.org', 'test'),
    ];
    await suspend(service);
    for (const workers of [service.workers(), service.workers()]) workers.start();
    for (const id of ids) await becomesSuspended(service, id);
    expect(service.sink.mails).toEqual([]);
    await resume(service);
    for (const id of ids) await becomes(service, id, 'delivered');
    expect(receivers(service)).toEqual(['ann@example.org', 'bob@example.org']);
    for (const id of ids) {
      const history = await service.history(id);
      expect(history.filter((type) => type === 'RecipientsHeld')).toHaveLength(1);
      expect(history.filter((type) => type === 'AttemptStarted')).toHaveLength(1);
    }
  });

  test('is also held if it was accepted by a process that did not know yet', async () => {
    const service = await openDelivering();
    service.workers().start();
    const first = await service.send('ann@example.org');
    await becomes(service, first, 'delivered');
    await suspend(service);
    const canary = await service.send('bob@example.org', 'live', 'Hello', {
      scheduledAt: new Date(service.system.now().getTime() + 1_000).toISOString(),
    });
    await becomesSuspended(service, canary);
    const late = await service.send('cy@example.org');
    await becomesSuspended(service, late);
    expect(receivers(service)).toEqual(['ann@example.org']);
  });

  test('that is held for its reputation stays held when it is resumed, and the rest is sent', async () => {
    const service = await openDelivering();
    await pauseBulkMail(service.context, originOf(service), true);
    await suspend(service);
    const [sale, hello] = [await bulk(service, 'ann@example.org'), await service.send('bob@example.org')];
    service.workers().start();
    for (const id of [sale, hello]) await becomesSuspended(service, id);
    await resume(service);
    await becomes(service, hello, 'delivered');
    await becomesHeld(service, sale, 'bulk_mail_paused', service.organizationId);
    await pauseBulkMail(service.context, originOf(service), false);
    passQueued(service);
    await becomes(service, sale, 'delivered');
    expect(receivers(service)).toEqual(['ann@example.org', 'bob@example.org']);
  });

  test('is not released by the end of another hold', async () => {
    const service = await openDelivering();
    await pauseBulkMail(service.context, originOf(service), true);
    const sale = await bulk(service, 'ann@example.org');
    service.workers().start();
    await becomesHeld(service, sale, 'bulk_mail_paused', service.organizationId);
    await suspend(service);
    await pauseBulkMail(service.context, originOf(service), false);
    passQueued(service);
    await becomesSuspended(service, sale);
    expect(service.sink.mails).toEqual([]);
  });

  test('expires when its time to live is over', async () => {
    const service = await openDelivering();
    await suspend(service);
    const id = await bulk(service, 'ann@example.org', 3_600);
    service.workers().start();
    await becomesSuspended(service, id);
    service.system.shift(2 * HOUR_MS);
    await becomes(service, id, 'expired');
    expect(service.sink.mails).toEqual([]);
  });

  test('is sent if this service wrote it: members sign in with it', async () => {
    const service = await openDelivering();
    await suspend(service);
    await mailNotice(
      service.context,
      { id: 'dom_1', name: 'example.test' },
      {
        organizationId: service.organizationId,
        notice: { subject: 'Sign in', text: 'https://example.test/' },
        to: 'owner@example.org',
        attachments: [],
        actor: 'service',
        causeId: 'test',
        idempotencyKey: 'sign-in\n1',
      },
    );
    const id = await service.send('ann@example.org');
    service.workers().start();
    await becomesSuspended(service, id);
    await until(() => expect(receivers(service)).toEqual(['owner@example.org']));
  });

  test('does not affect other organizations', async () => {
    const service = await openDelivering();
    const organizationId = await createOrganization(service.context, { name: 'Other', ceilings: null });
    await suspendOrganization(service.context, { ...originOf(service), organizationId }, 'It sent spam.');
    const id = await service.send('ann@example.org');
    service.workers().start();
    await becomes(service, id, 'delivered');
  });
});
