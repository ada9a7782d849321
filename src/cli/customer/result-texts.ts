import type { z } from 'zod';
import type { SerializedMessage } from '../../http/resources/messages/message.ts';
import type {
  addedSuppressionsSchema,
  SerializedSuppression,
  suppressionCheckSchema,
  suppressionImportSchema,
} from '../../http/resources/suppressions/add-suppressions.ts';
import type { SerializedWebhookDelivery } from '../../http/resources/webhooks/deliveries.ts';
import type { createdWebhookSchema, pingedWebhookSchema } from '../../http/resources/webhooks/webhook.ts';
import type { Result } from '../command.ts';
import { fieldLines, table } from '../terminal.ts';

/** Results of commands as sentences for people. */

const MAIL: Readonly<Record<SerializedSuppression['scope'], string>> = {
  all: 'all mail',
  transactional: 'transactional mail',
  bulk: 'bulk mail',
  topic: 'a topic',
};

const suppressedText = ({ address, scope, reason, expires_at: until }: SerializedSuppression): string =>
  `${address ?? 'an erased address'} is suppressed for ${MAIL[scope]} (${reason})${until === null ? '' : ` until ${until}`}`;

export const suppressionAddedText = (result: Result): string => {
  const added = result as unknown as SerializedSuppression | z.infer<typeof addedSuppressionsSchema>;
  return ('data' in added ? added.data : [added]).map(suppressedText).join('\n');
};

const activeReason = ({ status, scope, reason, added_at: since }: SerializedSuppression['entries'][number]) =>
  status === 'active' && scope !== 'topic' ? [`${reason}, since ${since}`] : [];

export const suppressionCheckText = (result: Result): string => {
  const { address, suppressed, suppression } = result as unknown as z.infer<typeof suppressionCheckSchema>;
  const { transactional, bulk } = suppressed;
  if (!transactional && !bulk) return `${address} is not suppressed`;
  const mail = transactional && bulk ? 'all mail' : transactional ? 'transactional mail' : 'bulk mail';
  const reasons = suppression?.entries.flatMap(activeReason) ?? [];
  const why = reasons.length === 0 ? '' : `: ${reasons.join('; ')}`;
  return `${address} is suppressed for ${mail}${why}`;
};

export const suppressionRemovedText = (result: Result): string =>
  `${(result as { readonly suppression: string }).suppression} is no longer suppressed`;

export const suppressionImportText = (result: Result): string => {
  const { imported, unchanged, refused, problems } = result as unknown as z.infer<typeof suppressionImportSchema>;
  const lines = problems.map(({ line, message }) => `  line ${line}: ${message}`);
  return [`${imported} added, ${unchanged} already suppressed, ${refused} rejected`, ...lines].join('\n');
};

/** @param result of a customer, or of an operator. */
export const keyEndedText = (result: Result): string => {
  const { id, key_id = id, name, status } = result as Readonly<Record<string, unknown>>;
  return `Key ${String(key_id)} (${String(name)}) is ${String(status)}: requests with it are rejected`;
};

export const messageCancelledText = (result: Result): string => {
  const { id, status } = result as unknown as Pick<SerializedMessage, 'id' | 'status'>;
  return status === 'cancelled' ? `Message ${id} is cancelled: it will not be sent` : `Message ${id} is ${status}`;
};

export const webhookAddedText = (result: Result): string => {
  const { id, url, events, secret } = result as unknown as z.infer<typeof createdWebhookSchema>;
  return [
    `Webhook ${id} is added: it posts ${events.join(', ')} to ${url}`,
    `Signing secret, which is not shown again: ${secret}`,
    `Send a test event: outbox webhooks ping ${id}`,
  ].join('\n');
};

/** A response has up to 1 kB. Higher: it wraps over many lines. Lower: it is cut before it says what is wrong. */
const DELIVERY_COLUMNS = 160;

export const webhookPingText = (result: Result): string => {
  const { webhook_id: id, delivery_id: delivery } = result as unknown as z.infer<typeof pingedWebhookSchema>;
  return `A test event is on its way to ${id} (${delivery}). See how your endpoint answers: outbox webhooks show ${id}`;
};

const lastResponse = ({ attempts }: SerializedWebhookDelivery): string | null => {
  const last = attempts.at(-1);
  if (last === undefined) return null;
  return `${last.status ?? 'none'} ${last.response}`.trim();
};

export const webhookText = (result: Result): string => {
  const { deliveries, ...webhook } = result as Readonly<Record<string, unknown>> & {
    readonly deliveries: readonly SerializedWebhookDelivery[]; // `webhooks show` returns it
  };
  const rows = deliveries.map((one) => [
    ...[one.created_at, one.status, one.event_type, String(one.attempts.length)],
    lastResponse(one),
  ]);
  const headings = ['CREATED AT', 'STATUS', 'EVENT', 'ATTEMPTS', 'LAST RESPONSE'];
  const shown = rows.length === 0 ? 'no deliveries yet' : table(headings, rows, DELIVERY_COLUMNS);
  return `${fieldLines(webhook)}\n\n${shown}`;
};

/** @param what `domain`, the field that names it. */
export const deletedText =
  (what: 'domain' | 'webhook') =>
  (result: Result): string =>
    `${what} ${String((result as Readonly<Record<string, unknown>>)[what])} deleted`;

/** Result of `messages resend`. */
export interface ResentMessage {
  readonly id: string;
  readonly resend_of: string;
  readonly replayed: boolean;
  readonly recipients: readonly { readonly address: string }[];
}

export const resentText = (result: Result): string => {
  const { id, resend_of: original, replayed, recipients } = result as unknown as ResentMessage;
  const to = recipients.map(({ address }) => address).join(', ');
  return replayed
    ? `Nothing was sent: ${original} was already sent again to ${to}, as ${id}`
    : `Sent again to ${to}, as ${id}`;
};
