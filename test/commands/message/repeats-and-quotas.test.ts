import { expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { type CommandContext, internalOrigin } from '../../../src/commands/execute.ts';
import { createSendingQuotas } from '../../../src/commands/message/enforce-quota.ts';
import { sendBatch } from '../../../src/commands/message/send-batch.ts';
import { sendMessage } from '../../../src/commands/message/send-message.ts';
import { createOrganization } from '../../../src/commands/organization.ts';
import { BUILT_IN_PLANS } from '../../../src/domain/billing/plan.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { MessageDraft } from '../../../src/domain/message/draft.ts';
import { TTL_SECONDS_DEFAULT } from '../../../src/domain/message/retry-schedule.ts';
import { callerWith } from '../../support/controls/api-key.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';

const LIMIT = 4;
const draft: MessageDraft = {
  from: { address: 'shop@example.test' },
  recipients: [{ address: 'ann@example.net', kind: 'to' }],
  replyTo: [],
  subject: 'Hello',
  text: 'Hello',
  headers: {},
  attachments: [],
  tags: [],
  metadata: {},
  stream: 'transactional',
  ttlSeconds: TTL_SECONDS_DEFAULT,
};

/** An organization that may send to four recipients. What it has sent is not read again. */
const open = async () => {
  const system = createSystem();
  const contents = createInMemoryContents();
  const store = createInMemoryEventStore({ codec: eventCodec, system, contents });
  const quotas = createSendingQuotas(async () => 0, { monotonicMs: () => 0 });
  const context = { store, contents, system, secrets: createInMemorySecrets(), quotas } as unknown as CommandContext;
  const organizationId = await createOrganization(context, { name: 'Mine', ceilings: null });
  const origin = internalOrigin({ actor: 'key:key_1', organizationId, environment: 'live', causeId: 'test' });
  const plan = { ...BUILT_IN_PLANS.default, id: 'small', hardLimit: LIMIT };
  const caller = callerWith({ organizationId, permissions: ['send'], chosenPlans: [{ plan, from: '2020-01-01' }] });
  return {
    send: (idempotencyKey: string) => sendMessage(context, origin, caller, { draft, body: {}, idempotencyKey }),
    sendTwo: (idempotencyKey: string) =>
      sendBatch(context, origin, caller, {
        ...{ items: [{ draft }, { draft }], body: { messages: [{}, {}] } },
        ...{ strict: true, idempotencyKey },
      }),
  };
};

test('a message that is sent again with its key uses no more of the quota', async () => {
  const { send } = await open();
  for (let time = 0; time < 2 * LIMIT; time += 1) expect((await send('same')).replayed).toBe(time > 0);
  for (const key of ['b', 'c', 'd']) await send(key);
  await expect(send('e')).rejects.toMatchObject({ code: 'quota_exceeded' });
});

test('a batch that is sent again with its key uses no more of the quota', async () => {
  const { sendTwo } = await open();
  for (let time = 0; time < LIMIT; time += 1)
    expect(await sendTwo('same')).toMatchObject([{ replayed: time > 0 }, { replayed: time > 0 }]);
  await sendTwo('other');
  await expect(sendTwo('third')).rejects.toThrow();
});
