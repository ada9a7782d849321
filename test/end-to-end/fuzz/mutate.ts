import { hostileText, hostileValue } from './hostile.ts';
import type { Random } from './random.ts';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const withField = (fields: Fields, name: string, value: unknown): Fields =>
  // Like JSON.parse, treats `__proto__` as an ordinary field.
  Object.fromEntries([...Object.entries(fields).filter(([known]) => known !== name), [name, value]]);

const mutateFields = (fields: Fields, random: Random): Fields => {
  const names = Object.keys(fields);
  if (names.length === 0 || random.chance(0.1)) {
    const name = random.chance(0.5)
      ? random.pick(['__proto__', 'constructor', 'prototype', 'toString', 'id', 'To', 'to '])
      : hostileText(random).slice(0, 200);
    return withField(fields, name, hostileValue(random));
  }
  const name = random.pick(names);
  if (random.chance(0.15)) return Object.fromEntries(Object.entries(fields).filter(([one]) => one !== name));
  return withField(fields, name, mutate(fields[name], random));
};

/**
 * More than any route accepts. Copies of copies would exceed the length of a string and delay the fuzzer's own reads.
 */
const COPIES_CHARACTERS_MAX = 12_000_000;

const copiesOf = (item: unknown, random: Random): readonly unknown[] => {
  const characters = JSON.stringify(item)?.length ?? 1;
  const fitting = 1 + Math.floor(COPIES_CHARACTERS_MAX / characters);
  return Array.from({ length: Math.min(fitting, random.pick([51, 101, 501])) }, () => item);
};

const mutateItems = (items: readonly unknown[], random: Random): readonly unknown[] => {
  if (items.length === 0) return [hostileValue(random)];
  const index = random.int(items.length);
  const kinds: readonly (() => readonly unknown[])[] = [
    () => items.toSpliced(index, 1),
    () => items.toSpliced(index, 0, items[index]),
    () => items.with(index, mutate(items[index], random)),
    () => [...items, hostileValue(random)],
    () => copiesOf(items[index], random),
  ];
  return random.pick(kinds)();
};

const mutateText = (text: string, random: Random): unknown => {
  const at = random.int(text.length + 1);
  const kinds: readonly (() => unknown)[] = [
    () => text.slice(0, at) + hostileText(random) + text.slice(at),
    () => text.slice(0, at) + text.slice(at + 1),
    () => text + text,
    () => text.toUpperCase(),
    () => [text],
    () => ({ value: text }),
  ];
  return random.pick(kinds)();
};

/** The value with one random change. */
export const mutate = (value: unknown, random: Random): unknown => {
  if (random.chance(0.2)) return hostileValue(random);
  if (Array.isArray(value)) return mutateItems(value, random);
  if (isFields(value)) return mutateFields(value, random);
  if (typeof value === 'string') return mutateText(value, random);
  if (typeof value === 'number')
    return random.pick([value + 1, value - 1, -value, value * 1e6, value / 3, String(value)]);
  return hostileValue(random);
};
