import { defineEndpoint, type House } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { apiKeyShape, showApiKey } from '../../shapes/api-key-shape.ts';
import { loadApiKey } from './load-api-key.ts';

export const getKeyRoute = (house: House): void => {
  const { deps } = house;
  defineEndpoint(
    house,
    'GET /v1/api-keys/:id',
    { summary: 'Read an API key; never its value', answer: apiKeyShape },
    async ({ caller, id, reply }) => {
      const { key, revision } = await loadApiKey(deps, caller, id);
      setRevision(reply, revision);
      return showApiKey(key, await deps.usageMarks.of([id]), deps.context.system.now().toISOString());
    },
  );
};
