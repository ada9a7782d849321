/** Use cases of forwarding: the claim of an attempt, what came of it, and a report that comes later. */

import type { InboundReport } from '../../domain/bounce/report.ts';
import type { ForwardFailure } from '../../domain/inbound/events.ts';
import {
  bounceForward as decideBounceForward,
  deferForward as decideDeferForward,
  failForward as decideFailForward,
  recordForward as decideRecordForward,
  startForward as decideStartForward,
  type ForwardOutcome,
} from '../../domain/inbound/forward.ts';
import { type ExistingInbound, type Inbound, inbound } from '../../domain/inbound/inbound.ts';
import { inboundRoute, isForwardConfirmed } from '../../domain/inbound/route.ts';
import type { InboundEvent } from '../../domain/kernel/events.ts';
import { inboundRouteStream, inboundStream, suppressionStream } from '../../domain/kernel/streams.ts';
import { strongestEntry, suppression, suppressionId } from '../../domain/suppression/suppression.ts';
import { random } from '../../lib/async/async.ts';
import { type CommandContext, eventContext, execute, internalOrigin, type LoadedStream, load } from '../execute.ts';
import { forwardAddresses } from './route.ts';

type Context = Pick<CommandContext, 'store' | 'system'>;

export interface LoadedInbound extends LoadedStream<Inbound> {
  readonly state: ExistingInbound;
}

/** @param known absent: the stream is read again. */
const change = async (
  context: Context,
  { inboundId, organizationId, environment }: ExistingInbound,
  decide: (state: Inbound) => readonly InboundEvent[],
  known?: LoadedInbound,
): Promise<readonly InboundEvent[]> => {
  const origin = internalOrigin({ actor: 'worker:forward-mail', organizationId, environment, causeId: inboundId });
  const { events } = await execute(context, {
    aggregate: inbound,
    stream: inboundStream(inboundId),
    context: eventContext(origin, context.system.now().toISOString()),
    decide,
    ...(known === undefined ? {} : { known: { state: known.state, revision: known.revision } }),
  });
  return events;
};

/** @returns null if the message does not exist. */
export const loadForward = async (
  { store }: Pick<Context, 'store'>,
  inboundId: string,
): Promise<LoadedInbound | null> => {
  const { state, revision } = await load(store, inbound, inboundStream(inboundId));
  return state.status === 'absent' ? null : { state, revision };
};

/** The address that a message is forwarded to now, or the reason why it is not. */
export type ForwardTarget = { readonly address: string } | { readonly failure: ForwardFailure };

export const findForwardTarget = async (
  context: Pick<CommandContext, 'store' | 'contents' | 'system'>,
  { routeId, environment }: ExistingInbound,
): Promise<ForwardTarget> => {
  const { state } = await load(context.store, inboundRoute, inboundRouteStream(routeId ?? ''));
  if (state.status !== 'active' || state.forwardTo === undefined) return { failure: 'route_changed' };
  const address = (await forwardAddresses(context, [state])).get(state.routeId);
  if (address === undefined) return { failure: 'address_erased' };
  if (!isForwardConfirmed(state)) return { failure: 'not_confirmed' };
  const listed = suppressionStream(suppressionId(environment ?? 'live', state.forwardTo.digest));
  const { state: entries } = await load(context.store, suppression, listed);
  const now = context.system.now().toISOString();
  const entry = strongestEntry(entries, { stream: 'transactional', topicId: null }, now);
  return entry === null ? { address } : { failure: 'suppressed' };
};

const nowOf = ({ system }: Context) => ({ now: system.now().toISOString(), random: random(system) });

/**
 * Claims an attempt. An earlier one whose lease has ended is recorded as lost instead.
 * @returns the number of the attempt; null: nothing is due, or another process has claimed it.
 */
export const claimForward = async (context: Context, known: LoadedInbound, leaseMs: number): Promise<number | null> => {
  const leaseUntil = new Date(context.system.now().getTime() + leaseMs).toISOString();
  const decide = (state: Inbound) => decideStartForward(state, { ...nowOf(context), leaseUntil });
  const [event] = await change(context, known.state, decide, known);
  return event?.type === 'InboundForwardStarted' ? event.data.attempt : null;
};

/** Records the outcome of an attempt. @returns what is recorded; none if another process has recorded it as lost. */
export const recordForward = (
  context: Context,
  state: ExistingInbound,
  recorded: { readonly attempt: number; readonly reported: ForwardOutcome },
): Promise<readonly InboundEvent[]> =>
  change(context, state, (now) => decideRecordForward(now, { ...nowOf(context), ...recorded }));

/** Ends the forwarding without an attempt. */
export const failForward = async (context: Context, known: LoadedInbound, reason: ForwardFailure): Promise<void> => {
  const { now } = nowOf(context);
  await change(context, known.state, (state) => decideFailForward(state, { reason, now }), known);
};

/** Puts the attempt off, because nothing could be sent. */
export const deferForward = async (
  context: Context,
  known: LoadedInbound,
  reason: 'deferred' | 'fault',
): Promise<void> => {
  await change(context, known.state, (state) => decideDeferForward(state, { reason, ...nowOf(context) }), known);
};

/** Records a delivery report that was returned for a forwarded copy. @returns whether it changed something. */
export const bounceForward = async (
  context: Context,
  inboundId: string,
  { report }: Pick<InboundReport, 'report'>,
): Promise<boolean> => {
  const known = await loadForward(context, inboundId);
  const [failure] = report.kind === 'failures' ? report.failures : [];
  if (known === null || failure === undefined) return false;
  const { code, enhanced, mx } = failure;
  const smtp = { code, enhanced, mx, tls: null, replyId: null };
  const events = await change(context, known.state, (state) => decideBounceForward(state, smtp), known);
  return events.length > 0;
};
