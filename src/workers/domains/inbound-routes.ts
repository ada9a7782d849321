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
}

export const createInboundRoutes = (): InboundRoutes => {
  const routes = new Map<string, ExistingInboundRoute>();
  /** Ids of the routes of each domain. */
  const ofDomain = new Map<string, Set<string>>();

  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = routes.get(id) ?? inboundRoute.initial;
      // A stream of a category holds events of its family only.
      const after = inboundRoute.evolve(before, event as RecordedEvent<InboundRouteEvent>, event.metadata);
      if (after.status === 'absent') return;
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
  };
};
