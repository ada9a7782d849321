import { customerEvents } from '../../../domain/customer-events.ts';
import type { ExistingMessage } from '../../../domain/message/message.ts';
import { deliveryId } from '../../../domain/ports/webhook-deliveries.ts';
import { wants } from '../../../domain/webhook/webhook.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { isUnavailable } from '../../errors/is-unavailable.ts';
import { explained, type Known } from '../../serialize/explain/explain-message.ts';
import type { Happening } from '../../serialize/explain/explanation.ts';

/** Most organizations have one or two; of more, the newest are looked at. */
const ENDPOINTS_MAX = 20;
/** Each id is a look-up by primary key: about 10 ms in all. The newest events are the ones asked about. */
const IDS_MAX = 2_000;
/** Each has up to eleven tries. */
const DELIVERIES_MAX = 100;

type Told = Pick<Known, 'deliveries' | 'deliveriesTold' | 'disabledWebhooks'>;

const read = async (
  { readModels, webhookDeliveries }: HttpDependencies,
  { organizationId, environment }: ExistingMessage,
  happenings: readonly Happening[],
): Promise<Told> => {
  const { items, hasMore } = await readModels.webhooks.list({
    ...{ organizationId, environment, limit: ENDPOINTS_MAX, after: null },
  });
  const events = explained(happenings).flatMap(customerEvents).reverse();
  const ids = events.flatMap(({ id, type }) =>
    items.filter((endpoint) => wants(endpoint.events, type)).map(({ webhookId }) => deliveryId(webhookId, id)),
  );
  const asked = ids.slice(0, IDS_MAX);
  const found = asked.length === 0 ? [] : await webhookDeliveries.find({ ids: asked, limit: DELIVERIES_MAX + 1 });
  const areAll = !hasMore && ids.length === asked.length && found.length <= DELIVERIES_MAX;
  return {
    deliveries: found.slice(0, DELIVERIES_MAX),
    deliveriesTold: areAll ? 'all' : 'newest',
    disabledWebhooks: new Set(items.filter(({ status }) => status === 'disabled').map(({ webhookId }) => webhookId)),
  };
};

/**
 * What the organization's endpoints were told of this message; endpoints that are deleted are not looked for. A message
 * can be explained while this cannot be read.
 */
export const deliveriesOf = async (
  deps: HttpDependencies,
  message: ExistingMessage,
  happenings: readonly Happening[],
): Promise<Told> => {
  try {
    return await read(deps, message, happenings);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    deps.logger.warn({ err: error }, 'what webhooks were told of a message cannot be read');
    return { deliveries: [], deliveriesTold: 'unavailable', disabledWebhooks: new Set() };
  }
};
