import { revokeKey } from '../../../commands/api-key/revoke-key.ts';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { apiKeyShape } from '../../schemas/api-key.ts';
import { changeOwnKey } from './change-own-key.ts';
import { showKey } from './show-key.ts';

export const revokeKeyRoute = (house: House): void => {
  defineEndpoint(
    house,
    'POST /v1/api-keys/:id/revoke',
    { summary: 'End an API key and all its values', answer: apiKeyShape },
    async (call) => {
      const { key, revision } = await changeOwnKey(house, call, 'revoke', (change) =>
        revokeKey(house.deps.context, call.origin, change),
      );
      setRevision(call.reply, revision);
      return showKey(house, key);
    },
  );
};
