import { clearContact, contactsTo } from '../../commands/auditor.ts';
import {
  cancelForErased,
  completeErasure,
  type Endpoint,
  type ErasableData,
  findInInbound,
  findInMessage,
  findInSuppressions,
  type InboundOf,
  type MessagesTo,
  type Person,
  pagesTo,
  suppressErased,
  together,
} from '../../commands/erasure.ts';
import { isHeld } from '../../commands/organization.ts';
import { ERASURE_COUNTS_NONE, type ExistingErasure } from '../../domain/erasure/erasure.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import type { Contents, Retention } from '../../domain/ports/contents.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { pause, type System } from '../../lib/async/async.ts';
import type { InboundRoutes } from '../domains/inbound-routes.ts';
import type { Auditors } from '../in-memory-projections.ts';
import type { Leadership, Work } from '../supervise.ts';

/**
 * Carries out erasures. A walk goes through all messages to the address, a page at a time: it cancels what has not been
 * sent, and removes what has ended. What a message holds is found in its stream by ids; the address itself is not needed.
 *
 * An erasure is complete after a walk that found nothing to remove and nothing to wait for. So at least two walks are
 * made, and what was being written while the first one passed (the answer of a webhook, a report of a mail server) is
 * found by the next. Every step can be repeated: a process that dies goes on with the walk. A legal hold delays all but
 * the suppression.
 */

export interface ErasePeople {
  readonly retention: Pick<
    Retention,
    'erase' | 'eraseRefusedRequests' | 'eraseMemberViews' | 'noteErasure' | 'erasureProgress'
  >;
  readonly store: EventStore;
  readonly system: System;
  readonly contents: Pick<Contents, 'get'>;
  readonly secrets: Secrets;
  readonly auditors: Auditors;
  readonly inboundRoutes: Pick<InboundRoutes, 'addressIdsOf'>;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  /** Those that are not known to be done, by id. */
  unfinished(by: { readonly after: string; readonly limit: number }): Promise<readonly ExistingErasure[]>;
  readonly messagesTo: MessagesTo;
  readonly inboundOf: InboundOf;
  endpointsOf(organizationId: string): Promise<readonly Endpoint[]>;
  /** Waits until read models have what the log holds now. @returns false: not in time. */
  caughtUp(): Promise<boolean>;
  /** Default: `ROUND_EVERY_MS`. */
  readonly roundEveryMs?: number | undefined;
}

/**
 * Between walks. A webhook is posted for 15 s at most: shorter, and the walk that finds nothing may have come before its
 * answer was stored. Longer delays every erasure.
 */
const ROUND_EVERY_MS = 20_000;
/** An erasure that waits for messages to end is walked again after a share of its age, but after this long at the latest. */
const WAIT_SHARE = 4;
const WAIT_MS_MAX = 600_000;
const ERASURES_PER_PAGE = 100;
/** Rest after a page of messages, in times of what it took: live traffic goes first. */
const REST_SHARE = 1;

interface ErasureProgress {
  readonly removed: number;
  readonly waitingMessages: number;
}

