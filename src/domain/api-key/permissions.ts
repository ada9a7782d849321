import { z } from 'zod';

/** Spec §5.3. No level but `admin` includes another. */
export const permissionSchema = z.enum(['send', 'read', 'manage', 'admin']);
export type Permission = z.infer<typeof permissionSchema>;

export const allows = (held: readonly Permission[], needed: Permission): boolean =>
  held.includes(needed) || held.includes('admin');
