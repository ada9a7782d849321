import { parseArgs } from 'node:util';

/** Parsed arguments of `npm run chaos -- …`. */
export interface RunOptions {
  /** Substrings of scenario names; none: all scenarios. */
  readonly names: readonly string[];
  /** Time limit. Runs as many scenarios as fit, in random order; absent: all, in their own order. */
  readonly sliceMs?: number;
  readonly seed: number;
}

const SLICE = /^(\d+)m$/;
const SEEDS = 1_000_000;

const sliceMsOf = (text: string): number => {
  const minutes = Number(SLICE.exec(text)?.[1]);
  if (!(minutes > 0)) throw new Error(`--slice ${text}: write whole minutes, such as 4m`);
  return minutes * 60_000;
};

const seedOf = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--seed ${text}: write a number of up to nine digits`);
  return Number(text);
};

/** @throws {Error} with a sentence about the problem. */
export const readArguments = (words: readonly string[]): RunOptions => {
  const options = { slice: { type: 'string' }, seed: { type: 'string' } } as const;
  const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
  return {
    names: positionals,
    ...(values.slice === undefined ? {} : { sliceMs: sliceMsOf(values.slice) }),
    seed: values.seed === undefined ? Date.now() % SEEDS : seedOf(values.seed),
  };
};
