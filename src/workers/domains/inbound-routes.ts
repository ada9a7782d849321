import {
  type ExistingInboundRoute,
  type InboundRouteEvent,
  inboundRoute,
  routeFor,
} from '../../domain/inbound/route.ts';
import { idOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';

/** In-memory projection of inbound routes, so that a recipient of SMTP costs no query. */
export interface InboundRoutes {
  apply(event: RecordedEvent): void;
  /** The first route of the domain that matches; null: none does. */
  routeOf(domainId: string, localPart: string): ExistingInboundRoute | null;
  /**
   * Vault ids of an address that routes of an organization forward to, or once did: the vault holds such addresses for as
   * long as contents. @param digest keyed digest of the address.
   */
  addressIdsOf(organizationId: string, digest: string): readonly string[];
}

export const createInboundRoutes = (): InboundRoutes => {
  const routes = new Map<string, ExistingInboundRoute>();
  /** Ids of the routes of each domain. */
  const ofDomain = new Map<string, Set<string>>();
  /** Vault ids by organization and digest of the address. */
  const addressIds = new Map<string, Set<string>>();

  const noteAddress = ({ organizationId, forwardTo }: ExistingInboundRoute): void => {
    if (forwardTo === undefined) return;
    const key = `${organizationId} ${forwardTo.digest}`;
    addressIds.set(key, (addressIds.get(key) ?? new Set()).add(forwardTo.addressId));
  };

  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = routes.get(id) ?? inboundRoute.initial;
      // A stream of a category holds events of its family only.
      const after = inboundRoute.evolve(before, event as RecordedEvent<InboundRouteEvent>, event.metadata);
      if (after.status === 'absent') return;
      noteAddress(after);
      const ids = ofDomain.get(after.domainId) ?? new Set();
      ofDomain.set(after.domainId, ids);
      if (after.status === 'active') {
        routes.set(id, after);
        ids.add(id);
      } else {
        routes.delete(id);
        ids.delete(id);
      }
    },
    routeOf: (domainId, localPart) => {
      const own = [...(ofDomain.get(domainId) ?? [])].flatMap((id) => routes.get(id) ?? []);
      return routeFor(own, localPart);
    },
    addressIdsOf: (organizationId, digest) => [...(addressIds.get(`${organizationId} ${digest}`) ?? [])],
  };
};
