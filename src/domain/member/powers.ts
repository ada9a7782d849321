import type { Permission } from '../api-key/events.ts';
import type { Role } from './events.ts';

/** Permissions of a role, and restrictions that apply regardless of them. */
export interface Powers {
  readonly permissions: readonly Permission[];
  /** True if the role sees no address, subject or body of mail, unless an owner allows it. */
  readonly withoutContents: boolean;
  /** True if the role is read-only. */
  readonly safeMethodsOnly: boolean;
}

export const POWERS: Readonly<Record<Role, Powers>> = {
  owner: { permissions: ['admin'], withoutContents: false, safeMethodsOnly: false },
  developer: { permissions: ['send', 'read', 'manage'], withoutContents: false, safeMethodsOnly: false },
  analyst: { permissions: ['read'], withoutContents: true, safeMethodsOnly: false },
  auditor: { permissions: ['admin'], withoutContents: true, safeMethodsOnly: true },
};
