import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { apiKeyShape } from '../../schemas/api-key.ts';
import { loadApiKey } from './load-api-key.ts';
import { showKey } from './show-key.ts';

export const getKeyRoute = (route: RouteContext): void => {
  defineEndpoint(
    route,
    'GET /v1/api-keys/:id',
    { summary: 'Read an API key; never its value', answer: apiKeyShape },
    async ({ caller, id, reply }) => {
      const { key, revision } = await loadApiKey(route.deps, caller, id);
      setRevision(reply, revision);
      return showKey(route, key);
    },
  );
};
