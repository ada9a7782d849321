import { ownDestination } from '../../../domain/destination/suspension.ts';
import { type OutgoingMail, type RecipientOutcome, SOURCES_WARMING_UP } from '../../../domain/ports/mail.ts';
import { untilAborted } from '../../../lib/async/async.ts';
import { registeredName, SmtpConnectFailed } from '../../../lib/smtp/smtp.ts';
import { deferredAll } from '../outcomes.ts';
import { type ReadyMail, type ServerVerdict, sendOnSession } from '../send.ts';
import type { DeliveryTargetsOf, Step } from './delivery-targets.ts';
import type { MxRoutes } from './routes.ts';
import type { DeliveryTarget, SessionPools } from './session-pools.ts';

export interface NoRoute {
  readonly outcome: 'bounced' | 'deferred';
  /** RFC 3463. */
  readonly enhanced: string | null;
  readonly text: string;
}

/**
 * Outcomes if no server was or can be asked. @param destination the destination that this says something about; null:
 * none.
 */
export const noRouteOutcomes = (
  { envelope }: OutgoingMail,
  { outcome, enhanced, text }: NoRoute,
  destination: string | null,
): readonly RecipientOutcome[] =>
  envelope.to.map(({ recipientId }) => ({
    recipientId,
    outcome,
    code: 0,
    enhanced,
    text,
    mx: null,
    address: null,
    tls: null,
    cipher: null,
    policy: null,
    stage: 'connect',
    destination,
  }));

/**
 * How informative an outcome is: a server's reply or a problem of its session, a server that was tried, our addresses that
 * wait for tomorrow, a host that was not tried, or nothing at all.
 */
const weightOf = ({ code, enhanced, address, mx }: RecipientOutcome): number => {
  if (code === 0 && enhanced === SOURCES_WARMING_UP) return 2;
  if (code > 0 || enhanced !== null) return 4;
  if (typeof address === 'string') return 3;
  return mx === null ? 0 : 1;
};

/** On a tie the later outcome wins, since it is closer to the current state. */
const isBetter = (one: RecipientOutcome, before: RecipientOutcome | undefined): boolean =>
  before === undefined || weightOf(one) >= weightOf(before);

/** Collects the replies of a domain's servers to one message. */
const createTally = (mail: OutgoingMail) => {
  const settled = new Map<string, RecipientOutcome>();
  const open = new Map<string, RecipientOutcome>();

  return {
    take: (verdict: ServerVerdict): void => {
      for (const outcome of verdict.settled) settled.set(outcome.recipientId, outcome);
      for (const outcome of verdict.open) {
        if (isBetter(outcome, open.get(outcome.recipientId))) open.set(outcome.recipientId, outcome);
      }
    },
    /** The mail for the recipients without an outcome; null: every recipient has one. */
    rest: (): OutgoingMail | null => {
      const to = mail.envelope.to.filter(({ recipientId }) => !settled.has(recipientId));
      return to.length === 0 ? null : { ...mail, envelope: { ...mail.envelope, to } };
    },
    /** Outcomes of the recipients that have one. */
    outcomes: (): readonly RecipientOutcome[] =>
      mail.envelope.to.flatMap(({ recipientId }) => settled.get(recipientId) ?? open.get(recipientId) ?? []),
  };
};

export interface DeliverToDomainOptions {
  readonly routes: MxRoutes;
  readonly deliveryTargetsOf: DeliveryTargetsOf;
  readonly pools: SessionPools;
}

/** Addresses tried in one attempt. Each may take until its time-out, and all share the attempt's time. */
const ADDRESSES_MAX = 6;

const TOO_LATE: NoRoute = {
  outcome: 'deferred',
  enhanced: null,
  text: 'the deadline passed before a server of the domain was found',
};

async function* firstTries(steps: AsyncGenerator<Step>): AsyncGenerator<Step> {
  let tries = 0;
  for await (const step of steps) {
    tries += 'problem' in step ? 0 : 1;
    if (tries > ADDRESSES_MAX) return;
    yield step;
  }
}

/** RFC 7435: mail in clear is better than no mail, unless TLS is required. */
const inClear = ({ key, target }: DeliveryTarget): DeliveryTarget => ({
  key: `${key} in clear`,
  target: { ...target, tls: { ...target.tls, avoided: true } },
});

const mayGoInClear = ({ target: { tls } }: DeliveryTarget): boolean => !tls.required && tls.avoided !== true;

/** The destination that a failed session says something about; null: no server was asked, or our time ran out first. */
const failedDestination = (
  domain: string,
  deliveryTarget: DeliveryTarget,
  error: SmtpConnectFailed,
  { deadline }: ReadyMail,
): string | null => {
  const isOurs = error.peer === null || (error.reply.code === 0 && deadline.signal.aborted);
  if (isOurs) return null;
  const isHeldTo = deliveryTarget.target.tls.policy !== undefined; // set by the domain, independent of its provider
  return isHeldTo && error.isAboutTls ? ownDestination(domain) : registeredName(deliveryTarget.target.host);
};

