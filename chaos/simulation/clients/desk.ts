import { isDeepStrictEqual } from 'node:util';
import type { ChangedMessage } from '../../../src/commands/message/attempt.ts';
import { fold } from '../../../src/domain/kernel/aggregate.ts';
import type { ErrorCode } from '../../../src/domain/kernel/errors.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { type ExistingMessage, message } from '../../../src/domain/message/message.ts';
import type { World } from '../world.ts';
import type { Ask, RequestResult } from './ask.ts';
import type { Tenant } from './tenant.ts';

/** All responses that clients have received so far, and the rules that follow from them. */
export interface Desk {
  readonly world: World;
  readonly tenant: Tenant;
  readonly ask: Ask;
  /** Ids of accepted messages. */
  readonly messageIds: string[];
  /** Idempotency keys in use, each with the body of its first request. */
  readonly bodies: Map<string, string>;
  /** Keys that are used with two different bodies. */
  readonly reused: Set<string>;
  /** Records a response under this key. Every response must name the same message. */
  sent(name: string, sent: ExistingMessage): void;
  /** Records a response to a change. The log must agree at that revision. */
  changed(changed: ChangedMessage): void;
  /** @returns the result if the request was carried out. A rejection with an unlisted code breaks a rule. */
  expect<T>(what: string, told: RequestResult<T>, codes: readonly ErrorCode[]): T | null;
  judge(): Promise<void>;
}

export const createDesk = (world: World, tenant: Tenant, ask: Ask): Desk => {
  const { log, violate } = world;
  const ids = new Map<string, string>();
  const changes: ChangedMessage[] = [];

  const judgeChange = ({ message: told, revision }: ChangedMessage): void => {
    const stream = messageStream(told.accepted.messageId);
    const events = log.events().flatMap(({ event }) => (event.stream === stream ? [event] : []));
    const replayed = fold(message, events.slice(0, revision + 1));
    // Compares after a JSON round trip, because the log stores JSON.
    if (isDeepStrictEqual(JSON.parse(JSON.stringify(told)), replayed)) return;
    violate('scenario', `${stream}: the answer at revision ${revision} differs from the log`);
  };

  /** One idempotency key must yield one message, however often and wherever it was used. */
  const judgeAccepted = async (): Promise<void> => {
    const contentIds = log
      .events()
      .flatMap(({ event }) => (event.type === 'MessageAccepted' ? [event.data.contentId] : []));
    const found = await world.vault.contents.get(contentIds);
    const names = contentIds.flatMap((id) => {
      const body = found.get(id);
      if (body?.kind !== 'message') violate('accepted is settled', `the vault has lost the contents ${id}`);
      return body?.kind === 'message' ? [body.metadata.name ?? ''] : [];
    });
    for (const [name, messages] of Map.groupBy(names, (each) => each)) {
      if (name !== '' && messages.length > 1) violate('scenario', `${name} became ${messages.length} messages`);
    }
  };

  const judgeNames = (): void => {
    const accepted = new Set(
      log.events().flatMap(({ event }) => (event.type === 'MessageAccepted' ? [event.data.messageId] : [])),
    );
    for (const [name, id] of ids) {
      if (!accepted.has(id)) violate('accepted is settled', `${name} was answered with ${id}, which is not in the log`);
    }
  };

  return {
    world,
    tenant,
    ask,
    messageIds: [],
    bodies: new Map(),
    reused: new Set(),
    sent: (name, { accepted }) => {
      const known = ids.get(name);
      if (known !== undefined && known !== accepted.messageId) {
        violate('scenario', `${name} is ${known}, and was answered with ${accepted.messageId}`);
      }
      ids.set(name, accepted.messageId);
      const namesake = [...ids].find(([other, id]) => other !== name && id === accepted.messageId);
      if (namesake !== undefined) violate('scenario', `${name} was answered with the message of ${namesake[0]}`);
    },
    changed: (changed) => changes.push(changed),
    expect: (what, told, codes) => {
      if (told === null) return null;
      if ('done' in told) return told.done;
      const { code, message: sentence } = told.refused;
      if (!codes.includes(code)) violate('scenario', `${what} was refused: ${code} (${sentence})`);
      return null;
    },
    judge: async () => {
      judgeNames();
      await judgeAccepted();
      for (const changed of changes) judgeChange(changed);
    },
  };
};
