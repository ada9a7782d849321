import type { ApiKeyEvent } from '../events.ts';
import type { ApiKey } from './api-key.ts';
import { isExpired } from './key-life.ts';

/** Notes, once, that the key's time is over. @param now ISO 8601. */
export const expireKey = (state: ApiKey, now: string): readonly ApiKeyEvent[] =>
  state.status === 'active' && !state.expiryNoted && isExpired(state, now)
    ? [{ type: 'KeyExpired', data: { keyId: state.keyId } }]
    : [];
