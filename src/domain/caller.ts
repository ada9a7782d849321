import type { KeyBounds } from './api-key/key-bounds.ts';
import type { Permission } from './api-key/permissions.ts';
import type { Environment } from './environment.ts';

/** The key behind a request, as the door knows it: facts for decisions, never looked up again. */
export interface Caller {
  readonly keyId: string;
  /** Number of the secret that was shown: 1 for the key's first, one more with each rotation. */
  readonly secret: number;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly permissions: readonly Permission[];
  /** How far the key reaches, and so every key that it makes or changes. */
  readonly bounds: KeyBounds;
  /** The sending domain the key is bound to (spec §5.4). */
  readonly domain: { readonly id: string; readonly name: string; readonly verified: boolean };
}
