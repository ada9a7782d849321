import { apiKeysProjection } from './api-keys.ts';
import { auditProjection } from './audit/projection.ts';
import { billingProjection } from './billing.ts';
import { deliveriesProjection } from './deliveries/projection.ts';
import { destinationsProjection } from './destinations.ts';
import { domainsProjection } from './domains.ts';
import { erasuresProjection } from './erasures.ts';
import { eventsProjection } from './events/projection.ts';
import { inboundProjection } from './inbound.ts';
import { inboundRoutesProjection } from './inbound-routes.ts';
import { liveViewsProjection } from './live-views.ts';
import { messagesProjection } from './messages/projection.ts';
import type { Projection } from './projection.ts';
import { reputationProjection } from './reputation.ts';
import { statsProjection } from './stats/projection.ts';
import { suppressionsProjection } from './suppressions.ts';
import { templatesProjection } from './templates.ts';
import { topicsProjection } from './topics.ts';
import { webhooksProjection } from './webhooks.ts';

/** Every projection. A new one is a line here, a name in `projection.ts` and a migration. */
export const PROJECTIONS: readonly Projection[] = [
  apiKeysProjection,
  domainsProjection,
  messagesProjection,
  eventsProjection,
  statsProjection,
  billingProjection,
  templatesProjection,
  webhooksProjection,
  suppressionsProjection,
  topicsProjection,
  inboundRoutesProjection,
  erasuresProjection,
  inboundProjection,
  deliveriesProjection,
  destinationsProjection,
  reputationProjection,
  liveViewsProjection,
  auditProjection,
];
