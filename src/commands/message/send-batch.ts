import type { Caller } from '../../domain/api-key/caller.ts';
import { keyedDigest, sha256Hex } from '../../domain/kernel/digest.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import { acceptMessage } from '../../domain/message/accept-message.ts';
import { message } from '../../domain/message/message.ts';
import { mapConcurrently, type System } from '../../lib/async/async.ts';
import { type CommandContext, load, type Origin } from '../execute.ts';
import { organizationSecret } from '../organization.ts';
import { billableOf, enforceQuota, withRefusal } from './enforce-quota.ts';
import {
  bodyDigest,
  type MessageIdentity,
  type PreparedMessage,
  prepareMessage,
  type Sender,
  type SendRequest,
} from './prepare-message.ts';
import { acceptPrepared, keyedMessageId, newMessageId, type SentMessage } from './send-message.ts';

interface SendBatch {
  /** An item that is refused already is its refusal. */
  readonly items: readonly (SendRequest | DomainError)[];
  /** One that is refused refuses all. */
  readonly strict: boolean;
  /** The parsed request body before defaults: its digests are recorded. */
  readonly body: BatchBody;
  /** null: none was sent. */
  readonly idempotencyKey: string | null;
}

/** In the order of the items. */
export type SentBatch = readonly (SentMessage | DomainError)[];

/** A strict batch of which nothing was written, because of these messages. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';
  readonly refusals: ReadonlyMap<number, DomainError>;
  constructor(refusals: ReadonlyMap<number, DomainError>) {
    super(`${refusals.size} messages of the batch are invalid`);
    this.refusals = refusals;
  }
}

/** Decision about a message that was not sent before. */
type BatchDecision =
  | { readonly prepared: PreparedMessage; readonly request: SendRequest; readonly refusal: DomainError | null }
  | { readonly prepared: null; readonly refusal: DomainError };

interface Batch {
  readonly context: CommandContext;
  readonly origin: Origin;
  readonly sender: Sender;
  readonly identities: BatchIdentities;
  readonly judged: readonly BatchDecision[];
}

/** The message that was written first, and its result if this request wrote it. */
interface Opening {
  readonly opener: number;
  readonly sent?: SentMessage;
}

const orRefusal = async <T>(work: () => T | Promise<T>): Promise<T | DomainError> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
};

const senderOf = ({ caller, ...sender }: Sender, { domain = caller.domain }: SendRequest): Sender => ({
  ...sender,
  caller: { ...caller, domain },
});

const judge =
  ({ system }: CommandContext, sender: Sender, identities: BatchIdentities) =>
  async (item: SendRequest | DomainError, index: number): Promise<BatchDecision> => {
    if (item instanceof DomainError) return { prepared: null, refusal: item };
    const prepared = await orRefusal(() =>
      prepareMessage(system, senderOf(sender, item), identities.of(index, 0), item),
    );
    if (prepared instanceof DomainError) return { prepared: null, refusal: prepared };
    const decided = await orRefusal(() => acceptMessage(message.initial, prepared.accept));
    return { prepared, request: item, refusal: decided instanceof DomainError ? decided : null };
  };

/** The message at `index` under the id that it has in this batch. */
const acceptOne = async (
  { context, origin, sender, identities, judged }: Batch,
  index: number,
  opener: number,
): Promise<SentMessage> => {
  const one = judged[index];
  if (one === undefined || one.prepared === null) throw one?.refusal ?? new RangeError(`no message ${index}`);
  const isMoved = index !== opener ? index === 0 : opener !== 0;
  const prepared = isMoved
    ? await prepareMessage(context.system, senderOf(sender, one.request), identities.of(index, opener), one.request)
    : one.prepared;
  return acceptPrepared(context, origin, prepared);
};

/** @throws {DomainError} `idempotency_key_reused`. */
const findOpening = async ({ context, identities }: Batch): Promise<Opening | null> => {
  const { messageId } = identities.of(0, 0);
  const { state } = await load(context.store, message, messageStream(messageId));
  if (state.status === 'absent') return null;
  const opener = identities.indexOf(state.accepted.bodyDigest);
  if (opener >= 0) return { opener };
  throw new DomainError('idempotency_key_reused', 'this Idempotency-Key was already used with another request body');
};

/**
 * Writes only the first message, or finds that it was written before.
 * @throws {DomainError} `idempotency_key_reused`, and nothing is written.
 */
