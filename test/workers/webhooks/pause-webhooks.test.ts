import { describe, expect, test } from 'vitest';
import { createKey, deleteKey, expireKey, revokeKey, updateKey } from '../../../src/commands/api-key.ts';
import { load, type Origin } from '../../../src/commands/execute.ts';
import { deleteDomain, registerDomain } from '../../../src/commands/sending-domain/change-domain.ts';
import { adoptWebhook, registerWebhook, updateWebhook } from '../../../src/commands/webhook.ts';
import type { Permission } from '../../../src/domain/api-key/events.ts';
import { createKeyCacheProjection } from '../../../src/domain/api-key/key-cache-projection.ts';
import { webhookStream } from '../../../src/domain/kernel/streams.ts';
import { webhook } from '../../../src/domain/webhook/webhook.ts';
import { until } from '../delivering.ts';
import type { Service } from '../service.ts';
import { receiver, service } from './opened.ts';

const ALL: readonly Permission[] = ['send', 'read', 'manage'];
const loadKeyCache = async () => createKeyCacheProjection();

interface Bounds {
  readonly expiresAt?: string;
  readonly allowedCidrs?: readonly string[];
  readonly permissions?: readonly Permission[];
}

const by = ({ organizationId }: Service, actor: string): Origin => ({
  ...{ actor, organizationId, environment: 'test', requestId: null },
  ...{ correlationId: 'test', causationId: 'test' },
});

/** A key, and a webhook that it registered. */
const openKept = async (bounds: Bounds, clockBehindMs = 0) => {
  const outbox = await service();
  const now = () => new Date(outbox.system.now().getTime() - clockBehindMs);
  outbox.workers({ system: { ...outbox.system, now } }).start();
  const operator = by(outbox, 'operator');
  const { domain } = await registerDomain(outbox.context, operator, { name: 'keys.test' });
  const { key } = await createKey(outbox.context, operator, {
    ...{ by: 'operator', domainId: domain.domainId, name: 'k', environment: 'test', rateLimits: {} },
    permissions: [...(bounds.permissions ?? ALL)],
    allowedCidrs: [...(bounds.allowedCidrs ?? [])],
    expiresAt: bounds.expiresAt ?? null,
  });
  const endpoint = await receiver();
  const registered = await registerWebhook(outbox.context, by(outbox, `key:${key.keyId}`), {
    ...{ url: endpoint.url, events: ['message.accepted'], environment: 'test', description: null },
  });
  const { webhookId } = registered.webhook;
  const stateNow = async () => (await load(outbox.context.store, webhook, webhookStream(webhookId))).state;
  return {
    ...{ outbox, operator, endpoint, webhookId, stateNow },
    domainId: domain.domainId,
    change: { by: 'operator', keyId: key.keyId, loadKeyCache } as const,
    isPaused: () => until(async () => expect((await stateNow()).status).toBe('paused')),
  };
};

const FAR = { expiresAt: '2099-01-01T00:00:00.000Z' };
const NETWORK = { allowedCidrs: ['192.0.2.0/24'] };

