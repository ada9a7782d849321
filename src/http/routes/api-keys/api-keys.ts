import { z } from 'zod';
import { deleteKey, revokeKey } from '../../../commands/api-key/end-key.ts';
import { readYourWrites, setRevision } from '../../consistency.ts';
import { endpoint } from '../../endpoint.ts';
import { apiKeySchema } from '../../schemas/api-key.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import { decodeCursor, encodeCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/fields.ts';
import { changeOwnKey, loadApiKey, serializeKey, serializeKeys } from './own-key.ts';

const LIST = 'api-keys';
const query = z.strictObject(pageParameters);

export const listKeysRoute = endpoint(
  'GET /v1/api-keys',
  { summary: 'List API keys, newest first', query, answer: listSchema(apiKeySchema) },
  async ({ caller, query: { limit, after: cursor } }, route) => {
    const { deps } = route;
    const after = decodeCursor(LIST, cursor);
    await readYourWrites(deps, ['api-keys']);
    const { items, hasMore, next } = await deps.readModels.apiKeys.list({
      organizationId: caller.organizationId,
      environment: caller.environment === 'test' ? 'test' : null,
      limit,
      after,
    });
    return listOf(await serializeKeys(route, items), hasMore, encodeCursor(LIST, next));
  },
);

export const getKeyRoute = endpoint(
  'GET /v1/api-keys/:id',
  { summary: 'Read an API key, without its value', answer: apiKeySchema },
  async ({ caller, id, reply }, route) => {
    const { key, revision } = await loadApiKey(route.deps, caller, id);
    setRevision(reply, revision);
    return serializeKey(route, key);
  },
);

export const revokeKeyRoute = endpoint(
  'POST /v1/api-keys/:id/revoke',
  { summary: 'Revoke an API key', answer: apiKeySchema },
  async (call, route) => {
    const { key, revision } = await changeOwnKey(route, call, 'revoke', (change) =>
      revokeKey(route.deps.context, call.origin, change),
    );
    setRevision(call.reply, revision);
    return serializeKey(route, key);
  },
);

export const deleteKeyRoute = endpoint(
  'DELETE /v1/api-keys/:id',
  {
    summary: 'Delete an API key',
    description: 'Revokes the key and removes it from the list. Its history stays readable.',
  },
  async (call, route) => {
    const { deps, auth } = route;
    await changeOwnKey(route, call, 'delete', (change) => deleteKey(deps.context, call.origin, change));
    await auth.keyCache.catchUp();
  },
);
