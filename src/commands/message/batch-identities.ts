import { keyedDigest, sha256Hex } from '../../domain/kernel/digest.ts';
import { mapConcurrently, type System } from '../../lib/async/async.ts';
import { bodyDigest, type MessageIdentity, type Sender } from './prepare-message.ts';
import { keyedMessageId, newMessageId } from './send-message.ts';

/** A parsed request body before defaults. */
export interface BatchBody {
  readonly messages: readonly unknown[];
  readonly [field: string]: unknown;
}

/** How the messages of one batch are known when it is repeated. */
export interface BatchIdentities {
  /**
   * Identity of the message at `index`, if the one at `opener` is written first. The opener's identity derives from the key
   * alone, like that of a single send: any other request with the key conflicts with it before it has written anything.
   */
  of(index: number, opener: number): MessageIdentity;
  /** Which message of this very batch has this digest; -1: none. */
  indexOf(bodyDigest: string): number;
}

const keyedIdentities = async (
  system: System,
  sender: Sender,
  {
    key,
    body: { messages, ...rest },
    parts,
  }: { readonly key: string; readonly body: BatchBody } & {
    readonly parts: readonly string[];
  },
): Promise<BatchIdentities> => {
  const whole = sha256Hex([await bodyDigest({ system }, rest), ...parts].join(' '));
  // Each covers the whole batch: another batch under the same key is refused by its first message.
  const digests = messages.map((_, index) => keyedDigest(sender.secret, 'batch-body', `${index} ${whole}`));
  const placeOf = (index: number, opener: number): number => {
    if (index === opener) return 0;
    return index === 0 ? opener : index;
  };
  return {
    of: (index, opener) => {
      const place = placeOf(index, opener);
      // A key is printable, so that no other key ends like this.
      const messageId = keyedMessageId(sender, place === 0 ? key : `${key}\0${place}`);
      return { messageId, bodyDigest: digests[index] ?? '', idempotent: true };
    },
    indexOf: (digest) => digests.indexOf(digest),
  };
};

/** @param idempotencyKey null: none was sent, and every message is a new one. */
export const batchIdentities = async (
  system: System,
  sender: Sender,
  { body, idempotencyKey }: { readonly body: BatchBody; readonly idempotencyKey: string | null },
): Promise<BatchIdentities> => {
  const parts = await mapConcurrently(body.messages, { system, concurrency: 1 }, (each) =>
    bodyDigest({ system }, each),
  );
  if (idempotencyKey !== null) return keyedIdentities(system, sender, { key: idempotencyKey, body, parts });
  return {
    of: (index) => ({
      messageId: newMessageId(system),
      bodyDigest: keyedDigest(sender.secret, 'body', parts[index] ?? ''),
      idempotent: false,
    }),
    indexOf: () => -1,
  };
};