describe('a webhook of an ended key', () => {
  test.each([
    ['expires', FAR],
    ['is bound to networks', NETWORK],
  ])('is paused when the key %s: events wait, and an adoption loses none', async (_, bounds) => {
    const { outbox, operator, endpoint, change, isPaused, webhookId } = await openKept(bounds);
    await outbox.send('ann@example.org', 'test');
    await until(() => expect(endpoint.posts).toHaveLength(1));
    await revokeKey(outbox.context, operator, change);
    await isPaused();
    await outbox.send('bob@example.org', 'test');
    const { webhookDeliveries } = outbox.dependencies;
    await until(async () => expect(await webhookDeliveries.pendingOf(webhookId, 10)).toBe(1));
    expect(endpoint.posts).toHaveLength(1);
    await adoptWebhook(outbox.context, by(outbox, 'member:mbr_1'), { webhookId, environment: 'test', bounds: null });
    await until(() => expect(endpoint.posts).toHaveLength(2));
  });

  test('is paused when the key is deleted, its domain is deleted, or it may no longer manage webhooks', async () => {
    const deleted = await openKept(FAR);
    await deleteKey(deleted.outbox.context, deleted.operator, deleted.change);
    await deleted.isPaused();
    const gone = await openKept(FAR);
    const { domainId } = gone;
    await deleteDomain(gone.outbox.context, gone.operator, { by: 'operator', domainId, loadKeyCache });
    await gone.isPaused();
    const demoted = await openKept({});
    await updateKey(demoted.outbox.context, demoted.operator, {
      ...demoted.change,
      ...{ changes: { permissions: ['send'] }, leavesOutRequester: false },
    });
    await demoted.isPaused();
  });

  test.each([
    ['', 0],
    [' by the clock of another machine, which is a second ahead', 1_000],
  ])('is paused when the key has expired%s', async (_, clockBehindMs) => {
    const { outbox, change, isPaused, stateNow } = await openKept(FAR, clockBehindMs);
    expect((await stateNow()).status).toBe('enabled');
    outbox.system.shift(Date.parse(FAR.expiresAt) - outbox.system.now().getTime());
    await expireKey(outbox.context, { keyId: change.keyId, actor: 'worker:expire-keys' });
    await isPaused();
  });

  test('is paused after a change by a key that expired just now, before its expiry is recorded', async () => {
    const { outbox, webhookId, change, isPaused } = await openKept(FAR);
    outbox.system.shift(Date.parse(FAR.expiresAt) - outbox.system.now().getTime());
    await updateWebhook(outbox.context, by(outbox, `key:${change.keyId}`), {
      ...{ webhookId, environment: 'test', description: 'Late' },
    });
    await isPaused();
  });

  test('is paused if a key that has ended enables it', async () => {
    const { outbox, operator, change, isPaused, webhookId, stateNow } = await openKept(FAR);
    await updateWebhook(outbox.context, operator, { webhookId, environment: 'test', enabled: false });
    await revokeKey(outbox.context, operator, change);
    await updateWebhook(outbox.context, by(outbox, `key:${change.keyId}`), {
      ...{ webhookId, environment: 'test', enabled: true },
    });
    await isPaused();
    expect(await stateNow()).toMatchObject({ ownedBy: `key:${change.keyId}` });
  });

  test('continues if the key has no bounds, or another actor is responsible for the webhook by then', async () => {
    const unbounded = await openKept({});
    await revokeKey(unbounded.outbox.context, unbounded.operator, unbounded.change);
    const adopted = await openKept(FAR);
    const { outbox, webhookId } = adopted;
    await adoptWebhook(outbox.context, by(outbox, 'key:key_other'), {
      ...{ webhookId, environment: 'test', bounds: { allowedCidrs: [], expiresAt: null } },
    });
    await revokeKey(outbox.context, adopted.operator, adopted.change);
    for (const one of [unbounded, adopted]) {
      await one.outbox.send('ann@example.org', 'test');
      await until(() => expect(one.endpoint.posts).toHaveLength(1));
      expect((await one.stateNow()).status).toBe('enabled');
    }
  });

  test('is paused if a request of the key is recorded after the key has ended', async () => {
    const { outbox, operator, change, isPaused, webhookId } = await openKept(FAR);
    await adoptWebhook(outbox.context, by(outbox, 'member:mbr_1'), { webhookId, environment: 'test', bounds: null });
    await revokeKey(outbox.context, operator, change);
    await updateWebhook(outbox.context, by(outbox, `key:${change.keyId}`), {
      ...{ webhookId, environment: 'test', events: ['message.*'] },
    });
    await isPaused();
  });
});

describe('a webhook of a key without `read`', () => {
  test('receives no addresses, tags or metadata until a member has adopted it', async () => {
    const { outbox, endpoint, webhookId } = await openKept({ permissions: ['send', 'manage'] });
    const tags = [{ name: 'order', value: '1234' }];
    await outbox.send('ann@example.org', 'test', 'Hello', { tags });
    await until(() => expect(endpoint.posts).toHaveLength(1));
    expect(endpoint.posts[0]?.body).not.toMatch(/ann@|1234/);
    expect(endpoint.posts[0]?.json.data).toMatchObject({ recipient: { address: null }, tags: [], metadata: {} });
    await adoptWebhook(outbox.context, by(outbox, 'member:mbr_1'), { webhookId, environment: 'test', bounds: null });
    let sent = 1;
    await until(async () => {
      sent += 1;
      await outbox.send('bob@example.org', 'test', 'Hello', { tags });
      await until(() => expect(endpoint.posts).toHaveLength(sent));
      expect(endpoint.posts.at(-1)?.json.data).toMatchObject({ recipient: { address: 'bob@example.org' }, tags });
    });
  });
});