/** The verdict with these facts in each outcome. */
const withFacts = (
  { settled, open }: ServerVerdict,
  factsOf: (outcome: RecipientOutcome) => Partial<RecipientOutcome>,
): ServerVerdict => {
  const told = (outcome: RecipientOutcome): RecipientOutcome => ({ ...outcome, ...factsOf(outcome) });
  return { settled: settled.map(told), open: open.map(told) };
};

const withSource = (verdict: ServerVerdict, source: string | undefined): ServerVerdict =>
  source === undefined ? verdict : withFacts(verdict, () => ({ source }));

/** If our time ran out before an answer, that says nothing about the server. */
const answeredBy = (host: string, verdict: ServerVerdict, { deadline }: ReadyMail): ServerVerdict => {
  const provider = registeredName(host);
  return withFacts(verdict, ({ code }) => ({
    destination: code === 0 && deadline.signal.aborted ? null : provider,
  }));
};

/** Delivers a message to the servers of one domain, the best first, until one gives a conclusive answer. */
export const createDeliverToDomain = ({ routes, deliveryTargetsOf, pools }: DeliverToDomainOptions) => {
  const fail = (
    domain: string,
    deliveryTarget: DeliveryTarget,
    error: SmtpConnectFailed,
    ready: ReadyMail,
  ): Promise<ServerVerdict> | ServerVerdict => {
    if (error.isTlsBroken && mayGoInClear(deliveryTarget))
      return tryDeliveryTarget(domain, inClear(deliveryTarget), ready);
    const open = deferredAll(ready.mail, deliveryTarget.target.host, error.reply, error.peer);
    const destination = failedDestination(domain, deliveryTarget, error, ready);
    return withFacts({ settled: [], open }, () => ({ destination }));
  };

  const tryDeliveryTarget = async (
    domain: string,
    deliveryTarget: DeliveryTarget,
    ready: ReadyMail,
  ): Promise<ServerVerdict> => {
    const { host, localAddress } = deliveryTarget.target;
    try {
      const verdict = await sendOnSession(host, (signal) => pools.acquire(deliveryTarget, signal), ready);
      return withSource(answeredBy(host, verdict, ready), localAddress);
    } catch (error) {
      if (error instanceof SmtpConnectFailed)
        return withSource(await fail(domain, deliveryTarget, error, ready), localAddress);
      throw error;
    }
  };

  /** Uses a kept session in clear if TLS has just failed with this target, since it would fail again. */
  const asKept = (deliveryTarget: DeliveryTarget): DeliveryTarget =>
    mayGoInClear(deliveryTarget) && pools.hasIdle(inClear(deliveryTarget)) ? inClear(deliveryTarget) : deliveryTarget;

  const tryStep = async (domain: string, step: Step, ready: ReadyMail): Promise<ServerVerdict> => {
    if ('key' in step) return tryDeliveryTarget(domain, asKept(step), ready);
    const destination = step.isOurs === true ? null : ownDestination(domain);
    const open = deferredAll(ready.mail, step.host, step.problem);
    const wait = step.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: step.retryAfterSeconds };
    return withFacts({ settled: [], open }, () => ({ destination, ...wait }));
  };

  /** null: no target is left, or no time. */
  const nextVerdict = async (
    domain: string,
    steps: AsyncGenerator<Step>,
    ready: ReadyMail,
  ): Promise<ServerVerdict | null> => {
    const next = await untilAborted(ready.deadline.signal, steps.next());
    if (next === undefined || next.done === true || !ready.deadline.mayFinish()) return null;
    return tryStep(domain, next.value, ready);
  };

  const tryAll = async (
    domain: string,
    steps: AsyncGenerator<Step>,
    ready: ReadyMail,
  ): Promise<readonly RecipientOutcome[]> => {
    const tally = createTally(ready.mail);
    tally.take({ settled: [], open: noRouteOutcomes(ready.mail, TOO_LATE, null) });
    for (let mail = tally.rest(); mail !== null; mail = tally.rest()) {
      const verdict = await nextVerdict(domain, steps, { ...ready, mail }).catch((error: unknown) => {
        // After a fault of ours, earlier outcomes are kept: copies have been sent.
        if (mail?.envelope.to.length === ready.mail.envelope.to.length) throw error;
        return null;
      });
      if (verdict === null) break;
      tally.take(verdict);
    }
    return tally.outcomes();
  };

  /** @returns an outcome for each recipient. Throws only for faults of ours. */
  return async (domain: string, ready: ReadyMail): Promise<readonly RecipientOutcome[]> => {
    const route = await untilAborted(ready.deadline.signal, routes.routeOf(domain));
    if (route === undefined) return noRouteOutcomes(ready.mail, TOO_LATE, null);
    return route.kind === 'hosts'
      ? tryAll(domain, firstTries(deliveryTargetsOf(ready.mail, domain, route)), ready)
      : noRouteOutcomes(ready.mail, route, ownDestination(domain));
  };
};
