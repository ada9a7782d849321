import { deleteKey } from '../../../commands/api-key/delete-key.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { changeOwnKey } from './change-own-key.ts';

export const deleteKeyRoute = (route: RouteContext): void => {
  const { deps, auth } = route;
  defineEndpoint(
    route,
    'DELETE /v1/api-keys/:id',
    {
      summary: 'Delete an API key',
      description: 'Ends it and all its values, and takes it out of the list. Its history can still be read.',
    },
    async (call) => {
      await changeOwnKey(route, call, 'delete', (change) => deleteKey(deps.context, call.origin, change));
      await auth.keyCache.catchUp();
    },
  );
};
