import type { MemberViews, StoredMemberView } from '../../../src/domain/ports/member-views.ts';

/** Saved views that are lost when the process ends. */
export const createInMemoryMemberViews = (): MemberViews => {
  const stored = new Map<string, readonly StoredMemberView[]>();
  const keyOf = ({ organizationId, memberId }: Parameters<MemberViews['list']>[0]): string =>
    `${organizationId} ${memberId}`;
  return {
    list: async (owner) => (stored.get(keyOf(owner)) ?? []).map(({ addressDigests: _, ...view }) => view),
    replace: async (owner, views) => void stored.set(keyOf(owner), views),
  };
};
