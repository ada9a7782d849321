import type { RecipientOutcome } from '../../../domain/mail-transport.ts';
import { inTime } from '../in-time.ts';
import { type ReadyMail, type ServerVerdict, sendOnSession } from '../send-on-session.ts';
import { deferredAll } from '../smtp-outcomes.ts';
import { SmtpConnectFailed } from '../smtp-session.ts';
import type { HopsOf, Step } from './hops.ts';
import type { MxRoutes } from './mx-routes.ts';
import { type Nowhere, nowhereOutcomes } from './nowhere-outcomes.ts';
import type { Hop, SessionPools } from './session-pools.ts';
import { createTally } from './tally.ts';

export interface DeliverToDomainOptions {
  readonly routes: MxRoutes;
  readonly hopsOf: HopsOf;
  readonly pools: SessionPools;
}

/** In one attempt. Each may take until its time-out, and all together have the attempt's time. */
const ADDRESSES_MAX = 6;

const TOO_LATE: Nowhere = {
  ...{ outcome: 'deferred', enhanced: null, text: 'the deadline passed before a server of the domain was found' },
};

async function* firstTries(steps: AsyncGenerator<Step>): AsyncGenerator<Step> {
  let tries = 0;
  for await (const step of steps) {
    tries += 'problem' in step ? 0 : 1;
    if (tries > ADDRESSES_MAX) return;
    yield step;
  }
}

/** RFC 7435: mail in clear is better than none, where nobody has promised TLS. */
const inClear = ({ key, target }: Hop): Hop => ({
  key: `${key} in clear`,
  target: { ...target, tls: { ...target.tls, avoided: true } },
});

const mayGoInClear = ({ target: { tls } }: Hop): boolean => !tls.required && tls.avoided !== true;

/** Carries a message to the servers of one domain, the best first, until one has said what counts. */
export const createDeliverToDomain = ({ routes, hopsOf, pools }: DeliverToDomainOptions) => {
  const fail = (hop: Hop, error: SmtpConnectFailed, ready: ReadyMail): Promise<ServerVerdict> | ServerVerdict => {
    if (error.isTlsBroken && mayGoInClear(hop)) return tryHop(inClear(hop), ready);
    return { settled: [], open: deferredAll(ready.mail, hop.target.host, error.reply, error.side) };
  };

  const tryHop = async (hop: Hop, ready: ReadyMail): Promise<ServerVerdict> => {
    try {
      return await sendOnSession(hop.target.host, (signal) => pools.acquire(hop, signal), ready);
    } catch (error) {
      if (error instanceof SmtpConnectFailed) return fail(hop, error, ready);
      throw error;
    }
  };

  /** Where TLS failed a moment ago and a session in clear is kept, it would fail again. */
  const asKept = (hop: Hop): Hop => (mayGoInClear(hop) && pools.hasIdle(inClear(hop)) ? inClear(hop) : hop);

  const tryStep = async (step: Step, ready: ReadyMail): Promise<ServerVerdict> =>
    'problem' in step
      ? { settled: [], open: deferredAll(ready.mail, step.host, step.problem) }
      : tryHop(asKept(step), ready);

  const tryAll = async (steps: AsyncGenerator<Step>, ready: ReadyMail): Promise<readonly RecipientOutcome[]> => {
    const tally = createTally(ready.mail);
    tally.take({ settled: [], open: nowhereOutcomes(ready.mail, TOO_LATE) });
    for (let mail = tally.rest(); mail !== null; mail = tally.rest()) {
      const next = await inTime(steps.next(), ready.deadline.signal);
      if (next === undefined || next.done === true || !ready.deadline.mayFinish()) break;
      tally.take(await tryStep(next.value, { ...ready, mail }));
    }
    return tally.outcomes();
  };

  /** @returns an outcome for each recipient. Throws for faults of ours alone. */
  return async (domain: string, ready: ReadyMail): Promise<readonly RecipientOutcome[]> => {
    const route = (await inTime(routes.routeOf(domain), ready.deadline.signal)) ?? TOO_LATE;
    return 'hosts' in route ? tryAll(firstTries(hopsOf(domain, route)), ready) : nowhereOutcomes(ready.mail, route);
  };
};
