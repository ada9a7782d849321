import type { Caller } from '../domain/caller.ts';

/** Keys with only `send` or `read` see their own domain; null: the whole organization. */
export const ownDomainOnly = ({ permissions, domain }: Caller): string | null =>
  permissions.includes('manage') || permissions.includes('admin') ? null : domain.id;
