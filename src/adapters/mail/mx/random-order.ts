import type { System } from '../../../domain/ports/system.ts';

const BYTES = 4;

/** A copy in random order (RFC 5321 §5.1 wants it of servers of equal preference, to share the load among them). */
export const inRandomOrder = <Item>({ randomBytes }: Pick<System, 'randomBytes'>, items: readonly Item[]): Item[] => {
  if (items.length < 2) return [...items];
  const chances = Buffer.from(randomBytes(items.length * BYTES));
  return items
    .map((item, index) => ({ item, chance: chances.readUInt32LE(index * BYTES) }))
    .sort((one, other) => one.chance - other.chance)
    .map(({ item }) => item);
};
