/**
 * Places in a pool that many owners use: each owner has a share. A place belongs to several owners at once, such as an
 * organization and one of its keys.
 *
 * Besides its fixed share, an owner may hold at most as many places as are free. One owner alone gets half of the pool,
 * two get a third each: no number of greedy owners can fill the pool and lock out a new one.
 */
export interface Shares<Owner extends string> {
  take(owners: Readonly<Record<Owner, string>>): Place | Full<Owner>;
  /** Places taken now. */
  size(): number;
}

export interface Place {
  /** Idempotent. */
  readonly release: () => void;
}

/** No place is free: the owner whose share is used up, or `all` of the pool. */
export interface Full<Owner extends string> {
  readonly full: Owner | 'all';
}

export interface ShareBounds<Owner extends string> {
  readonly max: number;
  /** Places of one owner of each kind. */
  readonly shares: Readonly<Record<Owner, number>>;
}

export const createShares = <Owner extends string>({ max, shares }: ShareBounds<Owner>): Shares<Owner> => {
  const kinds = Object.keys(shares) as Owner[];
  /** Places by owner, without zeros. */
  const held = new Map<string, number>();
  let size = 0;

  const change = (name: string, difference: number): void => {
    const count = (held.get(name) ?? 0) + difference;
    if (count === 0) held.delete(name);
    else held.set(name, count);
  };

  return {
    take: (owners) => {
      if (size >= max) return { full: 'all' };
      const nameOf = (kind: Owner): string => `${kind} ${owners[kind]}`;
      const full = kinds.find((kind) => (held.get(nameOf(kind)) ?? 0) >= Math.min(shares[kind], max - size));
      if (full !== undefined) return { full };
      const names = kinds.map(nameOf);
      for (const name of names) change(name, 1);
      size += 1;
      let isTaken = true;
      return {
        release: () => {
          if (!isTaken) return;
          isTaken = false;
          size -= 1;
          for (const name of names) change(name, -1);
        },
      };
    },
    size: () => size,
  };
};
