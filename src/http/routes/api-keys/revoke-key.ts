import { revokeKey } from '../../../commands/api-key/revoke-key.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { ifMatch, setRevision } from '../../revisions.ts';
import { apiKeyShape, showApiKey } from '../../shapes/api-key-shape.ts';
import { loadApiKey } from './load-api-key.ts';

export const revokeKeyRoute = (house: House): void => {
  const { deps } = house;
  const { directory } = house.door;
  defineEndpoint(
    house,
    'POST /v1/api-keys/:id/revoke',
    { summary: 'End an API key and all its values', answer: apiKeyShape },
    async ({ caller, origin, id, request, reply }) => {
      await loadApiKey(deps, caller, id);
      if (!(await directory.catchUp())) throw new Refusal('unavailable', 'API keys cannot be checked just now');
      const { key, revision } = await revokeKey(deps.context, origin, {
        by: caller,
        keyId: id,
        otherAdminKeys: directory.otherAdminKeys(id),
        ...ifMatch(request),
      });
      const [marks] = await Promise.all([deps.usageMarks.of([id]), directory.catchUp()]);
      setRevision(reply, revision);
      return showApiKey(key, marks, deps.context.system.now().toISOString());
    },
  );
};
