import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { explanationShape } from '../../schemas/explanation.ts';
import { explainMessage } from '../../serialize/explain/explain-message.ts';
import { loadMessage } from './load-message.ts';
import { whatIsKnown } from './what-is-known.ts';

export const explainMessageRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/messages/:id/explain',
    {
      summary: 'Why a message stands as it does, step by step, in plain sentences',
      description:
        'The whole chain: the request, the key, the checks, every attempt and what the other side said, how the connection ' +
        'was secured, waits with their reasons and what ends them, and each try to tell your webhooks. `facts` holds the ' +
        'codes beside each sentence. Sentences are for people and may change their wording; types and facts keep their ' +
        'meaning. Addresses and texts of replies are null once the contents are gone.',
      answer: explanationShape,
    },
    async ({ caller, id }) => {
      await loadMessage(deps, caller, id);
      return explainMessage(await whatIsKnown(deps, id));
    },
  );
};