export const erasePeople = (parts: ErasePeople): Work => {
  const { retention, store, system, leadership, auditors, unfinished, messagesTo, inboundOf, endpointsOf, caughtUp } =
    parts;
  const { roundEveryMs = ROUND_EVERY_MS } = parts;
  const context = { store, system };
  /** When erasures that wait are walked again, by id. */
  const nextWalkMs = new Map<string, number>();

  const remove = async ({ erasureId, organizationId }: ExistingErasure, found: ErasableData): Promise<number> => {
    const { contentIds, recipientIds, deliveryIds, mail } = found;
    if (contentIds.length === 0 || (await isHeld(context, organizationId))) return 0;
    const going = { erasureId, organizationId, contentIds, recipientIds, deliveryIds, mail };
    return retention.erase({ ...going, at: system.now() });
  };

  const removePage = async (
    running: ExistingErasure,
    person: Person,
    ids: readonly string[],
  ): Promise<ErasureProgress> => {
    const found: ErasableData[] = [];
    for (const id of ids) {
      await cancelForErased(context, running, id);
      found.push(await findInMessage(context, person, id));
    }
    const { waitingMessages, ...going } = together(found);
    return { removed: await remove(running, { ...going, waitingMessages }), waitingMessages };
  };

  const walk = async (running: ExistingErasure, signal: AbortSignal): Promise<ErasureProgress> => {
    const { organizationId, digest } = running;
    const person = { organizationId, digest, endpoints: await endpointsOf(organizationId) };
    const inSuppressions = await findInSuppressions(context, person);
    const contactIds = await contactsTo(parts, person, auditors.values());
    await clearContact(context, running, contactIds);
    const forwardedTo = parts.inboundRoutes.addressIdsOf(organizationId, digest);
    const contentIds = [...inSuppressions.contentIds, ...contactIds, ...forwardedTo];
    let removed = await remove(running, { ...inSuppressions, contentIds });
    removed += await retention.eraseRefusedRequests(running);
    removed += await retention.eraseMemberViews(running);
    for await (const found of findInInbound(context, inboundOf, person)) {
      removed += await remove(running, found);
      signal.throwIfAborted();
    }
    let waitingMessages = 0;
    for await (const messageIds of pagesTo(messagesTo, person)) {
      const begunMs = system.monotonicMs();
      const page = await removePage(running, person, messageIds);
      removed += page.removed;
      waitingMessages += page.waitingMessages;
      await pause(system, (system.monotonicMs() - begunMs) * REST_SHARE, signal);
      signal.throwIfAborted();
    }
    return { removed, waitingMessages };
  };

  const complete = async (running: ExistingErasure): Promise<void> => {
    const { erasureId } = running;
    const progress = (await retention.erasureProgress([erasureId])).get(erasureId);
    await completeErasure(context, running, progress?.counts ?? ERASURE_COUNTS_NONE);
  };

  /** A hold that began during the walk has kept what it came to. */
  const isClean = async (
    { organizationId }: ExistingErasure,
    { removed, waitingMessages }: ErasureProgress,
  ): Promise<boolean> => removed === 0 && waitingMessages === 0 && !(await isHeld(context, organizationId));

  const schedule = ({ erasureId, createdAt }: ExistingErasure, { removed, waitingMessages }: ErasureProgress): void => {
    const waitMs = Math.min(WAIT_MS_MAX, (system.now().getTime() - Date.parse(createdAt)) / WAIT_SHARE);
    if (removed === 0 && waitingMessages > 0) nextWalkMs.set(erasureId, system.monotonicMs() + waitMs);
    else nextWalkMs.delete(erasureId);
  };

  /** The mark comes last: an erasure whose record is not in the log is walked again. */
  const carryOut = async (running: ExistingErasure, signal: AbortSignal): Promise<void> => {
    const { erasureId, organizationId } = running;
    if (running.suppress) await suppressErased(context, running);
    if (await isHeld(context, organizationId)) return;
    const walked = await walk(running, signal);
    const isDone = await isClean(running, walked);
    if (isDone) await complete(running);
    const { waitingMessages } = walked;
    await retention.noteErasure({ erasureId, organizationId, waitingMessages, isDone, at: system.now() });
    schedule(running, walked);
  };

  /** Reads in pages. An erasure that ends during the loop does not affect those after it. */
  async function* allDue(): AsyncGenerator<ExistingErasure> {
    let page = await unfinished({ after: '', limit: ERASURES_PER_PAGE });
    while (page.length > 0) {
      yield* page.filter(({ erasureId }) => (nextWalkMs.get(erasureId) ?? 0) <= system.monotonicMs());
      page = await unfinished({ after: page.at(-1)?.erasureId ?? '', limit: ERASURES_PER_PAGE });
    }
  }

  const round = async (signal: AbortSignal): Promise<void> => {
    for await (const running of allDue()) {
      if (signal.aborted || !leadership.isLeader()) return;
      await carryOut(running, signal);
    }
  };

  return async (signal, working) => {
    while (!signal.aborted) {
      if (leadership.isLeader() && (await caughtUp())) await round(signal);
      working();
      await pause(system, roundEveryMs, signal);
    }
  };
};
