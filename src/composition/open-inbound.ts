import { Counter, type Registry } from 'prom-client';
import { createAuthenticator } from '../adapters/inbound/authenticate.ts';
import { createInboundReader } from '../adapters/inbound/inbound-reader.ts';
import { createInboundMail, type InboundMail, type InboundMailOptions } from '../adapters/inbound/receive-inbound.ts';
import { internalOrigin } from '../commands/execute.ts';
import { RECEIVE_OUTCOMES, type ReceiveOutcome, receiveMail } from '../commands/inbound/receive-mail.ts';
import { createBodyBudget } from '../lib/http/http.ts';
import { domainOf } from '../lib/mime/mime.ts';
import type { Workers } from '../workers/create-workers.ts';
import type { Engines } from './open-engines.ts';

/** Every outcome starts at 0, so that alerts can refer to one that has not happened yet. */
const counterIn = (registry: Registry | undefined): ((outcome: ReceiveOutcome) => void) => {
  if (registry === undefined) return () => undefined;
  const counter = new Counter({
    name: 'outbox_inbound_mails_total',
    help: 'Mails received for domains, by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of RECEIVE_OUTCOMES) counter.inc({ outcome }, 0);
  return (outcome) => counter.inc({ outcome });
};

interface InboundMailParts {
  readonly receivers: Workers['receivers'];
  /** Absent: no metrics. */
  readonly registry?: Registry | undefined;
}

/** Finds recipients by the domains and routes that this process has in memory. */
export const findRecipient =
  (receivers: Workers['receivers']): InboundMailOptions['find'] =>
  (address) => {
    const known = receivers();
    const owner = known?.receiverOf(domainOf(address)) ?? null;
    if (known === null || owner === null) return null;
    const route = known.routeOf(owner.domainId, address.slice(0, address.lastIndexOf('@')));
    if (route === null) return { ...owner, address, route };
    const { routeId, action, webhookId } = route;
    return action === 'refuse' ? 'refused' : { ...owner, address, route: { routeId, action, webhookId } };
  };

/** Opens the reader of inbound mail and what records it. */
export const openInboundMail = (
  { context, system, logger, closers }: Pick<Engines, 'context' | 'system' | 'logger' | 'closers'>,
  { receivers, registry }: InboundMailParts,
): InboundMail => {
  const reader = closers.keep('inbound mail reader', createInboundReader());
  const authenticate = createAuthenticator({ resolver: context.resolver, logger });
  const count = counterIn(registry);
  return createInboundMail({
    bodies: createBodyBudget(),
    isReady: () => receivers() !== null,
    find: findRecipient(receivers),
    receive: async (mail) => {
      const { organizationId } = mail;
      const causeId = system.uuid();
      const origin = internalOrigin({ actor: 'worker:receive-mail', organizationId, environment: 'live', causeId });
      const ports = { ...context, reader, authenticate };
      const { outcome, inboundIds } = await receiveMail(ports, origin, { ...mail, environment: 'live' });
      logger.info({ outcome, organizationId, inboundIds }, 'received a mail');
      count(outcome);
      return outcome;
    },
  });
};
