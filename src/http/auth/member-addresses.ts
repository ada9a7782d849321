import type { Members } from '../../domain/member/member.ts';
import type { Contents, StoredBody } from '../../domain/ports/contents.ts';
import type { KeyCache } from './key-cache.ts';
import type { MemberOfOrganization } from './key-cache-queries.ts';

/**
 * Members by their address. Addresses are in the vault, and nothing there finds one: they are read once for each member, and
 * kept in memory as the members are.
 */
export interface MemberAddresses {
  /**
   * Members with this address, of all organizations; letters of ASCII are the same in either case.
   * @throws {DomainError} `unavailable`: the vault is away.
   */
  find(address: string): Promise<readonly MemberOfOrganization[]>;
}

/** Letters outside ASCII stay: a K may be the sign of the kelvin, which `toLowerCase` takes for one. */
const folded = (address: string): string => address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

export const createMemberAddresses = ({
  keyCache,
  contents,
}: {
  readonly keyCache: Pick<KeyCache, 'catchUp' | 'members' | 'memberOf'>;
  readonly contents: Pick<Contents, 'get'>;
}): MemberAddresses => {
  /** By organization: what was read of it. */
  const read = new Map<string, Members>();
  const addressOf = new Map<string, string>();
  const membersWith = new Map<string, Set<string>>();
  let refreshing: Promise<void> | null = null;

  const forget = (memberId: string): void => {
    const address = addressOf.get(memberId);
    if (address === undefined) return;
    addressOf.delete(memberId);
    const others = membersWith.get(address);
    others?.delete(memberId);
    if (others?.size === 0) membersWith.delete(address);
  };

  const note = (memberId: string, body: StoredBody | undefined): void => {
    if (body?.kind !== 'contact' || body.address === null) return;
    const address = folded(body.address);
    addressOf.set(memberId, address);
    membersWith.set(address, (membersWith.get(address) ?? new Set()).add(memberId));
  };

  const refresh = async (): Promise<void> => {
    const changed = [...keyCache.members()].filter(([id, state]) => read.get(id) !== state);
    const found = changed.flatMap(([, { members }]) => Object.values(members));
    const added = found.filter(({ memberId }) => !addressOf.has(memberId));
    const bodies = await contents.get(added.map(({ contactId }) => contactId));
    for (const { memberId, contactId } of added) note(memberId, bodies.get(contactId));
    for (const [id, state] of changed) {
      const before = Object.keys(read.get(id)?.members ?? {});
      for (const memberId of before.filter((one) => state.members[one] === undefined)) forget(memberId);
      read.set(id, state);
    }
  };

  return {
    find: async (address) => {
      await keyCache.catchUp();
      // One after the other: two at once would read the same.
      await refreshing?.catch(() => undefined);
      refreshing ??= refresh().finally(() => {
        refreshing = null;
      });
      await refreshing;
      return [...(membersWith.get(folded(address)) ?? [])].flatMap((memberId) => keyCache.memberOf(memberId) ?? []);
    },
  };
};
