import type { Permission } from './api-key/permissions.ts';
import type { Environment } from './environment.ts';

/** The key behind a request, as the door knows it: facts for decisions, never looked up again. */
export interface Caller {
  readonly keyId: string;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly permissions: readonly Permission[];
  /** The sending domain the key is bound to (spec §5.4). */
  readonly domain: { readonly id: string; readonly name: string; readonly verified: boolean };
}
