import type { Registry } from 'prom-client';
import { createAuthenticator } from '../adapters/inbound/authenticate.ts';
import { createInboundReader } from '../adapters/inbound/inbound-reader.ts';
import { createInboundMail, type InboundMail, type InboundMailOptions } from '../adapters/inbound/receive-inbound.ts';
import { internalOrigin } from '../commands/execute.ts';
import {
  DEFERRED_OUTCOMES,
  RECEIVE_OUTCOMES,
  type ReceivingPorts,
  receiveMail,
} from '../commands/inbound/receive-mail.ts';
import { INBOUND_TEST_DOMAIN } from '../domain/inbound/inbound.ts';
import { localPartOf, takingRoute } from '../domain/inbound/route.ts';
import { createBodyBudget } from '../lib/http/http.ts';
import { domainOf } from '../lib/mime/mime.ts';
import type { Workers } from '../workers/create-workers.ts';
import { DEFAULT_DOMAIN } from './first-start.ts';
import type { Engines } from './open-engines.ts';
import { countOutcomes } from './start-metrics.ts';

interface InboundMailParts {
  readonly receivers: Workers['receivers'];
  readonly receiving: ReceivingPorts;
  readonly overLimit: InboundMailOptions['overLimit'];
}

type Receivers = NonNullable<ReturnType<Workers['receivers']>>;

/** The domain that receives mail under a name. */
const ownerOf = (known: Receivers, name: string, trialDomain: string | null): ReturnType<Receivers['receiverOf']> =>
  trialDomain !== null && name === INBOUND_TEST_DOMAIN ? known.verifiedOf(trialDomain) : known.receiverOf(name);

type Recipient = ReturnType<InboundMailOptions['find']>;

const routed = (
  known: Receivers,
  { organizationId, domainId }: NonNullable<ReturnType<Receivers['receiverOf']>>,
  address: string,
): Recipient => {
  const route = takingRoute(known.routeOf(domainId, localPartOf(address)));
  return route === 'refused' ? route : { organizationId, domainId, address, route };
};

/**
 * Finds recipients by the domains and routes that this process has in memory.
 * @param trialDomain receives the mail to `INBOUND_TEST_DOMAIN` too; null: none does.
 */
export const findRecipient =
  (receivers: Workers['receivers'], trialDomain: string | null = null): InboundMailOptions['find'] =>
  (address) => {
    const known = receivers();
    const owner = known && ownerOf(known, domainOf(address), trialDomain);
    return known && owner && routed(known, owner, address);
  };

/** Counts inbound mails. @param registry absent: no metrics. */
const measureInbound = (registry: Registry | undefined): ReceivingPorts['count'] =>
  countOutcomes(registry, {
    name: 'outbox_inbound_mails_total',
    help: 'Mails received for domains, by outcome',
    outcomes: [...RECEIVE_OUTCOMES, ...DEFERRED_OUTCOMES],
  });

/** Opens the reader and the authenticator of inbound mail, which the roles of a process share. */
export const openReceiving = (
  { context, logger, closers }: Pick<Engines, 'context' | 'logger' | 'closers'>,
  registry?: Registry,
): ReceivingPorts => ({
  reader: closers.keep('inbound mail reader', createInboundReader()),
  authenticate: createAuthenticator({ resolver: context.resolver, logger }),
  count: measureInbound(registry),
});

/** Opens what records inbound mail that comes by SMTP. */
export const openInboundMail = (
  { context, system, logger }: Pick<Engines, 'context' | 'system' | 'logger'>,
  { receivers, receiving, overLimit }: InboundMailParts,
): InboundMail =>
  createInboundMail({
    overLimit,
    onDeferred: receiving.count,
    bodies: createBodyBudget(),
    isReady: () => receivers() !== null,
    find: findRecipient(receivers, context.capturing ? DEFAULT_DOMAIN : null),
    receive: async (mail) => {
      const { organizationId } = mail;
      const causeId = system.uuid();
      const origin = internalOrigin({ actor: 'worker:receive-mail', organizationId, environment: 'live', causeId });
      const ports = { ...context, ...receiving };
      const { outcome, inboundIds } = await receiveMail(ports, origin, { ...mail, environment: 'live' });
      logger.info({ outcome, organizationId, inboundIds }, 'received a mail');
      return outcome;
    },
  });
