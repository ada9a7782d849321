import { type CommandContext, eventContext, internalOrigin } from '../../src/commands/execute.ts';
import { cancelMessage } from '../../src/commands/message/attempt.ts';
import { sendMessage } from '../../src/commands/message/send-message.ts';
import { createOrganization } from '../../src/commands/organization.ts';
import { registerDomain } from '../../src/commands/sending-domain/change-domain.ts';
import { registerWebhook } from '../../src/commands/webhook.ts';
import type { Caller } from '../../src/domain/api-key/caller.ts';
import { monthOf, previousMonth } from '../../src/domain/billing/plan.ts';
import { messageStream } from '../../src/domain/kernel/streams.ts';
import type { MessageDraft } from '../../src/domain/message/draft.ts';
import { TTL_SECONDS_DEFAULT } from '../../src/domain/message/retry-schedule.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { FailPointName } from '../harness/fault-points.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import type { World } from '../harness/world.ts';
import { asOperator, untilInLog } from './as-operator.ts';
import { inWorld } from './in-world.ts';
import { sendAll } from './send-all.ts';

/**
 * Recipients of each month's message, oldest month first. One of each fails, which is free; the others are cancelled.
 */
const RECIPIENTS = [3, 5, 9];
const LOOKS_MAX = 150;

interface Sending {
  readonly context: CommandContext;
  readonly organizationId: string;
  readonly domain: Caller['domain'];
}

/** Sends a message that ends before the programs start, so that none of its mail leaves. */
const sendAndEnd = async ({ context, organizationId, domain }: Sending, recipients: number): Promise<void> => {
  const origin = internalOrigin({ actor: 'operator', organizationId, environment: 'live', causeId: organizationId });
  const caller: Caller = {
    keyId: 'chaos',
    secret: 0,
    organizationId,
    environment: 'live',
    permissions: ['send'],
    bounds: { allowedCidrs: [], expiresAt: null, rateLimits: {} },
    domain,
  };
  const draft: MessageDraft = {
    from: { address: `shop@${domain.name}` },
    recipients: Array.from({ length: recipients }, (_, number) => ({ address: `r${number}@example.org`, kind: 'to' })),
    replyTo: [],
    headers: {},
    attachments: [],
    tags: [],
    metadata: {},
    subject: 'Of long ago',
    text: 'Hello',
    stream: 'transactional',
    ttlSeconds: TTL_SECONDS_DEFAULT,
  };
  const { message } = await sendMessage(context, origin, caller, { draft, body: null, idempotencyKey: null });
  const { messageId, contentId } = message.accepted;
  const [first] = message.recipients;
  const data = { messageId, contentId, sequence: recipients + 1, recipientId: first?.id ?? '', reason: 'it failed' };
  await context.store.append({
    stream: messageStream(messageId),
    expected: 0,
    events: [{ type: 'RecipientFailed', data, id: context.system.uuid() }],
    context: eventContext(origin, context.system.now().toISOString()),
  });
  await cancelMessage(context, origin, { messageId });
};

/**
 * Creates an organization that is three months old, sent in every month and has no closed month. @returns those months.
 */
const makeOldOrganization = (world: World): Promise<readonly string[]> =>
  asOperator(world, async ({ context }) => {
    const last = previousMonth(monthOf(context.system.now().toISOString()));
    const months = [previousMonth(previousMonth(last)), previousMonth(last), last];
    const at = (time: string): CommandContext => ({
      ...context,
      system: { ...context.system, now: () => new Date(time) },
      // The receiver is on this machine, which is not allowed for customers.
      webhookTarget: { ...context.webhookTarget, problemWith: async () => null },
    });
    const first = at(`${months[0]}-15T00:00:00.000Z`);
    const organizationId = await createOrganization(first, { name: 'Of long ago', ceilings: null });
    const origin = internalOrigin({ actor: 'operator', organizationId, causeId: organizationId });
    const { domain } = await registerDomain(first, origin, { name: 'old.example' });
    const endpoint = {
      url: world.receiver.url,
      events: ['message.*'],
      environment: 'live',
      description: null,
    } as const;
    await registerWebhook(first, origin, endpoint);
    for (const [index, month] of months.entries()) {
      const sending = { context: at(`${month}-16T12:00:00.000Z`), organizationId };
      const { domainId: id, name } = domain;
      await sendAndEnd({ ...sending, domain: { id, name, verified: true } }, RECIPIENTS[index] ?? 0);
    }
    return months;
  });

type ClosingEvent = Extract<Evidence['events'][number], { readonly type: 'InvoiceClosed' }>;

const closedIn = ({ events }: Pick<Evidence, 'events'>): readonly ClosingEvent[] =>
  events.flatMap((event) => (event.type === 'InvoiceClosed' ? [event] : []));

const statedBy = ({ data: { month, lines } }: ClosingEvent): string =>
  [month, ...lines.flatMap(({ kind, quantity }) => (kind === 'plan' ? [] : [`${kind} ${quantity}`]))].join(' ');

/** Each month must have one invoice, in order, that counts each of its recipients once. */
const eachClosedOnce =
  (months: readonly string[]) =>
  (evidence: Evidence): readonly Violation[] => {
    const closed = closedIn(evidence).map(statedBy).join();
    const expected = months.map((month, index) => `${month} recipients ${(RECIPIENTS[index] ?? 0) - 1}`).join();
    if (closed === expected) return [];
    return [{ promise: 'scenario', what: `closed ${closed || 'nothing'}, instead of ${expected}` }];
  };

const diesOfClosing = (point: FailPointName): Scenario => {
  let months: readonly string[] = [];
  return {
    name: `killed ${point} by the invoice of a month`,
    run: () =>
      inWorld(
        {},
        async (world) => {
          const { programs, load } = world;
          months = await makeOldOrganization(world);
          await programs.startToDie({ OUTBOX_FAIL_POINT: point });
          await programs.died();
          await programs.start();
          await sendAll(load);
          await untilInLog(world, (log) => closedIn({ events: log }).length >= RECIPIENTS.length, {
            looksMax: LOOKS_MAX,
            never: 'the months were not all closed',
          });
        },
        { more: (evidence) => eachClosedOnce(months)(evidence) },
      ),
  };
};

/**
 * An invoice is one append at an expected revision, so a crash leaves it complete or absent, and the next process
 * continues.
 */
export const INVOICE_CRASHES: readonly Scenario[] = [
  diesOfClosing('before-append-invoice'),
  diesOfClosing('after-append-invoice'),
];
