import { expect, test } from 'vitest';
import type { Origin } from '../../../src/commands/execute.ts';
import { deleteWebhook, registerWebhook, rotateWebhookSecret, updateWebhook } from '../../../src/commands/webhook.ts';
import type { Secrets } from '../../../src/domain/ports/secrets.ts';
import type { ExistingWebhook } from '../../../src/domain/webhook/webhook.ts';
import type { WorkersDependencies } from '../../../src/workers/create-workers.ts';
import { createFormerSecrets } from '../../../src/workers/webhooks/destroy-secrets.ts';
import { until } from '../delivering.ts';
import { service } from './opened.ts';

const environment = 'test';
const MINUTE_MS = 60_000;

/** A webhook with custom headers. */
const open = async () => {
  const outbox = await service();
  const { context, organizationId, dependencies, system } = outbox;
  const origin: Origin = {
    ...{ actor: 'operator', organizationId, environment, requestId: null, correlationId: 'test', causationId: 'test' },
  };
  const { webhook } = await registerWebhook(context, origin, {
    ...{ url: 'http://127.0.0.1:9/', events: ['message.*'], description: null, environment },
    headers: { authorization: 'Bearer first' },
  });
  const named = { webhookId: webhook.webhookId, environment } as const;
  return {
    webhook,
    start: (more: Partial<WorkersDependencies> = {}) => {
      const workers = outbox.workers(more);
      workers.start();
      return workers;
    },
    secrets: dependencies.secrets,
    shiftMinutes: (minutes: number) => system.shift(minutes * MINUTE_MS),
    rotate: async (gracePeriodMinutes: number): Promise<ExistingWebhook> =>
      (await rotateWebhookSecret(context, origin, { ...named, gracePeriodMinutes })).webhook,
    replaceHeaders: async (): Promise<ExistingWebhook> =>
      (await updateWebhook(context, origin, { ...named, headers: { authorization: 'Bearer second' } })).webhook,
    remove: () => deleteWebhook(context, origin, named),
    /** True for each id that is still in the vault. */
    holds: (...ids: readonly (string | undefined)[]): Promise<readonly boolean[]> =>
      Promise.all(ids.map(async (id = '') => (await dependencies.secrets.get(id)) !== undefined)),
  };
};

test('a signing secret is destroyed once it is no longer used, and no other is', async () => {
  const { webhook, start, rotate, shiftMinutes, holds, secrets } = await open();
  const second = await rotate(60);
  const third = await rotate(0);
  const all = [webhook.secretId, second.secretId, third.secretId, webhook.headers?.secretId];
  shiftMinutes(10);
  const destroyed: string[] = [];
  const destroy: Secrets['destroy'] = async (ids) => {
    destroyed.push(...ids);
    await secrets.destroy(ids);
  };
  start({ secrets: { ...secrets, destroy } });
  await until(async () => expect(await holds(...all)).toEqual([true, false, true, true]));
  expect(destroyed).toEqual([second.secretId]);
  shiftMinutes(60);
  await until(async () => expect(await holds(...all)).toEqual([false, false, true, true]));
  expect(destroyed).toEqual([second.secretId, webhook.secretId]);
});

test('header values are destroyed once they are replaced', async () => {
  const { webhook, start, replaceHeaders, shiftMinutes, holds } = await open();
  const { headers } = await replaceHeaders();
  start();
  shiftMinutes(6);
  const all = [webhook.headers?.secretId, headers?.secretId, webhook.secretId];
  await until(async () => expect(await holds(...all)).toEqual([false, true, true]));
});

test('all secrets of a deleted webhook are destroyed, including earlier ones that still sign', async () => {
  const { webhook, start, rotate, remove, shiftMinutes, holds } = await open();
  const second = await rotate(10_080);
  await remove();
  start();
  shiftMinutes(6);
  const all = [webhook.secretId, second.secretId, webhook.headers?.secretId];
  await until(async () => expect(await holds(...all)).toEqual([false, false, false]));
});

test('secrets that a process did not destroy before it crashed are destroyed by the next', async () => {
  const { webhook, start, rotate, shiftMinutes, holds, secrets } = await open();
  await rotate(0);
  shiftMinutes(6);
  let tries = 0;
  const destroy: Secrets['destroy'] = async () => {
    tries += 1;
    throw new Error('the vault does not answer');
  };
  const first = start({ secrets: { ...secrets, destroy } });
  await until(() => expect(tries).toBeGreaterThan(0));
  await first.stop();
  expect(await holds(webhook.secretId)).toEqual([true]);
  start();
  await until(async () => expect(await holds(webhook.secretId)).toEqual([false]));
});

test('a secret is needed until the end of its grace period, and is forgotten once it is destroyed', async () => {
  const { webhook, rotate } = await open();
  const rotated = await rotate(60);
  const endsMs = Date.parse(rotated.earlierSecrets[0]?.expiresAt ?? '');
  const former = createFormerSecrets();
  former.apply(webhook, rotated, rotated.createdAt);
  expect([endsMs - 1, endsMs].flatMap((ms) => former.due(new Date(ms)))).toEqual([]);
  expect(former.due(new Date(endsMs + 1))).toEqual([webhook.secretId]);
  former.forget([webhook.secretId]);
  expect(former.due(new Date(endsMs + 1))).toEqual([]);
});