const open = async (batch: Batch, first: number): Promise<Opening | null> => {
  try {
    return { opener: first, sent: await acceptOne(batch, first, first) };
  } catch (error) {
    // By now another message may be the first that is acceptable.
    if (error instanceof DomainError && error.code === 'idempotency_key_reused') return findOpening(batch);
    throw error;
  }
};

type RepeatedMessages = ReadonlyMap<number, SentMessage>;

/** Messages that are refused now but were accepted in an earlier try of this batch. */
const repeatRefused = async (batch: Batch, opening: Opening | null): Promise<RepeatedMessages> => {
  const found = new Map<number, SentMessage>();
  if (opening === null || opening.sent?.replayed === false) return found;
  const indexes = batch.judged.flatMap(({ prepared, refusal }, index) =>
    prepared === null || refusal === null ? [] : [index],
  );
  await mapConcurrently(indexes, { system: batch.context.system, concurrency: indexes.length }, async (index) => {
    try {
      found.set(index, await acceptOne(batch, index, opening.opener));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  });
  return found;
};

const requireAll = (batch: Batch, repeated: RepeatedMessages): void => {
  const refused = batch.judged.flatMap(({ refusal }, index) =>
    refusal === null || repeated.has(index) ? [] : [[index, refusal] as const],
  );
  if (refused.length > 0) throw new BatchRefused(new Map(refused));
};

/** All that are acceptable at once: they share commits. */
const acceptAll = (batch: Batch, opening: Opening | null, repeated: RepeatedMessages): Promise<SentBatch> => {
  const { context, judged } = batch;
  const { opener, sent } = opening ?? { opener: 0 };
  return mapConcurrently(judged, { system: context.system, concurrency: judged.length }, ({ refusal }, index) => {
    const known = index === opener && sent !== undefined ? sent : repeated.get(index);
    return known ?? refusal ?? acceptOne(batch, index, opener);
  });
};

const openBatch = async (batch: Batch, { strict, idempotencyKey }: SendBatch): Promise<Opening | null> => {
  if (idempotencyKey === null) return null;
  const first = batch.judged.findIndex(({ refusal }) => refusal === null);
  const isWhole = batch.judged.every(({ refusal }) => refusal === null);
  return first < 0 || (strict && !isWhole) ? findOpening(batch) : open(batch, first);
};

/**
 * Accepts many messages as `sendMessage` does each. It is no transaction over their streams: what fails halfway is
 * completed when it is sent again with the same key.
 * @throws {BatchRefused} strict, and some are refused that were not accepted before.
 * @throws {DomainError} `idempotency_key_reused`; nothing is written.
 */
export const sendBatch = async (
  context: CommandContext,
  origin: Origin,
  caller: Caller,
  command: SendBatch,
): Promise<SentBatch> => {
  const sends = command.items.map((item) => (item instanceof DomainError ? 0 : billableOf(item)));
  const reservation = await enforceQuota(context, caller, sends);
  let accepted = 0;
  try {
    const items = command.items.map((item, index) =>
      item instanceof DomainError ? item : withRefusal(item, reservation.refusals[index] ?? null),
    );
    const sent = await sendItems(context, origin, caller, { ...command, items });
    for (const [index, one] of sent.entries()) {
      if (!(one instanceof DomainError || one.replayed)) accepted += sends[index] ?? 0;
    }
    return sent;
  } finally {
    reservation.settle(accepted);
  }
};

const sendItems = async (
  context: CommandContext,
  origin: Origin,
  caller: Caller,
  command: SendBatch,
): Promise<SentBatch> => {
  const { items, strict } = command;
  const { system } = context;
  const sender = { caller, secret: await organizationSecret(context.secrets, caller.organizationId) };
  const identities = await batchIdentities(system, sender, command);
  const judged = await mapConcurrently(items, { system, concurrency: 1 }, judge(context, sender, identities));
  const batch = { context, origin, sender, identities, judged };
  const opening = await openBatch(batch, command);
  const repeated = await repeatRefused(batch, opening);
  if (strict) requireAll(batch, repeated);
  return acceptAll(batch, opening, repeated);
};

/** A parsed request body before defaults. */
export interface BatchBody {
  readonly messages: readonly unknown[];
  readonly [field: string]: unknown;
}

/** How the messages of one batch are known when it is repeated. */
interface BatchIdentities {
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
const batchIdentities = async (
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
