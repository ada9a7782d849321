import type { ExistingApiKey } from '../../../domain/api-key/api-key.ts';
import type { RouteContext } from '../../endpoint.ts';
import { type ApiKeyShape, showApiKey } from '../../schemas/api-key.ts';

/** Keys with everything that is known of them; the door knows by then what was written before this was asked. */
export const showKeys = async (
  { deps, auth: { keyCache } }: RouteContext,
  keys: readonly ExistingApiKey[],
): Promise<readonly ApiKeyShape[]> => {
  const [marks] = await Promise.all([deps.usageMarks.of(keys.map(({ keyId }) => keyId)), keyCache.catchUp()]);
  const now = deps.context.system.now().toISOString();
  return keys.map((key) => showApiKey(key, { marks, now, endedWithDomain: keyCache.endedWithDomain(key.keyId) }));
};

export const showKey = async (route: RouteContext, key: ExistingApiKey): Promise<ApiKeyShape> => {
  const [shown] = await showKeys(route, [key]);
  if (shown === undefined) throw new Error('a key is shown as itself');
  return shown;
};
