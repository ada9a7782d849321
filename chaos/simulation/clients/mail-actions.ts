import { releaseDestination } from '../../../src/commands/destination.ts';
import { cancelMessage, rescheduleMessage } from '../../../src/commands/message/attempt.ts';
import { findLinkedRecipient, recordUnsubscription } from '../../../src/commands/message/recipient.ts';
import { BatchRefused, sendBatch } from '../../../src/commands/message/send-batch.ts';
import { sendMessage } from '../../../src/commands/message/send-message.ts';
import type { Environment } from '../../../src/domain/kernel/environment.ts';
import { DomainError, type ErrorCode } from '../../../src/domain/kernel/errors.ts';
import type { MessageDraft } from '../../../src/domain/message/draft.ts';
import type { Desk } from './desk.ts';
import { draft } from './drafts.ts';

/** A client's task, from its first request to a final response. */
export type Action = (desk: Desk) => Promise<void>;

const TRIES = 8;
const BATCH_MAX = 5;

const nowOf = ({ world: { ground } }: Desk): number => ground.startMs + ground.scheduler.nowMs();

const settingOf = (desk: Desk) => ({ now: nowOf(desk), domains: desk.world.operators.domains });

const environmentOf = ({ world: { ground } }: Desk): Environment => (ground.random.chance(0.1) ? 'test' : 'live');

/** The same key must return the same message, and a different body under it must be rejected, in either order. */
const REPEATED: readonly ErrorCode[] = ['schedule_not_possible'];
const REUSED: readonly ErrorCode[] = [...REPEATED, 'idempotency_key_reused'];

const nextKey = (desk: Desk): string => `k${desk.bodies.size + 1}`;

interface Single {
  readonly key: string;
  readonly environment: Environment;
  readonly draft: MessageDraft;
}

const sendOnce = async (desk: Desk, { key, environment, draft: sent }: Single): Promise<void> => {
  const { tenant, ask, bodies } = desk;
  const body = JSON.stringify(sent);
  bodies.set(key, body);
  const command = { draft: sent, body, idempotencyKey: key };
  const told = await ask(
    `send ${key}`,
    ({ context }) => sendMessage(context, tenant.origin(environment), tenant.caller(environment), command),
    TRIES,
  );
  const done = desk.expect(`send ${key}`, told, desk.reused.has(key) ? REUSED : REPEATED);
  if (done === null) return;
  desk.sent(`${key} ${sent.subject}`, done.message);
  desk.messageIds.push(done.message.accepted.messageId);
};

/** Sometimes two clients send the same request at once, for example after the first was thought dead. */
const send: Action = async (desk) => {
  const { random } = desk.world.ground;
  const key = nextKey(desk);
  const single = { key, environment: environmentOf(desk), draft: draft(random, { name: key, ...settingOf(desk) }) };
  const other = { ...single, draft: { ...single.draft, subject: 'Something else' } };
  const twice = random.chance(0.2);
  const reused = random.chance(0.1);
  if (reused) desk.reused.add(key);
  await Promise.all([
    sendOnce(desk, single),
    ...(twice ? [sendOnce(desk, single)] : []),
    ...(reused ? [sendOnce(desk, other)] : []),
  ]);
};

const sendUnkeyed: Action = async (desk) => {
  const { tenant, ask } = desk;
  const sent = draft(desk.world.ground.random, { name: '', ...settingOf(desk) });
  const told = await ask(
    'send',
    ({ context }) =>
      sendMessage(context, tenant.origin('live'), tenant.caller('live'), {
        draft: sent,
        body: sent,
        idempotencyKey: null,
      }),
    1,
  );
  const done = desk.expect('send', told, REPEATED);
  if (done !== null) desk.messageIds.push(done.message.accepted.messageId);
};

const batch: Action = async (desk) => {
  const { tenant, ask } = desk;
  const { random } = desk.world.ground;
  const key = nextKey(desk);
  const setting = settingOf(desk);
  const drafts = Array.from({ length: random.between(1, BATCH_MAX) }, (_, index) =>
    draft(random, { name: `${key}#${index}`, ...setting }),
  );
  desk.bodies.set(key, JSON.stringify(drafts));
  const command = {
    items: drafts.map((each) => ({ draft: each })),
    strict: random.chance(0.3),
    body: { messages: drafts },
    idempotencyKey: key,
  };
  const told = await ask(
    `batch ${key}`,
    ({ context }) =>
      sendBatch(context, tenant.origin('live'), tenant.caller('live'), command).catch((error: unknown) => {
        if (error instanceof BatchRefused) return [];
        throw error;
      }),
    TRIES,
  );
  for (const [index, sent] of (desk.expect(`batch ${key}`, told, []) ?? []).entries()) {
    if (sent instanceof DomainError) continue;
    desk.sent(`${key}#${index}`, sent.message);
    desk.messageIds.push(sent.message.accepted.messageId);
  }
};

const CANCEL: readonly ErrorCode[] = ['message_being_sent', 'message_ended'];

const cancel: Action = async (desk) => {
  const { tenant, ask, messageIds, world } = desk;
  if (messageIds.length === 0) return;
  const messageId = world.ground.random.pick(messageIds);
  const told = await ask(
    `cancel ${messageId}`,
    ({ context }) => cancelMessage(context, tenant.origin('live'), { messageId }),
    TRIES,
  );
  const done = desk.expect(`cancel ${messageId}`, told, CANCEL);
  if (done !== null) desk.changed(done);
};

const RESCHEDULE: readonly ErrorCode[] = [...CANCEL, 'message_not_scheduled', 'schedule_not_possible'];

const reschedule: Action = async (desk) => {
  const { tenant, ask, messageIds, world } = desk;
  if (messageIds.length === 0) return;
  const messageId = world.ground.random.pick(messageIds);
  const scheduledAt = new Date(nowOf(desk) + world.ground.random.between(3000, 30_000)).toISOString();
  const told = await ask(
    `reschedule ${messageId}`,
    ({ context }) => rescheduleMessage(context, tenant.origin('live'), { messageId, scheduledAt }),
    TRIES,
  );
  const done = desk.expect(`reschedule ${messageId}`, told, RESCHEDULE);
  if (done !== null) desk.changed(done);
};

const SIMULATED = { requestId: 'simulated', sourceClass: 'public' } as const;

/** Follows the unsubscribe link of a mail, which must work whatever has happened to the message since. */
const unsubscribe: Action = async ({ ask, world, expect }) => {
  const links = world.office.copies().flatMap(({ unsubscribeUrl }) => unsubscribeUrl ?? []);
  if (links.length === 0) return;
  const token = world.ground.random.pick(links).split('/').at(-1) ?? '';
  const told = await ask(
    'unsubscribe',
    async ({ context }) => {
      const recipient = await findLinkedRecipient(context, 'unsubscribe', token);
      await recordUnsubscription(context, recipient, { method: 'one_click', topicId: null, request: SIMULATED });
    },
    TRIES,
  );
  expect('unsubscribe', told, []);
};

/** An operator inspects suspensions and releases one. */
const release: Action = async ({ tenant, ask, world, expect }) => {
  const { names } = world.operators;
  if (names.length === 0) return;
  const operator = world.ground.random.pick(names);
  const told = await ask(
    `release ${operator}`,
    ({ context }) => releaseDestination(context, tenant.origin('live'), operator),
    TRIES,
  );
  expect(`release ${operator}`, told, []);
};

export const MAIL_ACTIONS: readonly Action[] = [
  send,
  send,
  send,
  sendUnkeyed,
  batch,
  cancel,
  cancel,
  reschedule,
  unsubscribe,
  release,
];
