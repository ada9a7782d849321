import { revokeKey } from '../../../commands/api-key/revoke-key.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { apiKeyShape } from '../../schemas/api-key.ts';
import { changeOwnKey } from './change-own-key.ts';
import { showKey } from './show-key.ts';

export const revokeKeyRoute = (route: RouteContext): void => {
  defineEndpoint(
    route,
    'POST /v1/api-keys/:id/revoke',
    { summary: 'End an API key and all its values', answer: apiKeyShape },
    async (call) => {
      const { key, revision } = await changeOwnKey(route, call, 'revoke', (change) =>
        revokeKey(route.deps.context, call.origin, change),
      );
      setRevision(call.reply, revision);
      return showKey(route, key);
    },
  );
};
